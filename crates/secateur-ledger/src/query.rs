//! What can be asked of the ledger.

use serde::{Deserialize, Serialize};

use crate::moment::DAY_MS;
use crate::row::{Millis, Row};

/// Which rows. Empty: all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    /// Of this workload.
    pub workload: Option<String>,
    /// With exactly this stack; `""`: with none.
    pub stack: Option<String>,
    /// Of this model.
    pub model: Option<String>,
    /// Of this conversation.
    pub session: Option<String>,
    /// The client got a status of 400 or more or no answer, the original went out in doubt, or the provider rejected a change.
    pub only_trouble: bool,
    /// Only rows where a mechanic fired.
    pub only_changed: bool,
    /// At or after.
    pub since: Option<Millis>,
    /// Before.
    pub until: Option<Millis>,
}

impl Filter {
    /// Whether sums over it are at hand: they are kept by day, and a session has few rows. Else every row is read for
    /// them, which may be millions.
    #[must_use]
    pub fn has_sums_at_hand(&self) -> bool {
        let is_midnight = |at: Option<Millis>| at.is_none_or(|at| at.rem_euclid(DAY_MS) == 0);
        let by_day = !self.only_trouble && is_midnight(self.since) && is_midnight(self.until);
        by_day || self.session.is_some()
    }
}

/// A row's place in the list, by its id: strictly older rows come after it, strictly newer ones before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct After(pub String);

impl From<&Row> for After {
    fn from(row: &Row) -> Self {
        Self(row.id.clone())
    }
}

/// By what savings are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupBy {
    /// One line.
    All,
    /// Per workload.
    Workload,
    /// Per stack.
    Stack,
    /// Per model.
    Model,
    /// Per client key.
    Key,
    /// Per day, UTC, `2026-11-16`.
    Day,
}

impl GroupBy {
    /// The column of `daily`; `None`: all are one group.
    pub(crate) fn column(self) -> Option<&'static str> {
        Some(match self {
            Self::All => return None,
            Self::Workload => "workload",
            Self::Stack => "stack",
            Self::Model => "model",
            Self::Key => "key_name",
            Self::Day => "day",
        })
    }
}

/// Sums over rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// The group's name; empty for all.
    pub group: String,
    /// Requests.
    pub requests: u64,
    /// Of these, changed.
    pub changed: u64,
    /// Of these, the original went out in doubt.
    pub failed_open: u64,
    /// Of these, rejected by the provider after a change.
    pub struck: u64,
    /// Of these, answered with a status of 400 or more, or not at all.
    pub errors: u64,
    /// Of these, answered by a model at an unknown cost: no sum of dollars has them.
    pub unpriced: u64,
    /// Characters in.
    pub chars_before: u64,
    /// Characters out.
    pub chars_after: u64,
    /// Characters before M3, of the rows where it fired.
    pub compress_chars_before: u64,
    /// Characters after M3.
    pub compress_chars_after: u64,
    /// Provider's counts.
    pub input_tokens: u64,
    /// Read from cache.
    pub cache_read_tokens: u64,
    /// Written to cache.
    pub cache_write_tokens: u64,
    /// Output.
    pub output_tokens: u64,
    /// Tokens not sent.
    pub tokens_saved: i64,
    /// Dollars saved, net; negative where cuts cost more than they saved.
    pub saved_usd: f64,
    /// Predicted input cost without cuts, of the rows where it was predicted and billed.
    pub predicted_usd_without: f64,
    /// Predicted input cost with cuts, of the same rows.
    pub predicted_usd_with: f64,
    /// Billed input cost of the same rows.
    pub reconciled_usd: f64,
    /// What was paid.
    pub billed_usd: f64,
    /// Rows whose saving is negative.
    pub net_negative: u64,
    /// Predicted input tokens as sent, of the rows where the provider's count is known too.
    pub predicted_tokens: u64,
    /// Of these, predicted to be read from the cache.
    pub predicted_cache_read_tokens: u64,
    /// Of these, predicted to be written to it.
    pub predicted_cache_write_tokens: u64,
    /// The provider's counts of the same rows.
    pub billed_tokens: u64,
    /// Of these, read from the cache.
    pub billed_cache_read_tokens: u64,
    /// Of these, written to it.
    pub billed_cache_write_tokens: u64,
    /// Sum of the added latency, microseconds.
    pub added_us: u64,
}

/// Mean input cost per request of held-out and pruned sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Holdout {
    /// Sessions kept unpruned.
    pub held_sessions: u64,
    /// Sessions pruned.
    pub pruned_sessions: u64,
    /// Mean input cost per request over the held sessions, in dollars.
    pub held_mean_usd: f64,
    /// The same over the pruned sessions.
    pub pruned_mean_usd: f64,
    /// Relative saving, `1 - pruned / held`.
    pub saving: f64,
    /// Lower end of its 95 % confidence interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Scores of one stack on one day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DayScore {
    /// UTC day.
    pub day: String,
    /// Which stack.
    pub stack: String,
    /// How many.
    pub samples: u64,
    /// Their mean.
    pub mean: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_at_hand_for_whole_days_and_for_one_session() {
        let day = Filter {
            workload: Some("agent".into()),
            since: Some(7 * DAY_MS),
            until: Some(9 * DAY_MS),
            ..Filter::default()
        };
        assert!(Filter::default().has_sums_at_hand() && day.has_sums_at_hand());
        let mut part = Filter {
            until: Some(9 * DAY_MS + 1),
            ..day.clone()
        };
        let mut trouble = Filter {
            only_trouble: true,
            ..day
        };
        assert!(!part.has_sums_at_hand() && !trouble.has_sums_at_hand());
        (part.session, trouble.session) = (Some("s".into()), Some("s".into()));
        assert!(part.has_sums_at_hand() && trouble.has_sums_at_hand());
    }
}
