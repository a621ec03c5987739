//! What a policy loses: every identifier and line asked for that its context does not hold, with the newest
//! part that held it.

use std::collections::HashMap;

use aho_corasick::AhoCorasick;
use secateur_replay::{
    PartKind, Policy, Session,
    targets::{identifiers_of, lines_of},
};

use crate::plan::places;

/// Prints one tab-separated row per loss: session, boundary, kind, newest holder's tool, its age in requests,
/// what became of it, target.
pub fn print(sessions: &[Session], policy: &dyn Policy) {
    for (number, session) in sessions.iter().enumerate() {
        of_session(number, session, policy);
    }
}

fn of_session(number: usize, session: &Session, policy: &dyn Policy) {
    let bounds: Vec<usize> = session.boundaries().collect();
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
    let mut holders: Vec<Vec<(usize, usize)>> = vec![Vec::new(); patterns.len()];
    for at in places(session, session.messages.len()) {
        let part = &session.messages[at.0].parts[at.1];
        if part.kind == PartKind::Thinking {
            continue;
        }
        for hit in automaton.find_overlapping_iter(&*part.text) {
            let list = &mut holders[hit.pattern().as_usize()];
            if list.last() != Some(&at) {
                list.push(at);
            }
        }
    }
    let mut run = policy.start(session);
    for (i, &b) in bounds.iter().enumerate() {
        let pruned = run.at(b);
        for &(is_line, target) in &wanted[i] {
            let before: Vec<_> = holders[target].iter().filter(|at| at.0 < b).collect();
            let Some(newest) = before.last() else {
                continue;
            };
            let text = |at: &(usize, usize)| &*pruned.messages[at.0].parts[at.1].text;
            if before.iter().any(|at| text(at).contains(&patterns[target])) {
                continue;
            }
            let part = &session.messages[newest.0].parts[newest.1];
            let tool = part.call.as_ref().map_or("", |c| c.name.as_str());
            let age = bounds[..i].iter().filter(|&&x| x > newest.0).count();
            let became = if text(newest).starts_with("[Result cleared") {
                "cleared"
            } else {
                "trimmed"
            };
            println!(
                "{number}\t{i}\t{}\t{tool}\t{:?}\t{age}\t{became}\t{}\t{}.{}\t{}",
                if is_line { "line" } else { "id" },
                part.kind,
                before.len(),
                newest.0,
                newest.1,
                patterns[target]
            );
        }
    }
}
