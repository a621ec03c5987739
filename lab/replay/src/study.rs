//! Where the lines that an assistant repeats come from: the headroom, before any policy.

use std::collections::{BTreeMap, HashMap};

use aho_corasick::AhoCorasick;
use secateur_replay::{
    PartKind, Session,
    targets::{identifiers_of, lines_of},
};

use crate::plan::places;

fn class(session: &Session, at: (usize, usize)) -> &'static str {
    let part = &session.messages[at.0].parts[at.1];
    match part.kind {
        PartKind::ToolResult => match part.call.as_ref().map_or("", |c| c.name.as_str()) {
            "Read" => "Read",
            "Bash" => "Bash",
            "Grep" => "Grep",
            "Edit" | "MultiEdit" => "Edit",
            "Write" => "Write",
            "Task" => "Task",
            _ => "other",
        },
        _ => "kept",
    }
}

/// Lines whose only sources are results, by class and age (in requests) of the newest source.
pub fn sources(sessions: &[Session], ids: bool) {
    let mut table: BTreeMap<(&str, usize), usize> = BTreeMap::new();
    let (mut total, mut safe) = (0usize, 0usize);
    for session in sessions {
        let bounds: Vec<usize> = session.boundaries().collect();
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let wanted: Vec<Vec<usize>> = bounds
            .iter()
            .map(|&b| {
                if ids {
                    identifiers_of(&session.messages[b])
                } else {
                    lines_of(&session.messages[b])
                }
                .into_iter()
                .map(|l| {
                    let n = numbers.len();
                    *numbers.entry(l).or_insert(n)
                })
                .collect()
            })
            .collect();
        let mut patterns = vec![String::new(); numbers.len()];
        for (l, n) in numbers {
            patterns[n] = l;
        }
        let Ok(ac) = AhoCorasick::new(&patterns) else {
            continue;
        };
        let mut sources: Vec<Vec<(usize, usize)>> = vec![Vec::new(); patterns.len()];
        for at in places(session, session.messages.len()) {
            let part = &session.messages[at.0].parts[at.1];
            if part.kind == PartKind::Thinking {
                continue;
            }
            for hit in ac.find_overlapping_iter(&*part.text) {
                let list = &mut sources[hit.pattern().as_usize()];
                if list.last() != Some(&at) {
                    list.push(at);
                }
            }
        }
        for (i, &b) in bounds.iter().enumerate() {
            for &t in &wanted[i] {
                let before: Vec<_> = sources[t].iter().filter(|at| at.0 < b).collect();
                let Some(newest) = before
                    .iter()
                    .rev()
                    .find(|at| class(session, ***at) != "kept")
                else {
                    if !before.is_empty() {
                        total += 1;
                        safe += 1;
                    }
                    continue;
                };
                total += 1;
                if before.iter().any(|at| class(session, **at) == "kept") {
                    safe += 1;
                    continue;
                }
                let age = bounds[..=i].iter().filter(|&&x| x > newest.0).count() - 1;
                let bucket = [0, 1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 1000]
                    .into_iter()
                    .find(|&x| age <= x)
                    .unwrap_or(1000);
                *table.entry((class(session, **newest), bucket)).or_default() += 1;
            }
        }
    }
    println!(
        "total {total}, safe in kept parts {:.3}",
        safe as f64 / total as f64
    );
    let mut last = "";
    for ((c, bucket), n) in &table {
        if *c != last {
            println!(
                "\n{c}: {:.4}",
                table
                    .iter()
                    .filter(|(k, _)| k.0 == *c)
                    .map(|(_, n)| *n as f64)
                    .sum::<f64>()
                    / total as f64
            );
            last = c;
        }
        print!(" <={bucket}:{:.4}", *n as f64 / total as f64);
    }
    println!();
}
