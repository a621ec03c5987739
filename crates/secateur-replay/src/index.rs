//! Where in a session the targets occur, so that scoring a request never searches its text again.
//!
//! All targets of a session go into one automaton. Each distinct part text (a *version*) is run through
//! it once; after that a request is a list of version numbers.

use std::collections::HashMap;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::session::{PartKind, Session};
use crate::targets::{identifiers_of, lines_of};

/// What one boundary asks for: target numbers.
#[derive(Debug, Default, Clone)]
pub(crate) struct Wanted {
    pub(crate) ids: Vec<u32>,
    pub(crate) lines: Vec<u32>,
}

/// A distinct part text.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) chars: usize,
    pub(crate) hits: Box<[u32]>,
}

/// The targets of a session, and the versions seen so far. It serves one policy after another: versions
/// that a policy made stay known to the next.
pub(crate) struct Index {
    automaton: Option<AhoCorasick>,
    pub(crate) target_count: usize,
    pub(crate) wanted: HashMap<usize, Wanted>,
    pub(crate) versions: Vec<Version>,
    by_pointer: HashMap<(usize, usize, PartKind), u32>,
    by_text: HashMap<(Arc<str>, PartKind), u32>,
}

impl Index {
    pub(crate) fn of(session: &Session) -> Self {
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut patterns: Vec<String> = Vec::new();
        let mut wanted = HashMap::new();
        let mut number = |text: String| {
            *numbers.entry(text).or_insert_with_key(|text| {
                patterns.push(text.clone());
                u32::try_from(patterns.len() - 1).unwrap_or(u32::MAX)
            })
        };
        for upto in session.boundaries() {
            let answer = &session.messages[upto];
            let ids = identifiers_of(answer)
                .into_iter()
                .map(&mut number)
                .collect();
            let lines = lines_of(answer).into_iter().map(&mut number).collect();
            wanted.insert(upto, Wanted { ids, lines });
        }
        let automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .match_kind(MatchKind::Standard)
            .build(&patterns)
            .ok();
        Self {
            automaton,
            target_count: patterns.len(),
            wanted,
            versions: Vec::new(),
            by_pointer: HashMap::new(),
            by_text: HashMap::new(),
        }
    }

    /// An index that searches for nothing and only counts characters.
    pub(crate) fn without_targets() -> Self {
        Self {
            automaton: None,
            target_count: 0,
            wanted: HashMap::new(),
            versions: Vec::new(),
            by_pointer: HashMap::new(),
            by_text: HashMap::new(),
        }
    }

    /// Whether there is anything to search for.
    pub(crate) fn has_targets(&self) -> bool {
        self.automaton.is_some()
    }

    /// The number of this text. The same allocation is recognised without reading the text.
    pub(crate) fn version(&mut self, kind: PartKind, text: &Arc<str>) -> u32 {
        let pointer = (text.as_ptr().addr(), text.len(), kind);
        if let Some(&number) = self.by_pointer.get(&pointer) {
            // The index holds a clone of every allocation that it knows by address, so none is reused.
            return number;
        }
        if let Some(&number) = self.by_text.get(&(Arc::clone(text), kind)) {
            return number;
        }
        let number = u32::try_from(self.versions.len()).unwrap_or(u32::MAX);
        let (chars, hits) = match kind {
            PartKind::Thinking | PartKind::Opaque => (0, Box::default()),
            PartKind::Text | PartKind::ToolUse | PartKind::ToolResult => {
                (text.chars().count(), self.hits(text))
            }
        };
        self.versions.push(Version { chars, hits });
        self.by_pointer.insert(pointer, number);
        self.by_text.insert((Arc::clone(text), kind), number);
        number
    }

    fn hits(&self, text: &str) -> Box<[u32]> {
        let Some(automaton) = &self.automaton else {
            return Box::default();
        };
        let mut hits: Vec<u32> = automaton
            .find_overlapping_iter(text)
            .map(|m| m.pattern().as_u32())
            .collect();
        hits.sort_unstable();
        hits.dedup();
        hits.into_boxed_slice()
    }
}
