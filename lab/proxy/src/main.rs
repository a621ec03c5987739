//! Load benchmark: `lab/proxy/run`, or `cargo run --release -p lab-proxy` without installing peers.
//!
//! One upstream, and in front of it in turn: nothing, a plain hyper pass-through, Secateur with its
//! mechanics off and on, and nginx, LiteLLM's proxy and Portkey's gateway where they are installed.
//! Every server is a process of its own and ends with the run; everything runs on loopback in one
//! run, so the ratios count and the figures do not.
//!
//! `lab/proxy/count` counts the instructions of a request instead, which a busy machine does not change.
//!
//! `--quick` takes short looks, `--write` keeps the page as `RESULTS.md`, `--no-peers` leaves the
//! other gateways out, `--seconds` and `--connections` change the load.

mod bodies;
mod count;
mod goals;
mod load;
mod machine;
mod passthrough;
mod peers;
mod process;
mod report;
mod secateur;
mod table;
mod upstream;

use std::error::Error;
use std::time::Duration;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How the benchmark is run.
#[derive(Debug)]
struct Options {
    seconds: Duration,
    connections: usize,
    peers: bool,
    write: bool,
}

fn options(mut args: impl Iterator<Item = String>) -> Outcome<Options> {
    let mut options = Options {
        seconds: Duration::from_secs(3),
        connections: 16,
        peers: true,
        write: false,
    };
    while let Some(flag) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{flag} wants a value"));
        match flag.as_str() {
            "--quick" => options.seconds = Duration::from_millis(600),
            "--write" => options.write = true,
            "--no-peers" => options.peers = false,
            "--seconds" => options.seconds = Duration::from_secs_f64(value()?.parse()?),
            "--connections" => options.connections = value()?.parse()?,
            _ => return Err(format!("unknown flag {flag}").into()),
        }
    }
    Ok(options)
}

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    match args.next().as_deref() {
        Some("serve-upstream") => runtime.block_on(upstream::serve()),
        Some("serve-passthrough") => {
            runtime.block_on(passthrough::serve(&args.next().unwrap_or_default()))
        }
        Some("fire") => runtime.block_on(count::fire(args)),
        Some("pace") => runtime.block_on(count::pace(args)),
        first => {
            let options = options(first.map(str::to_owned).into_iter().chain(args))?;
            runtime.block_on(report::run(&options))
        }
    }
}
