//! Replays recorded sessions under a policy.
//!
//! A session is cut at its request boundaries (a message that is not the assistant's, followed by the
//! assistant's). At each boundary the policy prunes what the client would have sent; the replay then says
//! what the requests would have cost with a prompt cache, and how much of what the assistant went on to
//! use was still in front of it.
//!
//! ```text
//!  files ─read─► Session ─policy─► Pruned ─index─► versions ─price+score─► SessionScore ─sum─► Totals
//! ```
//!
//! The definitions of the bill, `ids` and `lines` are in [`price`] and [`targets`], that of `outcomes` in [`outcomes`].

mod body;
mod index;
pub mod outcomes;
pub mod price;
mod read;
mod run;
mod score;
mod session;
pub mod targets;

pub use body::{BodyPolicy, read_body};
pub use price::{CacheAssumption, Pricing};
pub use read::{Loaded, ReadSessionError, Unreadable, read_bytes, read_path};
pub use run::{Progress, replay};
pub use score::{
    Policy, Pruned, PrunedMessage, PrunedPart, Run, SessionScore, Step, Totals, replay_session,
    trace,
};
pub use session::{Message, Part, PartKind, Role, Session, ToolCall};
