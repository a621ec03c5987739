//! What the engine is given besides the body and the policy.

use secateur_json::Limits;

use crate::plan::mechanic::MechanicSet;
use crate::plan::summary::Summaries;
use crate::read::dialect::Dialect;

/// What a request is and may be, apart from its bytes and its policy.
#[derive(Clone, Debug, Default)]
pub struct Request<'r> {
    /// The dialect; `None` finds it by shape.
    pub dialect: Option<Dialect>,
    /// The model, where the body does not name it (Gemini has it in the URL).
    pub model: Option<&'r str>,
    /// Bounds on what is read.
    pub limits: Limits,
    /// What is known of the mechanics that live outside the engine (M1, M8).
    pub others: Candidates,
    /// Summaries that a model made. `None`: nobody makes them.
    pub summaries: Option<&'r dyn Summaries>,
}

/// Mechanics that a caller brings: which the workload opted in to, and which fit the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// Switched on for the workload.
    pub opted_in: MechanicSet,
    /// Applicable to the request.
    pub eligible: MechanicSet,
}
