//! A strict fake provider that speaks all four dialects on one port.
//!
//! It rejects what the real providers reject, by rules of its own over parsed JSON, so that a pruned
//! body which passes here was judged by code that the engine does not share. It answers from
//! recordings that it makes itself: the first time a request is seen its answer is composed and kept,
//! afterwards it is replayed. With a [`Script`] it leads a coding agent through a session instead.
//! Usage comes from a simulated prompt cache that follows each provider's own rules.
//!
//! For tests and for the demonstration; not a model.

mod answer;
mod cache;
mod chunks;
mod conduct;
mod request;
mod respond;
mod rules;
mod script;
mod server;
mod shared;
mod wire;

pub use answer::{Answer, Call, CallInput, Recordings};
pub use cache::{PromptCache, Usage};
pub use conduct::Conduct;
pub use request::{Api, Received};
pub use rules::check;
pub use script::{Operation, Progress, Script, ScriptError};
pub use server::Mock;
pub use shared::{Exchange, MockOptions, Scripted};
