//! What a setting loses: the identifiers that answers use and only the full context holds, by the kind of word
//! and by what held them last.

use std::collections::BTreeMap;

use secateur_core::policy::PolicyError;
use secateur_core::strategy::ToolClass;
use secateur_replay::targets::identifiers_of;
use secateur_replay::{PartKind, Policy, Pruned, Session};

use crate::bench::{engine, resolve};
use crate::plan::{Place, places};

/// Kinds of identifiers, as the table calls them.
const KINDS: [&str; 4] = ["plain word", "name", "path", "number"];

/// A word of letters alone, at most its first one a capital, is as likely prose as a name.
fn kind(id: &str) -> &'static str {
    let is_plain = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_lowercase());
    if id.contains('/') {
        "path"
    } else if id.bytes().all(|byte| byte.is_ascii_digit()) {
        "number"
    } else if id.get(1..).is_some_and(is_plain) && id.as_bytes()[0].is_ascii_alphabetic() {
        "plain word"
    } else {
        "name"
    }
}

/// A table of what is lost under a setting.
pub fn print(sessions: &[Session], setting: &str) -> Result<(), PolicyError> {
    let policy = resolve(setting)?;
    let policy = engine(&policy);
    let mut counts: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
    for session in sessions {
        let mut run = policy.start(session);
        for upto in session.boundaries() {
            let sent = run.at(upto);
            for id in identifiers_of(&session.messages[upto]) {
                let held = |at: &Place| {
                    let part = &session.messages[at.0].parts[at.1];
                    is_text(part.kind) && part.text.contains(&id)
                };
                let Some(last) = places(session, upto).rev().find(held) else {
                    continue;
                };
                if !holds(&sent, &id) {
                    let of_kind = counts.entry(holder(session, last)).or_default();
                    *of_kind.entry(kind(&id)).or_default() += 1;
                }
            }
        }
    }
    println!("identifiers lost under {setting}, by what held them last");
    println!(
        "{:22} {}",
        "",
        KINDS.map(|kind| format!("{kind:>10}")).concat()
    );
    let mut totals = [0; KINDS.len()];
    for (holder, of_kind) in &counts {
        let row = KINDS.map(|kind| of_kind.get(kind).copied().unwrap_or_default());
        totals.iter_mut().zip(row).for_each(|(sum, n)| *sum += n);
        println!("{holder:22} {}", row.map(|n| format!("{n:>10}")).concat());
    }
    println!(
        "{:22} {}",
        "all",
        totals.map(|n| format!("{n:>10}")).concat()
    );
    Ok(())
}

fn is_text(kind: PartKind) -> bool {
    !matches!(kind, PartKind::Thinking | PartKind::Opaque)
}

fn holds(sent: &Pruned, id: &str) -> bool {
    let mut parts = sent.messages.iter().flat_map(|message| &message.parts);
    parts.any(|part| is_text(part.kind) && part.text.contains(id))
}

fn holder(session: &Session, at: Place) -> String {
    let part = &session.messages[at.0].parts[at.1];
    match &part.call {
        Some(call) => format!("{:?}, {:?}", part.kind, ToolClass::of(&call.name)),
        None => format!("{:?}", part.kind),
    }
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn words_of_prose_are_told_from_names() {
        for (id, expected) in [
            ("directly", "plain word"),
            ("Returns", "plain word"),
            ("shadowBranch", "name"),
            ("max_chars", "name"),
            ("ErrNotFound", "name"),
            ("src/lib.rs", "path"),
            ("12345", "number"),
        ] {
            assert_eq!(kind(id), expected, "{id}");
        }
    }
}
