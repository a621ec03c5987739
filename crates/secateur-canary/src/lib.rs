//! Whether answers get worse, and what happens then.
//!
//! ```text
//! changed request ─► sampled? ─► client has its response ─► original sent too ─► two answers compared
//!                                                                                   │ score
//!      clients post scores ─────────────────────────────────────────────────────────┤
//!                                                                                   ▼
//! rejected bodies, repeated calls, unread caches ─► warning, or ─► verdict ─► stack retired everywhere
//! ```
//!
//! A request meets the [`Canary`] twice. [`Canary::watch`] says before its body is read what overrides the
//! configuration, and returns a [`Watch`], which samples the request once the mechanics ran. [`Canary::finished`]
//! takes the request when it is over. What the canary needs from the program around it is in two traits: [`Upstream`]
//! makes calls, [`Reporter`] takes what happened.
//!
//! **Invariants:** nothing here delays or changes a response. A stack that is off is switched on again by a person
//! alone. Scores, events and reports hold no text of a request or an answer, and no credential.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod answer;
mod canary;
mod changed;
mod finished;
mod gate;
mod judge;
mod ledger_store;
mod options;
mod outside;
mod overrides;
mod recent;
mod remembered;
mod repeatable;
mod reply;
mod score;
mod session;
mod shadow;
mod share;
mod signals;
mod standing;
mod store;
mod verdict;

pub use answer::Answer;
pub use canary::{Canary, CanaryParts, PostedScore, Watch};
pub use changed::ChangedRequest;
pub use finished::{Finished, InputTokens, PredictedRead};
pub use options::{CanaryOptions, ScorerOptions, WatchedWorkload};
pub use outside::{Billed, Call, CallError, CanaryEvent, Reporter, Upstream};
pub use overrides::{Configured, EnabledMechanics, Overrides};
pub use reply::{Reply, ToolCall};
pub use score::deterministic_score;
pub use session::{SESSION_HEADER, session_key};
pub use shadow::Sampled;
pub use standing::{STACK_OF_ORIGINALS, Standing};
pub use store::{CanaryStore, Later, MemoryStore, PastRequest, StoreError};
pub use verdict::{Rule, Tally, Verdict, judge};
