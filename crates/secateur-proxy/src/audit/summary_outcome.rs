//! What became of a summary.

/// What became of the summary that a request wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SummaryOutcome {
    /// It was made in time and stands in the request.
    Made,
    /// It was not there in time.
    Late,
    /// The upstream did not give one.
    Failed,
    /// The workload's calls are used up.
    OverBudget,
}

impl SummaryOutcome {
    /// Its name in logs and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Made => "made",
            Self::Late => "late",
            Self::Failed => "failed",
            Self::OverBudget => "over-budget",
        }
    }
}
