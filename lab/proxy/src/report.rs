//! The runs, and what is printed of them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::bodies::chat;
use crate::goals::{self, Goal};
use crate::load::{Measured, Shot, closed, paced};
use crate::peers::{self, Peer};
use crate::process::Server;
use crate::secateur::{self, Keeps};
use crate::table::Table;
use crate::{Options, Outcome, machine};

pub(crate) const PATH: &str = "/v1/chat/completions";
const BODIES: [(usize, bool); 6] = [
    (1_000, false),
    (100_000, false),
    (400_000, false),
    (1_000, true),
    (100_000, true),
    (400_000, true),
];

/// Lanes at a fixed rate take turns this often.
const PACED_PARTS: u32 = 4;

/// Secateur without audit.
const BARE: &str = "secateur, bare";

/// Peers that answer too few requests for a short look.
const SLOW: [&str; 2] = ["litellm", "portkey"];

/// Something that requests are sent through.
struct Lane {
    name: String,
    url: String,
    headers: Vec<(&'static str, String)>,
}

impl Lane {
    fn new(name: &str, base: &str) -> Self {
        Self {
            name: name.to_owned(),
            url: base.to_owned(),
            headers: Vec::new(),
        }
    }

    fn shot(&self, size: usize, stream: bool) -> Shot {
        Shot::new(PATH, chat(size, stream)).through(&self.url, &self.headers)
    }
}

fn label((size, stream): (usize, bool)) -> String {
    format!("{} KB{}", size / 1000, if stream { ", events" } else { "" })
}

/// A folder that goes with the run.
struct Work(PathBuf);

impl Drop for Work {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) async fn run(options: &Options) -> Outcome<()> {
    let machine = machine::describe();
    let work = Work(std::env::temp_dir().join(format!("secateur-lab-{}", std::process::id())));
    std::fs::create_dir_all(&work.0)?;
    let upstream = Server::start("serve-upstream", "").await?;
    let passthrough = Server::start("serve-passthrough", &upstream.url).await?;
    let first = Shot::new(PATH, chat(1_000, false));
    let start =
        async |keeps, name| secateur::start(keeps, &upstream.url, &work.0.join(name), &first).await;
    let secateur = start(Keeps::Ledger, "ledger").await?;
    let logging = start(Keeps::LedgerAndLog, "log").await?;
    let bare = start(Keeps::Nothing, "bare").await?;
    let idle_mb = secateur.resident_mb();
    let (peers, missing) = match options.peers {
        true => peers::start(&upstream.url, &work.0, &first).await,
        false => (Vec::new(), vec!["peers were not asked for".to_owned()]),
    };
    let mut lanes = vec![
        Lane::new("direct", &upstream.url),
        Lane::new("hyper", &passthrough.url),
        Lane::new("secateur", &secateur.url),
        Lane::new(BARE, &bare.url),
        Lane::new("secateur, log", &logging.url),
        Lane::new("secateur, m7", &format!("{}/w/pruned", secateur.url)),
    ];
    lanes.extend(peers.iter().map(|peer| Lane {
        name: peer.name.to_owned(),
        url: peer.url.clone(),
        headers: peer.headers.clone(),
    }));
    let measured = measure(options, &lanes).await;
    let peak_mb = secateur.peak_mb();
    let page = page(
        options,
        &machine,
        &peers,
        &missing,
        &measured,
        (idle_mb, peak_mb),
    )?;
    for peer in peers {
        peer.end().await;
    }
    std::io::stdout().write_all(page.as_bytes())?;
    if options.write {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("RESULTS.md");
        std::fs::write(&path, page)?;
    }
    Ok(())
}

/// Everything that was measured.
struct Results {
    /// By body, then by lane.
    closed: Vec<Vec<(String, Measured)>>,
    paced: Vec<Vec<(String, Measured)>>,
    rates: Vec<f64>,
    alone: Vec<(String, Measured)>,
}

async fn measure(options: &Options, lanes: &[Lane]) -> Results {
    let mut results = Results {
        closed: Vec::new(),
        paced: Vec::new(),
        rates: Vec::new(),
        alone: Vec::new(),
    };
    for body in BODIES {
        progress(&format!("{}: throughput", label(body)));
        // Twice through the lanes, so that a slow moment of the machine does not hit one alone.
        let mut halves: Vec<Vec<Measured>> = lanes.iter().map(|_| Vec::new()).collect();
        for _ in 0..2 {
            for (lane, halves) in lanes.iter().zip(&mut halves) {
                let shot = lane.shot(body.0, body.1);
                let mut length = options.seconds / 2;
                if SLOW.contains(&lane.name.as_str()) {
                    length = length.max(Duration::from_secs(1));
                }
                halves.push(closed(&shot, options.connections, length).await);
            }
        }
        let rows: Vec<(String, Measured)> = lanes
            .iter()
            .zip(halves)
            .map(|(lane, halves)| (lane.name.clone(), Measured::join(halves)))
            .collect();
        let rate = per_second(&rows, "hyper").min(per_second(&rows, "secateur")) / 2.0;
        progress(&format!("{}: half load", label(body)));
        let compared: Vec<&Lane> = lanes
            .iter()
            .filter(|lane| ["hyper", "secateur", BARE, "nginx"].contains(&lane.name.as_str()))
            .collect();
        let mut parts: Vec<Vec<Measured>> = compared.iter().map(|_| Vec::new()).collect();
        for _ in 0..PACED_PARTS {
            for (lane, parts) in compared.iter().zip(&mut parts) {
                let shot = lane.shot(body.0, body.1);
                let length = options.seconds / PACED_PARTS;
                parts.push(paced(&shot, rate, options.connections, length).await);
            }
        }
        let latencies = compared
            .iter()
            .zip(parts)
            .map(|(lane, parts)| (lane.name.clone(), Measured::join(parts)))
            .collect();
        results.closed.push(rows);
        results.paced.push(latencies);
        results.rates.push(rate);
    }
    progress("one connection");
    for lane in lanes.iter().filter(|lane| {
        ["direct", "hyper", "secateur", "secateur, m7", "nginx"].contains(&lane.name.as_str())
    }) {
        let measured = closed(&lane.shot(400_000, false), 1, options.seconds).await;
        results.alone.push((lane.name.clone(), measured));
    }
    results
}

fn progress(what: &str) {
    let mut out = std::io::stderr();
    // Progress that cannot be shown is no reason to stop.
    let _ = writeln!(out, "{what}");
}

fn find<'m>(rows: &'m [(String, Measured)], name: &str) -> Option<&'m Measured> {
    let row = rows.iter().find(|(lane, _)| lane == name)?;
    Some(&row.1)
}

