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
        .map(|&b| {
            lines_of(&session.messages[b])
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
    let mut out = Vec::new();
    let Ok(ac) = AhoCorasick::new(&patterns) else {
        return out;
    };
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
            let result =
                |at: &Place| session.messages[at.0].parts[at.1].kind == PartKind::ToolResult;
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
    [0, 1, 2, 3, 5, 8, 12, 20, 30, 50, 80]
        .into_iter()
        .find(|&x| age <= x)
        .unwrap_or(999)
}

pub fn reads(sessions: &[Session]) {
    let mut table: BTreeMap<(bool, bool, usize, usize), (f64, f64)> = BTreeMap::new();
    let total_lines: f64 = 21458.0;
    let mut total_cost = 0.0;
    for s in sessions {
        total_cost += secateur_replay::replay_session(
            s,
            &[&|s: &Session, u: usize| secateur_replay::Pruned::whole(s, u)],
        )[0]
        .full_cost;
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
                    if part.kind == PartKind::ToolUse
                        && matches!(call.name.as_str(), "Edit" | "Write" | "MultiEdit")
                    {
                        edited.insert(path.to_owned(), i);
                    }
                    if part.kind == PartKind::ToolResult && call.name == "Read" {
                        let offset = call
                            .input
                            .get("offset")
                            .and_then(Value::as_u64)
                            .unwrap_or(1) as usize;
                        let lines = part.text.lines().count();
                        read_parts.push((
                            (m, p),
                            path.to_owned(),
                            offset,
                            offset + lines,
                            i,
                            part.text.chars().count(),
                        ));
                    }
                }
            }
            seen = b;
            for (n, (at, path, lo, hi, born, chars)) in read_parts.iter().enumerate() {
                if i == *born {
                    continue;
                }
                let superseded = read_parts[n + 1..]
                    .iter()
                    .any(|r| r.1 == *path && r.2 <= *lo && r.3 + 5 >= *hi);
                let key = (
                    edited.contains_key(path),
                    superseded,
                    bucket(i - touched.get(path).copied().unwrap_or(0)),
                    0,
                );
                let e = table.entry(key).or_default();
                e.0 += *chars as f64 / 2.6 * 0.1;
                e.1 += needed.get(&(i, *at)).copied().unwrap_or(0.0);
            }
        }
    }
    println!("edited superseded last-touch : cost share, lines share, lines per cost");
    for ((e, s, l, _), (c, u)) in &table {
        println!(
            "{e:5} {s:5} {l:4}  {:.4} {:.4}  {:.2}",
            c / total_cost,
            u / total_lines,
            (u / total_lines) / (c / total_cost)
        );
    }
}

