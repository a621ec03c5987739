//! Replay benchmark on real sessions.
//!
//! `lab-replay [FILE] [peers|frontier|ablation|search BATCHES|study]`; without a command: peers and frontier.

mod compact;
mod features;
mod oracle;
mod peers;
mod plan;
mod presets;
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
        Some("study") => {
            study::sources(sessions, false);
            study::sources(sessions, true);
            features::reads(sessions);
            features::unedited(sessions);
        }
        Some("search") => {
            let batches = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(24);
            let start = steady::Steady {
                sparse: arguments.next().is_none(),
                ..steady::Steady::lossless()
            };
            let (best, pool) = search::search(sessions, &search::GOALS, batches, &start);
            for (options, _) in best {
                println!("{options:?}");
            }
            search::cross_validate(&search::GOALS, &pool);
        }
        Some(other) => println!("unknown command {other}"),
    }
}
