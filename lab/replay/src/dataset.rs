//! One row per result and age: what is known then, what clearing it then would free, and what would be missed.

use std::collections::HashMap;

use aho_corasick::AhoCorasick;
use secateur_replay::{
    PartKind, Policy, Role, Session,
    targets::{identifiers_of, lines_of},
};

use crate::plan::Place;
use crate::steady::Steady;
use crate::tools::{Class, class_of, file_name, path_of};

const AGES: [usize; 11] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 40, 80];

struct Entry {
    at: Place,
    born: usize,
    chars: usize,
    class: Class,
    path: Option<String>,
    words: Vec<String>,
    turn: usize,
    partial: bool,
}

#[derive(Default)]
struct File {
    touched: usize,
    turn: usize,
    edited: usize,
    named: bool,
    said: usize,
    reads: usize,
}

pub fn print(sessions: &[Session], policy: &Steady) {
    for (number, session) in sessions.iter().enumerate() {
        of_session(number, session, policy);
    }
}

fn of_session(number: usize, session: &Session, policy: &Steady) {
    let bounds: Vec<usize> = session.boundaries().collect();
    let Some(&end) = bounds.last() else { return };
    let mut run = policy.start(session);
    let mut last = None;
    for &b in &bounds {
        last = Some(run.at(b));
    }
    let Some(sent) = last else { return };
    let text = |at: Place| &*sent.messages[at.0].parts[at.1].text;

    // For each boundary: what would be missed without a part.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut add = |text: String| {
        let next = numbers.len();
        *numbers.entry(text).or_insert(next)
    };
    let wanted: Vec<Vec<(bool, usize)>> = bounds
        .iter()
        .map(|&b| {
            let ids = identifiers_of(&session.messages[b]);
            let lines = lines_of(&session.messages[b]);
            let ids: Vec<_> = ids.into_iter().map(|t| (false, add(t))).collect();
            let lines: Vec<_> = lines.into_iter().map(|t| (true, add(t))).collect();
            ids.into_iter().chain(lines).collect()
        })
        .collect();
    let mut patterns = vec![String::new(); numbers.len()];
    for (text, n) in numbers {
        patterns[n] = text;
    }
    let Ok(automaton) = AhoCorasick::new(&patterns) else {
        return;
    };
    let mut holders: Vec<Vec<Place>> = vec![Vec::new(); patterns.len()];
    for (m, message) in session.messages[..end].iter().enumerate() {
        for (p, part) in message.parts.iter().enumerate() {
            if matches!(part.kind, PartKind::Thinking | PartKind::Opaque) {
                continue;
            }
            for hit in automaton.find_overlapping_iter(text((m, p))) {
                let list = &mut holders[hit.pattern().as_usize()];
                if list.last() != Some(&(m, p)) {
                    list.push((m, p));
                }
            }
        }
    }
    let mut uses: HashMap<Place, Vec<(usize, bool, f64)>> = HashMap::new();
    for (i, &b) in bounds.iter().enumerate() {
        for &(is_line, target) in &wanted[i] {
            let before: Vec<&Place> = holders[target].iter().filter(|at| at.0 < b).collect();
            let weight = match before.len() {
                1 => 1.0,
                2 => 0.25,
                _ => continue,
            };
            for at in before {
                uses.entry(*at).or_default().push((i, is_line, weight));
            }
        }
    }

    let mut files: HashMap<String, File> = HashMap::new();
    let mut counts: HashMap<String, u32> = HashMap::new();
    let mut entries: Vec<Entry> = Vec::new();
    let (mut user_text, mut turn, mut seen, mut context, mut edits) =
        (String::new(), 0, 0, 0usize, 0usize);
    for (i, &b) in bounds.iter().enumerate() {
        for m in seen..b {
            let message = &session.messages[m];
            let is_user = message.role == Role::User
                && message.parts.iter().all(|p| p.kind != PartKind::ToolResult);
            if is_user {
                turn += 1;
            }
            for (p, part) in message.parts.iter().enumerate() {
                let sent = text((m, p));
                if part.kind != PartKind::Thinking {
                    context += sent.chars().count();
                    let mut words: Vec<String> = sent
                        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                        .filter(|w| w.len() >= 7)
                        .map(str::to_owned)
                        .collect();
                    words.sort_unstable();
                    words.dedup();
                    for word in &words {
                        *counts.entry(word.clone()).or_default() += 1;
                    }
                    if part.kind == PartKind::ToolResult {
                        let call = part.call.as_ref();
                        entries.push(Entry {
                            at: (m, p),
                            born: i,
                            chars: sent.chars().count(),
                            class: class_of(call),
                            path: call.and_then(|c| path_of(c)).map(str::to_owned),
                            words,
                            turn,
                            partial: call.is_some_and(|c| c.input.get("offset").is_some()),
                        });
                    }
                }
                if matches!(part.kind, PartKind::Text | PartKind::Thinking) {
                    if is_user {
                        user_text.push_str(&part.text);
                    }
                    for (path, file) in &mut files {
                        if part.text.contains(file_name(path)) {
                            file.said = i;
                            file.named |= is_user;
                        }
                    }
                }
                if let Some(path) = part.call.as_ref().and_then(|c| path_of(c)) {
                    let file = files.entry(path.to_owned()).or_default();
                    file.touched = i;
                    file.turn = turn;
                    file.named |= user_text.contains(file_name(path));
                    if part.kind == PartKind::ToolUse {
                        match class_of(part.call.as_ref()) {
                            Class::Edit => {
                                file.edited += 1;
                                edits += 1
                            }
                            Class::Read => file.reads += 1,
                            _ => {}
                        }
                    }
                }
            }
        }
        seen = b;
        for entry in &entries {
            let age = i - entry.born;
            if !AGES.contains(&age) || entry.class == Class::Kept {
                continue;
            }
            let file = entry.path.as_ref().and_then(|p| files.get(p));
            let alone = entry
                .words
                .iter()
                .filter(|w| counts.get(*w) == Some(&1))
                .count();
            let (mut ids, mut lines) = (0.0, 0.0);
            for &(at, is_line, weight) in uses.get(&entry.at).into_iter().flatten() {
                if at >= i {
                    *(if is_line { &mut lines } else { &mut ids }) += weight;
                }
            }
            println!(
                "{number}\t{i}\t{}\t{:?}\t{age}\t{}\t{alone}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{context}\t{}\t{edits}\t{ids:.2}\t{lines:.2}",
                bounds.len() - i,
                entry.class,
                entry.chars,
                entry.words.len(),
                file.map_or(age, |f| i - f.touched),
                file.map_or(0, |f| f.edited),
                u8::from(file.is_some_and(|f| f.named)),
                file.map_or(999, |f| if f.said > 0 { i - f.said } else { 999 }),
                turn - entry.turn,
                file.map_or(0, |f| turn - f.turn),
                file.map_or(0, |f| f.reads),
                u8::from(entry.partial),
            );
        }
    }
}
