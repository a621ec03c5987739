//! Loads for looking closer: a fixed number of requests, for whoever counts what they cost (see `lab/proxy/count`),
//! and a fixed rate at several servers in turn.

use std::io::Write;
use std::time::Duration;

use crate::Outcome;
use crate::bodies::chat;
use crate::load::{Measured, Shot, all, paced};
use crate::report::PATH;

const CONNECTIONS: usize = 16;

/// `fire <base> <requests> <bytes of the body> <json or events>`
pub(crate) async fn fire(mut args: impl Iterator<Item = String>) -> Outcome<()> {
    let mut next = |what: &str| args.next().ok_or_else(|| format!("{what} is missing"));
    let (base, requests): (String, usize) = (next("base")?, next("requests")?.parse()?);
    let (size, is_stream) = (next("bytes")?.parse()?, next("kind")? == "events");
    let shot = Shot::new(PATH, chat(size, is_stream)).through(&base, &[]);
    match all(&shot, CONNECTIONS, requests).await {
        0 => Ok(()),
        failed => Err(format!("{failed} requests failed").into()),
    }
}

/// `pace <requests a second> <seconds> <bytes of the body> <json or events> <base>...`
pub(crate) async fn pace(mut args: impl Iterator<Item = String>) -> Outcome<()> {
    let mut next = |what: &str| args.next().ok_or_else(|| format!("{what} is missing"));
    let (rate, seconds): (f64, u32) = (next("rate")?.parse()?, next("seconds")?.parse()?);
    let (size, is_stream) = (next("bytes")?.parse()?, next("kind")? == "events");
    let shots: Vec<Shot> = args
        .map(|base| Shot::new(PATH, chat(size, is_stream)).through(&base, &[]))
        .collect();
    let mut runs: Vec<Vec<Measured>> = shots.iter().map(|_| Vec::new()).collect();
    for _ in 0..seconds {
        for (shot, runs) in shots.iter().zip(&mut runs) {
            runs.push(paced(shot, rate, CONNECTIONS, Duration::from_secs(1)).await);
        }
    }
    let mut out = std::io::stdout();
    for runs in runs {
        let each: Vec<String> = runs
            .iter()
            .map(|run| format!("{:.2}", run.p99_ms))
            .collect();
        let all = Measured::join(runs);
        writeln!(
            out,
            "p50 {:.3} ms, p99 {:.3} ms, failed {}; p99 by second: {}",
            all.p50_ms,
            all.p99_ms,
            all.failed,
            each.join(" ")
        )?;
    }
    Ok(())
}
