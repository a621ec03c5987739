//! What the summaries of a workload may cost in time and tokens.

use std::time::Duration;

/// What one workload may spend on summaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SummaryBudget {
    /// How long a request waits for its summary.
    pub wait: Duration,
    /// How long a call may take; it goes on when the request that wanted it does not wait.
    pub timeout: Duration,
    /// Calls in a minute; 0 is none at all.
    pub calls_per_minute: u32,
    /// Tokens that a summary may have.
    pub max_tokens: u32,
}

impl Default for SummaryBudget {
    fn default() -> Self {
        Self {
            wait: Duration::from_secs(10),
            timeout: Duration::from_secs(30),
            calls_per_minute: 30,
            max_tokens: 1024,
        }
    }
}
