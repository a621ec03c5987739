//! The scores of sessions under one policy: bill, ids, lines.

/// The scores of one session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionScore {
    /// Requests made.
    pub requests: usize,
    /// Requests at which new decisions were taken.
    pub rounds: usize,
    /// Cost with the policy.
    pub cost: f64,
    /// Cost without.
    pub full_cost: f64,
    /// Tokens sent with the policy.
    pub tokens: f64,
    /// Tokens sent without.
    pub full_tokens: f64,
    /// Of `tokens`, those read from the cache.
    pub cache_read: f64,
    /// Identifiers asked for that the full context holds.
    pub ids: usize,
    /// Of these, still there.
    pub ids_kept: usize,
    /// Requests with more cache markers than the provider takes.
    pub rejected: usize,
    /// Lines asked for that the full context holds.
    pub lines: usize,
    /// Of these, still there.
    pub lines_kept: usize,
    /// Outcome lines of commands whose results the last request does not hold whole.
    pub outcomes: usize,
    /// Of these, still there.
    pub outcomes_kept: usize,
}

/// All sessions under one policy.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// One score per session, in the order of the sessions.
    pub sessions: Vec<SessionScore>,
}

impl Totals {
    fn sum(&self, of: impl Fn(&SessionScore) -> f64) -> f64 {
        self.sessions.iter().map(of).sum()
    }

    /// Cost of all requests over the cost without pruning.
    pub fn bill(&self) -> f64 {
        ratio(self.sum(|s| s.cost), self.sum(|s| s.full_cost))
    }

    /// The worst single session's bill.
    pub fn worst(&self) -> f64 {
        self.sessions
            .iter()
            .map(|s| ratio(s.cost, s.full_cost))
            .fold(0.0, f64::max)
    }

    /// How many sessions cost more than without pruning.
    pub fn over(&self) -> usize {
        let is_over = |s: &&SessionScore| ratio(s.cost, s.full_cost) > 1.0 + 1e-9;
        self.sessions.iter().filter(is_over).count()
    }

    /// Requests that the provider would have rejected for their markers.
    pub fn rejected(&self) -> usize {
        self.sessions.iter().map(|s| s.rejected).sum()
    }

    /// Tokens sent over those sent without pruning.
    pub fn tokens(&self) -> f64 {
        ratio(self.sum(|s| s.tokens), self.sum(|s| s.full_tokens))
    }

    /// Share of the tokens that came from the cache.
    pub fn cache_read_share(&self) -> f64 {
        ratio(self.sum(|s| s.cache_read), self.sum(|s| s.tokens))
    }

    /// Rounds per session.
    pub fn rounds_per_session(&self) -> f64 {
        ratio(self.sum(|s| count(s.rounds)), count(self.sessions.len()))
    }

    /// Share of the identifiers still there.
    pub fn ids(&self) -> f64 {
        ratio(self.sum(|s| count(s.ids_kept)), self.sum(|s| count(s.ids)))
    }

    /// Share of the lines still there.
    pub fn lines(&self) -> f64 {
        ratio(
            self.sum(|s| count(s.lines_kept)),
            self.sum(|s| count(s.lines)),
        )
    }

    /// Share of the outcome lines of changed command results that the last request of each session still has.
    pub fn outcomes(&self) -> f64 {
        ratio(
            self.sum(|s| count(s.outcomes_kept)),
            self.sum(|s| count(s.outcomes)),
        )
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn count(n: usize) -> f64 {
    n as f64
}

/// 1 when there is nothing to divide by: nothing asked for, nothing lost.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 1.0 }
}
