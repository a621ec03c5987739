//! What the canary needs from the program around it: a way to make calls, and a listener for what happened.

use std::fmt::Debug;
use std::pin::Pin;

use bytes::Bytes;
use http::{Request, Response};
use secateur_core::models::Prices;
use secateur_ledger::Spending;

/// Why a call gave no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// There was no response.
    #[error("there was no response")]
    Unreachable,
    /// The response broke off, or was longer than allowed.
    #[error("the response broke off or is too long")]
    Broke,
}

/// A call that is under way.
pub type Call<'c> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, CallError>> + Send + 'c>>;

/// What a provider billed for one call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Billed {
    /// Input and output tokens.
    pub tokens: u64,
    /// US dollars; 0 without known prices.
    pub usd: f64,
}

/// Makes calls to providers and judges, and reads their responses.
pub trait Upstream: Debug + Send + Sync {
    /// Sends a request and reads the response, of at most `max_bytes`. The body of a response that is not a success
    /// is not read, and empty here.
    fn call(&self, request: Request<Bytes>, max_bytes: usize) -> Call<'_>;

    /// The body of a response without its content encoding, of at most `max_bytes`; `None`: it cannot be decoded.
    fn decode(&self, response: &Response<Bytes>, max_bytes: usize) -> Option<Bytes>;

    /// What the provider billed, by its own counts in the response; `None`: it has none.
    fn billed(&self, response: &Response<Bytes>, prices: Option<&Prices>) -> Option<Billed>;
}

/// Something that happened, for logs and metrics. Holds no text of a request or an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum CanaryEvent<'e> {
    /// A sampled request was compared (`scored`), or was not, for this reason.
    ShadowEnded {
        /// The workload.
        workload: &'e str,
        /// The stack of the request.
        stack: &'e str,
        /// `scored`, or why not.
        result: &'e str,
    },
    /// What a call cost that was made to compare answers, by the provider's counts or else estimated.
    Spent(Spending),
    /// A limit on calls that compare answers was reached for the first time today (for calls: this hour).
    BudgetSpent {
        /// The workload.
        workload: &'e str,
        /// The limit's name.
        limit: &'e str,
    },
    /// A score was taken.
    Scored {
        /// The workload.
        workload: &'e str,
        /// The stack.
        stack: &'e str,
        /// Who gave it.
        scorer: &'e str,
        /// From 0 to 1.
        score: f64,
    },
    /// The scorer gave no score, after one that did or for the first time.
    ScorerFailed {
        /// The workload.
        workload: &'e str,
        /// What went wrong.
        reason: &'e str,
    },
    /// The scorer failed so often that it is not called for a while.
    ScorerPaused {
        /// The workload.
        workload: &'e str,
        /// What went wrong last.
        reason: &'e str,
    },
    /// The scorer gives scores again.
    ScorerRecovered {
        /// The workload.
        workload: &'e str,
    },
    /// A stack was switched off in this process, and is going to be in the store.
    RolledBack {
        /// The workload.
        workload: &'e str,
        /// The stack.
        stack: &'e str,
        /// Why, in words.
        reason: &'e str,
        /// The mean of the scores and how many there are, where scores decided.
        scores: Option<(f64, u64)>,
    },
    /// The store has the rollback, and no other replica was first.
    RollbackStored {
        /// The workload.
        workload: &'e str,
        /// The stack.
        stack: &'e str,
    },
    /// A sign of harm that is no proof.
    Warned {
        /// The workload.
        workload: &'e str,
        /// The stack.
        stack: &'e str,
        /// The sign's name.
        signal: &'e str,
        /// In words.
        reason: &'e str,
    },
    /// The store did not answer or did not take something.
    StoreFailed {
        /// The workload.
        workload: &'e str,
        /// What went wrong.
        reason: &'e str,
    },
}

/// Takes what happened. Must not block.
pub trait Reporter: Debug + Send + Sync {
    /// Takes one event.
    fn report(&self, event: CanaryEvent<'_>);
}
