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

mod agent;
mod body;
mod index;
pub mod outcomes;
pub mod price;
mod read;
mod records;
mod rounds;
mod run;
mod score;
mod session;
mod source;
mod spend;
pub mod targets;

pub use agent::Agent;
pub use body::{BodyPolicy, read_body};
pub use price::{CacheAssumption, Pricing};
pub use read::{
    Loaded, ReadLimits, ReadSessionError, Unreadable, agent_of_file, read_bytes, read_log,
    read_path,
};
pub use records::{Record, Records};
pub use rounds::{RoundPolicy, SentBody};
pub use run::{Progress, map_in_order, replay};
pub use score::{
    Measure, Policy, Pruned, PrunedMessage, PrunedPart, Replayed, Run, SessionScore, Step, Totals,
    replay_session, replay_steps, trace,
};
pub use session::{Answer, Message, Origin, Part, PartKind, Role, Session, ToolCall, Usage};
pub use source::{Found, LogFolders, Source, find_file, find_in};
pub use spend::{Basis, ConversationCost, Line, RequestCost, SessionLine, Spending, Unpriced};
