//! Replay benchmark on real sessions: the peers' policies, and the engine under any setting.
//!
//! `lab-replay SESSIONS [--shell] COMMAND…`. With `--shell` the sessions are those of an agent that reads and searches by
//! commands. Commands, one or more: `peers`, `steps`, `ablation`, `frontier`,
//! `crossvalidate`, `shares`, `clearing`, `lost SETTING`, `worst SETTING`, `trace SESSION SETTING`,
//! `pricing`. The last may be `engine SETTING…`: a row for each setting, which is
//! a preset, or `preset;key.path=value;…`. What one command has replayed the next does not replay again.
//!
//! `lab-replay agents SETTING FILE…` looks at recorded requests of agents: what they tell of outcomes, and whether files
//! reach the model whole.

mod agents;
mod bench;
mod clearing;
mod folds;
mod goal;
mod holders;
mod lost;
mod oracle;
mod peers;
mod peers_table;
mod plan;
mod pricing;
mod rows;
mod shares;
mod shell;

use std::path::Path;
use std::process::ExitCode;

use secateur_core::policy::PolicyError;
use secateur_replay::{CacheAssumption, Pricing, read_path};

use bench::Bench;
use rows::Row;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        println!(
            "usage: lab-replay SESSIONS [--shell] COMMAND…, or lab-replay agents SETTING FILE…"
        );
        return ExitCode::FAILURE;
    };
    if path == "agents" {
        let setting = arguments.next().unwrap_or_else(|| "steady".to_owned());
        return match agents::print(&setting, arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                println!("{setting}: {error}");
                ExitCode::FAILURE
            }
        };
    }
    let loaded = match read_path(Path::new(&path)) {
        Ok(loaded) => loaded,
        Err(error) => {
            println!("nothing to replay: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut arguments = arguments.peekable();
    let through_shell = arguments.next_if_eq("--shell").is_some();
    let mut pricing = Pricing::default();
    if arguments.next_if_eq("--warm").is_some() {
        pricing.with_pauses = false;
    }
    if arguments.next_if_eq("--plain-prefix").is_some() {
        pricing.cache = CacheAssumption::PlainPrefix;
    } else if arguments.next_if_eq("--unlimited-reach").is_some() {
        pricing.cache = CacheAssumption::UnlimitedReach;
    }
    let (sessions, left_out) = if through_shell {
        let done = shell::all_through_shell(&loaded.sessions);
        (done.sessions, done.left_out)
    } else {
        (loaded.sessions, Vec::new())
    };
    let sessions = &sessions[..];
    println!(
        "{} sessions, {} requests, {} unreadable",
        sessions.len(),
        sessions
            .iter()
            .map(|s| s.boundaries().count())
            .sum::<usize>(),
        loaded.unreadable.len()
    );
    for row in &loaded.unreadable {
        println!("unreadable: {}: {}", row.place, row.reason);
    }
    if !left_out.is_empty() {
        println!(
            "{} sessions left out that cannot be read back through a shell: {}",
            left_out.len(),
            left_out.join(", ")
        );
    }
    let mut bench = Bench::of(sessions, pricing);
    while let Some(command) = arguments.next() {
        if let Err(error) = run(&mut bench, &command, &mut arguments) {
            println!("{command}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn run(
    bench: &mut Bench<'_>,
    command: &str,
    rest: &mut impl Iterator<Item = String>,
) -> Result<(), PolicyError> {
    match command {
        "peers" => peers_table::print(bench.sessions()),
        "steps" => bench.print(&rows::steps())?,
        "ablation" => bench.print(&rows::ablation())?,
        "frontier" => goal::print_frontier(&bench.replay(&rows::grid())?),
        "crossvalidate" => folds::print(&bench.replay(&rows::grid())?),
        "shares" => shares::print(bench.sessions()),
        "clearing" => clearing::print(bench.sessions())?,
        "lost" => {
            let setting = rest.next().unwrap_or_else(|| "steady".to_owned());
            lost::print(bench.sessions(), &setting)?;
        }
        "pricing" => pricing::print(bench.sessions())?,
        "worst" => {
            let setting = rest.next().unwrap_or_else(|| "steady".to_owned());
            let sessions = bench.sessions();
            let rows = [Row::unnamed(setting)];
            let totals = bench.replay(&rows)?;
            for (_, totals) in &totals {
                bench::print_worst(sessions, totals);
            }
        }
        "trace" => {
            let id = rest.next().unwrap_or_default();
            let setting = rest.next().unwrap_or_else(|| "steady".to_owned());
            bench.print_trace(&id, &setting)?;
        }
        "engine" => bench.print(&rest.map(Row::unnamed).collect::<Vec<_>>())?,
        other => println!("unknown command {other}"),
    }
    Ok(())
}