/// Unedited reads that have not been touched for a while: what tells the ones that come back?
pub fn unedited(sessions: &[Session]) {
    let mut tables: BTreeMap<(&str, String), (f64, f64)> = BTreeMap::new();
    let mut total_cost = 0.0;
    for s in sessions {
        total_cost += secateur_replay::replay_session(
            s,
            &[&|s: &Session, u: usize| secateur_replay::Pruned::whole(s, u)],
        )[0]
        .full_cost;
    }
    for session in sessions {
        let bounds: Vec<usize> = session.boundaries().collect();
        let mut needed: HashMap<(usize, Place), f64> = HashMap::new();
        for (i, at, _) in needs(session) {
            *needed.entry((i, at)).or_default() += 1.0;
        }
        struct F {
            touched: usize,
            edited: bool,
            said: usize,
            user_said: bool,
            reads: usize,
            edits_then: usize,
            users_then: usize,
            searched: bool,
        }
        let mut files: HashMap<String, F> = HashMap::new();
        let (mut edits, mut users, mut edited_dirs) =
            (0usize, 0usize, HashMap::<String, usize>::new());
        let mut user_text = String::new();
        let mut parts: Vec<(Place, String, usize, f64, bool)> = Vec::new();
        let mut seen = 0;
        for (i, &b) in bounds.iter().enumerate() {
            for m in seen..b {
                for (p, part) in session.messages[m].parts.iter().enumerate() {
                    match (part.kind, &part.call) {
                        (PartKind::Text | PartKind::Thinking, _) => {
                            let user = session.messages[m].role == secateur_replay::Role::User;
                            if user {
                                users += 1;
                                user_text.push_str(&part.text);
                            }
                            for (path, f) in &mut files {
                                let base = path.rsplit('/').next().unwrap_or(path);
                                if part.text.contains(base) {
                                    f.said = i;
                                    if user {
                                        f.user_said = true;
                                    }
                                }
                            }
                        }
                        (_, Some(call)) => {
                            let path = arg(&call.input, "file_path");
                            if path.is_empty() {
                                if part.kind == PartKind::ToolUse {
                                    for (path, f) in &mut files {
                                        let base = path.rsplit('/').next().unwrap_or(path);
                                        if part.text.contains(base) {
                                            f.said = i;
                                            if call.name == "Grep" {
                                                f.searched = true;
                                            }
                                        }
                                    }
                                }
                                continue;
                            }
                            let base = path.rsplit('/').next().unwrap_or(path);
                            let f = files.entry(path.to_owned()).or_insert(F {
                                touched: i,
                                edited: false,
                                said: 0,
                                user_said: user_text.contains(base),
                                reads: 0,
                                edits_then: 0,
                                users_then: 0,
                                searched: false,
                            });
                            f.touched = i;
                            if part.kind == PartKind::ToolUse
                                && matches!(call.name.as_str(), "Edit" | "Write" | "MultiEdit")
                            {
                                f.edited = true;
                                edits += 1;
                                *edited_dirs
                                    .entry(path.rsplit_once('/').map_or("", |x| x.0).to_owned())
                                    .or_default() += 1;
                            }
                            f.edits_then = edits;
                            f.users_then = users;
                            if part.kind == PartKind::ToolResult && call.name == "Read" {
                                f.reads += 1;
                                parts.push((
                                    (m, p),
                                    path.to_owned(),
                                    i,
                                    part.text.chars().count() as f64,
                                    call.input.get("offset").is_some(),
                                ));
                            }
                        }
                        _ => {}
                    }
                }
            }
            seen = b;
            for (at, path, born, chars, partial) in &parts {
                let Some(f) = files.get(path) else { continue };
                if f.edited || i < *born + 1 || i - f.touched <= 6 {
                    continue;
                }
                let cost = chars / 2.6 * 0.1 / total_cost;
                let used = needed.get(&(i, *at)).copied().unwrap_or(0.0) / 21458.0;
                let said = if f.user_said {
                    "user"
                } else if f.said > *born {
                    "said-since"
                } else {
                    "no"
                };
                let e = edits - f.edits_then;
                let size = if *chars < 2000.0 {
                    "<2k"
                } else if *chars < 6000.0 {
                    "<6k"
                } else if *chars < 15000.0 {
                    "<15k"
                } else {
                    ">15k"
                };
                let dir = path.rsplit_once('/').map_or("", |x| x.0);
                let keys = [
                    ("said", said.to_owned()),
                    (
                        "said-ago",
                        format!("{:4}", bucket(if f.said > 0 { i - f.said } else { 998 })),
                    ),
                    ("edits-since", format!("{:3}", bucket(e))),
                    ("edits-total", format!("{:3}", bucket(edits))),
                    ("users-since", format!("{}", (users - f.users_then).min(4))),
                    ("reads", format!("{}", f.reads.min(5))),
                    ("size", size.to_owned()),
                    ("partial", format!("{partial}")),
                    (
                        "kind",
                        format!(
                            "test {} ext {}",
                            path.contains("test"),
                            path.rsplit('.').next().unwrap_or("")
                        ),
                    ),
                    (
                        "dir-edited",
                        format!("{}", edited_dirs.get(dir).copied().unwrap_or(0).min(3)),
                    ),
                    ("said x edits", format!("{said} {:3}", bucket(e))),
                ];
                for (k, v) in keys {
                    let t = tables.entry((k, v)).or_default();
                    t.0 += cost;
                    t.1 += used;
                }
            }
        }
    }
    for ((k, v), (c, u)) in &tables {
        if *c > 0.0005 {
            println!("{k:12} {v:22} {c:.4} {u:.4} {:.2}", u / c);
        }
    }
}
