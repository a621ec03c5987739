//! How much work may go into searching for rounds.
//!
//! **Invariant:** a search starts only if the budget is not overdrawn, so all searches together cost at most what the
//! whole conversation earns, plus one search. The fold is therefore linear in the body, whatever a single search finds
//! to do. What is earned depends on the turns up to a request alone, and so does whether it is searched.

/// Work is counted in visits of parts. Each arriving part earns this many.
const VISITS_PER_PART: u64 = 64;
/// This many arriving characters earn one visit.
const CHARS_PER_VISIT: u64 = 16;
/// A plan made from scratch reads everything that has arrived; it costs one of this many shares of what was earned.
const SHARES: u64 = 100;
/// What every conversation starts with.
const START: u64 = 1 << 14;

/// The work of reading so many characters.
pub(crate) fn visits_of_chars(chars: usize) -> usize {
    chars.div_ceil(usize::try_from(CHARS_PER_VISIT).unwrap_or(usize::MAX))
}

/// How much work may go into searching for rounds. Arriving text earns it, searches spend it.
#[derive(Debug, Default)]
pub(crate) struct WorkBudget {
    earned: u64,
    spent: u64,
}

impl WorkBudget {
    /// Parts with so many characters have arrived.
    pub(crate) fn earn(&mut self, parts: usize, chars: f64) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count of characters"
        )]
        let chars = chars as u64;
        self.earned += parts as u64 * VISITS_PER_PART + chars / CHARS_PER_VISIT;
    }

    /// So many parts were visited.
    pub(crate) fn spend(&mut self, visits: usize) {
        self.spent += visits as u64;
    }

    /// A plan was made from scratch.
    pub(crate) fn spend_on_plan(&mut self) {
        self.spent += self.earned / SHARES;
    }

    /// Whether the budget is not overdrawn.
    pub(crate) fn can_search(&self) -> bool {
        self.spent <= START + self.earned
    }

    /// What was spent, in visits.
    pub(crate) fn spent(&self) -> u64 {
        self.spent
    }
}
