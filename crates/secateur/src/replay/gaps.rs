//! What a replay could not read.

use secateur_replay::{Loaded, Unreadable};

/// How many unreadable rows are named; the others are only counted.
const MAX_NAMED: usize = 1_000;

/// What was not read.
#[derive(Default)]
pub(super) struct Gaps {
    pub(super) unreadable: Vec<Unreadable>,
    /// Further rows that could not be read.
    pub(super) unnamed: usize,
    /// Files that were not read to their end.
    pub(super) cut_short: Vec<String>,
    /// Logs without any request.
    pub(super) empty_logs: usize,
}

impl Gaps {
    /// What one unit of work did not read. `is_log`: it is an agent's log.
    pub(super) fn of(loaded: &mut Loaded, is_log: bool) -> Self {
        Self {
            unreadable: std::mem::take(&mut loaded.unreadable),
            unnamed: loaded.unnamed,
            cut_short: std::mem::take(&mut loaded.cut_short),
            empty_logs: usize::from(is_log && loaded.sessions.is_empty()),
        }
    }

    pub(super) fn add(&mut self, mut other: Self) {
        let room = MAX_NAMED.saturating_sub(self.unreadable.len());
        self.unnamed += other.unnamed + other.unreadable.len().saturating_sub(room);
        other.unreadable.truncate(room);
        self.unreadable.append(&mut other.unreadable);
        self.cut_short.append(&mut other.cut_short);
        self.empty_logs += other.empty_logs;
    }

    /// All rows that could not be read.
    pub(super) fn unreadable_rows(&self) -> usize {
        self.unreadable.len() + self.unnamed
    }
}
