//! Which reads come back: cost and use of read results by what is known when the decision is taken.

use std::collections::{BTreeMap, HashMap};

use aho_corasick::AhoCorasick;
use secateur_replay::{PartKind, Session, targets::lines_of};
use serde_json::Value;

use crate::plan::{Place, places};

/// Lines that a boundary needs and that no kept part holds: (boundary number, newest result that has it).
pub fn needs(session: &Session) -> Vec<(usize, Place, String)> {
    let bounds: Vec<usize> = session.boundaries().collect();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let wanted: Vec<Vec<usize>> = bounds
        .iter()
        .map(|&b| lines_of(&session.messages[b]).into_iter().map(|l| { let n = numbers.len(); *numbers.entry(l).or_insert(n) }).collect())
        .collect();
    let mut patterns = vec![String::new(); numbers.len()];
    for (l, n) in numbers {
        patterns[n] = l;
    }
    let mut out = Vec::new();
    let Ok(ac) = AhoCorasick::new(&patterns) else { return out };
    let mut sources: Vec<Vec<Place>> = vec![Vec::new(); patterns.len()];
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
            let result = |at: &Place| session.messages[at.0].parts[at.1].kind == PartKind::ToolResult;
            if before.iter().any(|at| !result(at)) {
                continue;
            }
            if let Some(newest) = before.last() {
                out.push((i, **newest, patterns[t].clone()));
            }
        }
    }
    out
}

fn arg<'a>(input: &'a Value, key: &str) -> &'a str {
    input.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn bucket(age: usize) -> usize {
    [0, 1, 2, 3, 5, 8, 12, 20, 30, 50, 80].into_iter().find(|&x| age <= x).unwrap_or(999)
}

pub fn reads(sessions: &[Session]) {
    let mut table: BTreeMap<(bool, bool, usize, usize), (f64, f64)> = BTreeMap::new();
    let total_lines: f64 = 21458.0;
    let mut total_cost = 0.0;
    for s in sessions {
        total_cost += secateur_replay::replay_session(s, &|s: &Session, u: usize| secateur_replay::Pruned::whole(s, u)).full_cost;
    }
    for session in sessions {
        let bounds: Vec<usize> = session.boundaries().collect();
        let mut needed: HashMap<(usize, Place), f64> = HashMap::new();
        for (i, at, _) in needs(session) {
            *needed.entry((i, at)).or_default() += 1.0;
        }
        let mut touched: HashMap<String, usize> = HashMap::new();
        let mut edited: HashMap<String, usize> = HashMap::new();
        let mut read_parts: Vec<(Place, String, usize, usize, usize, usize)> = Vec::new();
        let mut seen = 0;
        for (i, &b) in bounds.iter().enumerate() {
            for m in seen..b {
                for (p, part) in session.messages[m].parts.iter().enumerate() {
                    let Some(call) = &part.call else { continue };
                    let path = arg(&call.input, "file_path");
                    if path.is_empty() {
                        continue;
                    }
                    touched.insert(path.to_owned(), i);
                    if part.kind == PartKind::ToolUse && matches!(call.name.as_str(), "Edit" | "Write" | "MultiEdit") {
                        edited.insert(path.to_owned(), i);
                    }
                    if part.kind == PartKind::ToolResult && call.name == "Read" {
                        let offset = call.input.get("offset").and_then(Value::as_u64).unwrap_or(1) as usize;
                        let lines = part.text.lines().count();
                        read_parts.push(((m, p), path.to_owned(), offset, offset + lines, i, part.text.chars().count()));
                    }
                }
            }
            seen = b;
            for (n, (at, path, lo, hi, born, chars)) in read_parts.iter().enumerate() {
                if i == *born {
                    continue;
                }
                let superseded = read_parts[n + 1..].iter().any(|r| r.1 == *path && r.2 <= *lo && r.3 + 5 >= *hi);
                let key = (edited.contains_key(path), superseded, bucket(i - touched.get(path).copied().unwrap_or(0)), 0);
                let e = table.entry(key).or_default();
                e.0 += *chars as f64 / 2.6 * 0.1;
                e.1 += needed.get(&(i, *at)).copied().unwrap_or(0.0);
            }
        }
    }
    println!("edited superseded last-touch : cost share, lines share, lines per cost");
    for ((e, s, l, _), (c, u)) in &table {
        println!("{e:5} {s:5} {l:4}  {:.4} {:.4}  {:.2}", c / total_cost, u / total_lines, (u / total_lines) / (c / total_cost));
    }
}
