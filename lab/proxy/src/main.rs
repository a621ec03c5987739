//! Load benchmark: `lab/proxy/run`, or `cargo run --release -p lab-proxy` without installing peers.
//!
//! One upstream, and in front of it in turn: nothing, a plain hyper pass-through, Secateur with its
//! mechanics off and on, and nginx, LiteLLM's proxy and Portkey's gateway where they are installed.
//! Every server is a process of its own and ends with the run; everything runs on loopback in one
//! run, so the ratios count and the figures do not.
//!
//! `lab/proxy/count` counts the instructions of a request instead, which a busy machine does not change.
//!
//! `--write` keeps the page as `RESULTS.md`, `--no-peers` leaves the other gateways out, `--quick` takes few rounds,
//! `--rounds`, `--seconds` (of a slice) and `--connections` change the load, `--bodies 1,100` picks sizes in KB and
//! `--bodies 1e` events, `--part closed`, `--part paced`, `--part audit` or `--part tls` one of the tables. Over TLS
//! `--against PROGRAM` measures another build of Secateur in the same rounds.

mod answer;
mod bodies;
mod count;
mod goals;
mod load;
mod machine;
mod measure;
mod passthrough;
mod peers;
mod process;
mod report;
mod secateur;
mod table;
mod tls;
mod upstream;
mod wire;

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How the benchmark is run.
#[derive(Debug)]
struct Options {
    /// One slice: the servers take turns in slices.
    slice: Duration,
    rounds: usize,
    connections: usize,
    /// Bytes, and whether events are asked for.
    bodies: Vec<(usize, bool)>,
    closed: bool,
    paced: bool,
    audit: bool,
    /// An upstream behind TLS.
    tls: bool,
    /// Another build of Secateur, to be compared over TLS.
    against: Option<PathBuf>,
    peers: bool,
    write: bool,
}

fn options(mut args: impl Iterator<Item = String>) -> Outcome<Options> {
    let sizes = [1_000, 100_000, 400_000];
    let mut options = Options {
        slice: Duration::from_millis(600),
        rounds: 12,
        connections: 16,
        bodies: [false, true]
            .into_iter()
            .flat_map(|is_stream| sizes.map(|size| (size, is_stream)))
            .collect(),
        closed: true,
        paced: true,
        audit: true,
        tls: true,
        against: None,
        peers: true,
        write: false,
    };
    while let Some(flag) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{flag} wants a value"));
        match flag.as_str() {
            "--quick" => options.rounds = 4,
            "--write" => options.write = true,
            "--no-peers" => options.peers = false,
            "--against" => options.against = Some(value()?.into()),
            "--rounds" => options.rounds = value()?.parse()?,
            "--seconds" => options.slice = Duration::from_secs_f64(value()?.parse()?),
            "--connections" => options.connections = value()?.parse()?,
            "--bodies" => {
                let body = |text: &str| -> Outcome<(usize, bool)> {
                    let size: usize = text.trim_end_matches('e').parse()?;
                    Ok((size * 1_000, text.ends_with('e')))
                };
                options.bodies = value()?.split(',').map(body).collect::<Outcome<_>>()?;
            }
            "--part" => {
                let part = value()?;
                if !["closed", "paced", "audit", "tls"].contains(&part.as_str()) {
                    return Err(format!("no part {part}").into());
                }
                options.closed = part == "closed";
                options.paced = part == "paced";
                options.audit = part == "audit";
                options.tls = part == "tls";
            }
            _ => return Err(format!("unknown flag {flag}").into()),
        }
    }
    Ok(options)
}

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    // Who makes the load has one thread: it is to take as little as possible from those who are measured.
    let loading = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
    };
    let serving = || {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
    };
    match args.next().as_deref() {
        Some("serve-upstream") => serving()?.block_on(upstream::serve(args.next())),
        Some("serve-passthrough") => {
            let upstream = args.next().unwrap_or_default();
            serving()?.block_on(passthrough::serve(&upstream, args.next()))
        }
        Some("fire") => loading()?.block_on(count::fire(args)),
        first => {
            let options = options(first.map(str::to_owned).into_iter().chain(args))?;
            loading()?.block_on(report::run(&options))
        }
    }
}
