//! Load benchmark: `cargo run --release -p lab-proxy`.
//!
//! One upstream, and in front of it in turn: nothing, a plain hyper pass-through, Secateur with its
//! mechanics off and on, nginx where it is installed, and any gateway whose URL is given
//! (`--peer name=http://127.0.0.1:4000/path`). Every server is a process of its own; everything runs
//! on loopback in one run, so the ratios count and the figures do not.

mod bodies;
mod load;
mod nginx;
mod passthrough;
mod process;
mod report;
mod secateur;
mod upstream;

use std::error::Error;
use std::time::Duration;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How the benchmark is run.
#[derive(Debug)]
struct Options {
    seconds: Duration,
    connections: usize,
    peers: Vec<(String, String)>,
}

fn options(mut args: impl Iterator<Item = String>) -> Outcome<Options> {
    let mut options = Options {
        seconds: Duration::from_secs(3),
        connections: 16,
        peers: Vec::new(),
    };
    while let Some(flag) = args.next() {
        let value = args.next().ok_or_else(|| format!("{flag} wants a value"))?;
        match flag.as_str() {
            "--seconds" => options.seconds = Duration::from_secs_f64(value.parse()?),
            "--connections" => options.connections = value.parse()?,
            "--peer" => {
                let (name, url) = value.split_once('=').ok_or("--peer wants name=url")?;
                options.peers.push((name.to_owned(), url.to_owned()));
            }
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
        Some("serve-secateur") => {
            runtime.block_on(secateur::serve(&args.next().unwrap_or_default()))
        }
        first => {
            let options = options(first.map(str::to_owned).into_iter().chain(args))?;
            runtime.block_on(report::run(&options))
        }
    }
}
