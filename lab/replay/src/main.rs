//! Replay benchmark on real sessions.
//!
//! `lab-replay [FILE] [peers|frontier|ablation|search BATCHES|study]`; without a command: peers and frontier.

mod compact;
mod dataset;
mod engine;
mod features;
mod losses;
mod oracle;
mod peers;
mod plan;
mod presets;
mod remains;
mod repeats;
mod search;
mod steady;
mod study;
mod tables;
mod tools;

use std::path::PathBuf;

use secateur_replay::read_path;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().map_or_else(
        || PathBuf::from("../shared/data/sessions/claude-code.jsonl.gz"),
        PathBuf::from,
    );
    let loaded = match read_path(&path) {
        Ok(loaded) => loaded,
        Err(error) => {
            println!("nothing to replay: {error}");
            return;
        }
    };
    let sessions = &loaded.sessions;
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
    match arguments.next().as_deref() {
        None => {
            tables::peers(sessions);
            tables::frontier(sessions);
        }
        Some("peers") => tables::peers(sessions),
        Some("frontier") => tables::frontier(sessions),
        Some("ablation") => tables::ablation(sessions),
        Some("losses") => {
            let name = arguments.next().unwrap_or_default();
            match presets::presets().into_iter().find(|(n, _)| *n == name) {
                Some((_, policy)) => losses::print(sessions, &policy),
                None => println!("unknown setting {name}"),
            }
        }
        Some("dataset") => {
            let mut options = steady::Steady::lossless();
            for (name, value) in [("bare", 1.0), ("brief", 1.0), ("rlines", 2.0), ("rchars", 80.0)] {
                options.set(name, value);
            }
            dataset::print(sessions, &options);
        }
        Some("engine") => engine::rows(sessions, arguments),
        Some("try") => tables::attempts(sessions, arguments),
        Some("study") => {
            study::sources(sessions, false);
            study::sources(sessions, true);
            features::reads(sessions);
            features::unedited(sessions);
        }
        Some("search") => {
            let batches = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(24);
            let half = arguments.next().and_then(|a| a.parse::<usize>().ok());
            let mut start = presets::presets().swap_remove(1).1;
            for (name, value) in [("bare", 1.0), ("brief", 1.0), ("slines", 1.0), ("schars", 60.0), ("sarr", 1500.0)] {
                start.set(name, value);
            }
            let chosen: Vec<_> = sessions.iter().enumerate().filter(|(n, _)| half.is_none_or(|h| n % 2 == h)).map(|(_, s)| s.clone()).collect();
            let rest: Vec<_> = sessions.iter().enumerate().filter(|(n, _)| half.is_some_and(|h| n % 2 != h)).map(|(_, s)| s.clone()).collect();
            let (best, pool) = search::search(&chosen, &search::GOALS, batches, &start);
            for (options, _) in &best {
                println!("{options:?}");
            }
            tables::held_out(&rest, best.iter().map(|(o, _)| o));
            let _ = pool;
            let pool: Vec<secateur_replay::Totals> = Vec::new();
            search::cross_validate(&search::GOALS, &pool);
        }
        Some(other) => println!("unknown command {other}"),
    }
}