fn per_second(rows: &[(String, Measured)], name: &str) -> f64 {
    find(rows, name).map_or(0.0, |measured| measured.per_second)
}

fn page(
    options: &Options,
    machine: &str,
    peers: &[Peer],
    missing: &[String],
    results: &Results,
    (idle_mb, peak_mb): (f64, f64),
) -> Outcome<String> {
    let mut out = format!(
        "# The proxy under load\n\n`lab/proxy/run --write`, {}, {machine}.\n\n\
         One upstream, every server a process of its own, all on loopback in one run: the ratios \
         count, not the figures. {} connections, {} s a cell in two halves. Secateur writes a row \
         for each request into an SQLite ledger; \"bare\" writes none, \"log\" writes its JSON lines too, \"m7\" \
         prunes with the preset `tessera`.\n\n",
        machine::today(),
        options.connections,
        options.seconds.as_secs_f64(),
    );
    for peer in peers {
        out.push_str(&format!("- {} {}\n", peer.name, peer.version));
    }
    for missing in missing {
        out.push_str(&format!("- {missing}\n"));
    }
    let mut goals = Vec::new();
    let mut table = Table::new(&[
        "body", "server", "req/s", "of hyper", "p50 ms", "p99 ms", "failed",
    ]);
    for (body, rows) in BODIES.into_iter().zip(&results.closed) {
        let hyper = per_second(rows, "hyper");
        let ours = per_second(rows, "secateur");
        for (name, measured) in rows {
            table.row([
                label(body),
                name.clone(),
                format!("{:.0}", measured.per_second),
                format!("{:.0} %", measured.per_second * 100.0 / hyper.max(1.0)),
                format!("{:.3}", measured.p50_ms),
                format!("{:.3}", measured.p99_ms),
                measured.failed.to_string(),
            ]);
        }
        let what = format!("{}, requests/s of hyper's", label(body));
        goals.push(Goal::at_least(
            what,
            80.0,
            ours * 100.0 / hyper.max(1.0),
            " %",
        ));
        let bare = per_second(rows, BARE);
        let what = format!("{}, what audit costs in requests/s", label(body));
        goals.push(Goal::at_most(
            what,
            5.0,
            100.0 - ours * 100.0 / bare.max(1.0),
            " %",
        ));
        for (peer, times) in [("litellm", 20.0), ("portkey", 5.0)] {
            let theirs = per_second(rows, peer);
            if theirs > 0.0 {
                let what = format!("{}, requests/s of {peer}'s", label(body));
                goals.push(Goal::at_least(what, times, ours / theirs, " ×"));
            }
        }
    }
    out.push_str("\n## Throughput\n\n");
    table.print(&mut out);
    half_load(&mut out, results, &mut goals);
    alone(&mut out, results, &mut goals);
    out.push_str(&format!(
        "\nMemory of Secateur: {idle_mb:.1} MB idle, {peak_mb:.1} MB at its highest under all of this.\n"
    ));
    goals.push(Goal::at_most("memory when idle", 30.0, idle_mb, " MB"));
    goals::print(&mut out, &goals)?;
    Ok(out)
}

