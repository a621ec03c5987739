//! The entries that the requests of one conversation leave, by position.
//!
//! A position is the number of a part: one block of the prompt. The conversation only grows, so an entry stays
//! valid until something before it, or in it, is changed.

use super::{CacheKind, MarkerPattern, deepest_hit};
use crate::read::view::{PartId, View};

/// How much of a prompt is read: nothing, or tools and instructions and the first so many parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Prefix(pub(crate) Option<u32>);

impl Prefix {
    /// Its characters; `up_to[n]` are those of the first n parts.
    pub(crate) fn chars(self, head: f64, up_to: &[f64]) -> f64 {
        let parts = |parts: u32| up_to.get(parts as usize).or(up_to.last());
        self.0
            .map_or(0.0, |count| head + parts(count).copied().unwrap_or(0.0))
    }
}

/// The entries that are still valid.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConversationCache {
    /// Parts with an entry, ascending.
    entries: Vec<u32>,
    /// Whether a request was made, and how many parts of it are unchanged.
    sent_parts: Option<u32>,
    /// Whether a request was made whose client asks for caching.
    is_marked: bool,
}

/// What is read if a cut changes everything from a part on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) prefix: Prefix,
    /// The block that needs a marker of ours for it.
    pub(crate) anchor: Option<PartId>,
}

/// Entries that are tried for an anchor, the nearest first.
const MAX_ENTRIES_TRIED: usize = 8;

impl ConversationCache {
    /// What a request with these markers reads.
    pub(crate) fn hit(&self, pattern: &MarkerPattern, markers: &[u32]) -> Prefix {
        self.hit_before(pattern, markers, u32::MAX)
    }

    /// What it reads if everything from `from` on is changed.
    fn hit_before(&self, pattern: &MarkerPattern, markers: &[u32], from: u32) -> Prefix {
        let Some(sent) = self.sent_parts else {
            return Prefix(None);
        };
        match pattern.rules.kind {
            CacheKind::None => Prefix(None),
            CacheKind::Automatic => Prefix(Some(sent.min(from))),
            CacheKind::Marked | CacheKind::Breakpoints => {
                let entries = self.entries_before(from);
                let hit = deepest_hit(pattern.rules.look_back_blocks, markers, entries);
                let head = (pattern.covers_head && self.is_marked).then_some(0);
                Prefix(hit.map(|entry| entry + 1).or(head))
            }
        }
    }

    fn entries_before(&self, from: u32) -> &[u32] {
        &self.entries[..self.entries.partition_point(|&entry| entry < from)]
    }

    /// What is read if a cut changes everything from `from` on: by the client's own markers, or by one of ours on the
    /// best block before the cut.
    pub(crate) fn reach(
        &self,
        view: &View<'_>,
        pattern: &MarkerPattern,
        markers: &[u32],
        from: u32,
        is_there: impl Fn(PartId) -> bool,
    ) -> Reach {
        let mut reach = Reach {
            prefix: self.hit_before(pattern, markers, from),
            anchor: None,
        };
        if pattern.anchor.is_none() {
            return reach;
        }
        let entries = self.entries_before(from);
        let look_back = u32::try_from(pattern.rules.look_back_blocks).unwrap_or(u32::MAX);
        for &entry in entries.iter().rev().take(MAX_ENTRIES_TRIED) {
            let prefix = Prefix(Some(entry + 1));
            if prefix <= reach.prefix {
                break;
            }
            let end = from.min(entry.saturating_add(look_back));
            let mut blocks = (entry..end).map(PartId);
            let carries = |&part: &PartId| is_there(part) && pattern.can_mark(view, part);
            if let Some(block) = blocks.find(carries) {
                reach = Reach {
                    prefix,
                    anchor: Some(block),
                };
                break;
            }
        }
        reach
    }

    /// Everything from `from` on was changed.
    pub(crate) fn change(&mut self, from: PartId) {
        self.entries
            .truncate(self.entries.partition_point(|&entry| entry < from.0));
        self.sent_parts = self.sent_parts.map(|sent| sent.min(from.0));
    }

    /// The entries of all requests so far are not counted on any more: the user spoke. People take longer than a cache
    /// lives, and agents change their instructions when a session is taken up again.
    pub(crate) fn forget(&mut self) {
        self.entries.clear();
    }

    /// A request with so many parts went out with these markers on its turns; `is_marked`: with those on its head, too.
    pub(crate) fn send(
        &mut self,
        markers: &[u32],
        anchor: Option<PartId>,
        parts: usize,
        is_marked: bool,
    ) {
        self.is_marked |= is_marked;
        for &marker in markers.iter().chain(anchor.map(|part| part.0).iter()) {
            if let Err(at) = self.entries.binary_search(&marker) {
                self.entries.insert(at, marker);
            }
        }
        self.sent_parts = u32::try_from(parts).ok();
    }
}
