//! Replay benchmark on real sessions.
//!
//! `lab-replay [FILE] [peers|frontier|ablation|search BATCHES|study|losses SETTING|dataset|try SETTING…|engine
//! POLICY…]`; without a command: peers and frontier.

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
            options.shorten();
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
            let mut start = presets::presets().swap_remove(1).1;
            start.shorten();
            let (best, pool) = search::search(sessions, &search::GOALS, batches, &start);
            for (options, _) in best {
                println!("{options:?}");
            }
            search::cross_validate(&search::GOALS, &pool);
        }
        Some(other) => println!("unknown command {other}"),
    }
}
