//! How long the chain may work on a body.

use std::time::Duration;

/// A fixed part, and a part that grows with the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeBudget {
    /// For a body of any size. Default 500 ms.
    pub base: Duration,
    /// For each MiB of the decoded body. Default 100 ms.
    pub per_mb: Duration,
}

impl Default for TimeBudget {
    fn default() -> Self {
        Self {
            base: Duration::from_millis(500),
            per_mb: Duration::from_millis(100),
        }
    }
}

impl TimeBudget {
    /// The time for a body of so many bytes.
    #[must_use]
    pub fn for_bytes(&self, bytes: usize) -> Duration {
        const MB: u128 = 1 << 20;
        let nanos = self.per_mb.as_nanos() * bytes as u128 / MB;
        let share = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        self.base.saturating_add(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_with_the_body() {
        let budget = TimeBudget::default();
        assert_eq!(budget.for_bytes(0), Duration::from_millis(500));
        assert_eq!(budget.for_bytes(3 << 19), Duration::from_millis(650));
        assert_eq!(budget.for_bytes(32 << 20), Duration::from_millis(3_700));
    }
}
