//! How alike two answers to one request are: 0 to 1.

mod command;
mod deterministic;
mod http_judge;
mod similarity;

use serde_json::{Value, json};

pub use deterministic::score as deterministic_score;

use crate::options::{CanaryOptions, ScorerOptions};
use crate::outside::Upstream;
use crate::reply::Reply;

/// Two answers and where they come from. Holds no prompt.
#[derive(Debug)]
pub(crate) struct Comparison<'c> {
    pub(crate) request_id: &'c str,
    pub(crate) workload: &'c str,
    pub(crate) stack: &'c str,
    pub(crate) dialect: &'static str,
    pub(crate) model: Option<&'c str>,
    pub(crate) pruned: &'c Reply,
    pub(crate) original: &'c Reply,
}

impl Comparison<'_> {
    fn json(&self) -> Value {
        json!({
            "request_id": self.request_id,
            "workload": self.workload,
            "stack": self.stack,
            "dialect": self.dialect,
            "model": self.model,
            "pruned": self.pruned,
            "original": self.original,
        })
    }
}

/// Why there is no score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ScorerError {
    #[error("the scorer could not be run or reached")]
    Unreachable,
    #[error("the scorer took too long")]
    TimedOut,
    #[error("the scorer failed")]
    Failed,
    #[error("the scorer gave no number from 0 to 1")]
    NotAScore,
}

impl ScorerError {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "scorer-unreachable",
            Self::TimedOut => "scorer-timed-out",
            Self::Failed => "scorer-failed",
            Self::NotAScore => "scorer-not-a-score",
        }
    }
}

/// The scorer's name in scores.
pub(crate) fn scorer_name(options: &CanaryOptions) -> &'static str {
    match options.scorer {
        ScorerOptions::Deterministic => "deterministic",
        ScorerOptions::Command(_) => "command",
        ScorerOptions::Http { .. } => "http",
    }
}

/// Compares two answers as the workload wants it.
pub(crate) async fn compare(
    comparison: &Comparison<'_>,
    options: &CanaryOptions,
    upstream: &dyn Upstream,
) -> Result<f64, ScorerError> {
    let compared = async {
        match &options.scorer {
            ScorerOptions::Deterministic => {
                Ok(deterministic::score(comparison.pruned, comparison.original))
            }
            ScorerOptions::Command(words) => command::score(words, &comparison.json()).await,
            ScorerOptions::Http { url, headers } => {
                http_judge::score(upstream, url, headers, &comparison.json()).await
            }
        }
    };
    match tokio::time::timeout(options.scorer_timeout, compared).await {
        Ok(score) => score,
        Err(_) => Err(ScorerError::TimedOut),
    }
}

/// A number from 0 to 1, or nothing.
fn in_range(score: f64) -> Result<f64, ScorerError> {
    if (0.0..=1.0).contains(&score) {
        Ok(score)
    } else {
        Err(ScorerError::NotAScore)
    }
}