fn half_load(out: &mut String, results: &Results, goals: &mut Vec<Goal>) {
    out.push_str(
        "\n## At half of the highest load\n\nHalf of what Secateur or hyper can do, whichever is less. A request that had to wait for the one before \
         it counts from the moment at which it was due; in brackets what is added to hyper's own: by the bare proxy, and by \
         the proxy with its ledger.\n\n",
    );
    let mut table = Table::new(&["body", "server", "req/s", "p50 ms", "p99 ms", "failed"]);
    for ((body, rows), rate) in BODIES.into_iter().zip(&results.paced).zip(&results.rates) {
        let Some(hyper) = find(rows, "hyper") else {
            continue;
        };
        for (name, measured) in rows {
            let (p50, p99) = (
                measured.p50_ms - hyper.p50_ms,
                measured.p99_ms - hyper.p99_ms,
            );
            table.row([
                label(body),
                name.clone(),
                format!("{rate:.0}"),
                format!("{:.3} ({p50:+.3})", measured.p50_ms),
                format!("{:.3} ({p99:+.3})", measured.p99_ms),
                measured.failed.to_string(),
            ]);
            if name == "secateur" {
                let what = |which: &str| format!("{}, added at half load, {which}", label(body));
                goals.push(Goal::at_most(what("p50"), 0.3, p50, " ms"));
                goals.push(Goal::at_most(what("p99"), 1.0, p99, " ms"));
            }
        }
    }
    table.print(out);
}

fn alone(out: &mut String, results: &Results, goals: &mut Vec<Goal>) {
    out.push_str("\n## One connection, 400 KB\n\n");
    let mut table = Table::new(&["server", "p50 ms", "added to direct", "p99 ms"]);
    let direct = find(&results.alone, "direct").map_or(0.0, |measured| measured.p50_ms);
    for (name, measured) in &results.alone {
        table.row([
            name.clone(),
            format!("{:.3}", measured.p50_ms),
            format!("{:+.3}", measured.p50_ms - direct),
            format!("{:.3}", measured.p99_ms),
        ]);
    }
    table.print(out);
    if let Some(m7) = find(&results.alone, "secateur, m7") {
        let what = "400 KB with M7, added to direct, p50";
        goals.push(Goal::at_most(what, 3.0, m7.p50_ms - direct, " ms"));
    }
}
