//! An extract of turns, made without a model: tools, files, errors, decisions.
//!
//! **Invariant:** a pure extract. The same turns give the same text; every name, path and
//! sentence in it comes from them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;

use crate::plan::context::PlanContext;
use crate::read::view::{PartId, PartKind, Role, TurnId};
use crate::tools::class::PATH_KEYS;

const MAX_TOOLS: usize = 12;
const MAX_FILES: usize = 20;
const MAX_ERRORS: usize = 5;
const MAX_DECISIONS: usize = 5;
const MAX_LINE_CHARS: usize = 160;

/// How sentences begin in which a model settles on something. In lower case.
const DECISION_STARTS: [&str; 10] = [
    "decision:",
    "i decided",
    "we decided",
    "i will use",
    "we will use",
    "i'll use",
    "the root cause",
    "the fix is",
    "the plan is",
    "conclusion:",
];

/// Lines to come after the summary's heading, each with a newline before it. Empty if there is
/// nothing to say.
pub(super) fn of(context: &PlanContext<'_, '_>, turns: &[TurnId]) -> String {
    let (mut tools, mut files) = (Tally::default(), Tally::default());
    let (mut errors, mut decisions) = (Tally::default(), Tally::default());
    for part in turns.iter().flat_map(|&turn| context.parts(turn)) {
        match context.kind(part) {
            PartKind::Call => {
                tools.add(context.tool_name(part).as_deref().unwrap_or("unnamed"));
                if let Some(file) = file_of(context, part) {
                    files.add(&file);
                }
            }
            PartKind::Result if context.is_error(part) => {
                let name = context.tool_name(part);
                let text = context.text_start(part, crate::plan::placeholder::MAX_START_BYTES);
                let line = secateur_condense::harness::first_line(&text);
                let line = shorten(line.unwrap_or("no output"));
                errors.add(&format!("{}: {line}", name.as_deref().unwrap_or("tool")));
            }
            PartKind::Text if is_models(context, part) => {
                for sentence in decisions_in(&context.text(part)) {
                    decisions.add(&sentence);
                }
            }
            _ => {}
        }
    }
    let mut out = String::new();
    list(&mut out, "Tools called", &tools.counted(MAX_TOOLS), ", ");
    list(&mut out, "Files touched", &files.newest(MAX_FILES), ", ");
    list(&mut out, "Errors", &errors.newest(MAX_ERRORS), "; ");
    list(&mut out, "Decisions", &decisions.newest(MAX_DECISIONS), " ");
    out
}

fn is_models(context: &PlanContext<'_, '_>, part: PartId) -> bool {
    context
        .turn_of(part)
        .is_some_and(|turn| context.role(turn) == Role::Assistant)
}

fn file_of(context: &PlanContext<'_, '_>, call: PartId) -> Option<String> {
    let [named] = context
        .call_args()
        .first_texts(context.view, call, [&PATH_KEYS]);
    let named = named.filter(|file| !file.is_empty() && file.chars().count() <= MAX_LINE_CHARS);
    named.map(Cow::into_owned)
}

/// The sentences of a text in which something is settled.
fn decisions_in(text: &str) -> impl Iterator<Item = String> + '_ {
    let sentences = text.lines().flat_map(|line| line.split_inclusive(". "));
    sentences.map(str::trim).filter_map(|sentence| {
        let plain = sentence.trim_start_matches(['*', '-', '#', ' ']);
        let settles = DECISION_STARTS.iter().any(|start| {
            plain
                .get(..start.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(start))
        });
        settles.then(|| shorten(plain))
    })
}

fn shorten(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line.to_owned(),
    }
}

fn list(out: &mut String, title: &str, entries: &[String], separator: &str) {
    if !entries.is_empty() {
        // Writing to a String cannot fail.
        let _ = write!(out, "\n{title}: {}", entries.join(separator));
    }
}

/// Words with their counts, in the order of their last use.
#[derive(Default)]
struct Tally {
    counts: HashMap<String, (usize, usize)>,
    uses: usize,
}

impl Tally {
    fn add(&mut self, word: &str) {
        self.uses += 1;
        let uses = self.uses;
        let entry = self.counts.entry(word.to_owned()).or_default();
        entry.0 += 1;
        entry.1 = uses;
    }

    /// The most frequent words, each with its count.
    fn counted(self, limit: usize) -> Vec<String> {
        let mut words: Vec<_> = self.counts.into_iter().collect();
        words.sort_unstable_by(|(one, (a, _)), (other, (b, _))| b.cmp(a).then(one.cmp(other)));
        words.truncate(limit);
        words
            .into_iter()
            .map(|(word, (count, _))| format!("{word} ×{count}"))
            .collect()
    }

    /// The words used last, oldest first.
    fn newest(self, limit: usize) -> Vec<String> {
        let mut words: Vec<_> = self.counts.into_iter().collect();
        words.sort_unstable_by_key(|(_, (_, last))| *last);
        let words = words.split_off(words.len().saturating_sub(limit));
        words.into_iter().map(|(word, _)| word).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_sentences_in_which_something_is_settled() {
        let text = "Looking around. I will use BTreeMap here. It sorts.\n- **The root cause** is a \
                    race.\nDecision: keep it simple\nUse it.";
        let found: Vec<String> = decisions_in(text).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], "I will use BTreeMap here.");
        assert_eq!(found[2], "Decision: keep it simple");
    }

    #[test]
    fn tallies_do_not_depend_on_the_order_of_a_map() {
        let mut tally = Tally::default();
        for word in ["b", "a", "b", "c", "a", "d"] {
            tally.add(word);
        }
        assert_eq!(tally.counted(3), ["a ×2", "b ×2", "c ×1"]);
        let mut tally = Tally::default();
        for word in ["b", "a", "b", "c"] {
            tally.add(word);
        }
        assert_eq!(tally.newest(2), ["b", "c"]);
    }
}
