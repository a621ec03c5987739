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

#![deny(missing_docs)]

mod agent;
mod body;
mod conversation_cost;
mod find;
mod index;
pub mod outcomes;
mod policy;
pub mod price;
mod read;
mod records;

mod rounds;
mod run;
mod score;
mod session;
mod session_replay;
mod spending;
pub mod targets;

pub use agent::Agent;
pub use body::{BodyPolicy, read_body};
pub use conversation_cost::{Basis, ConversationCost, RequestCost};
pub use find::{Found, LogFolders, find_file, find_in};
pub use policy::{Policy, Pruned, PrunedMessage, PrunedPart, Run};
pub use price::{CacheAssumption, Pricing};
pub use read::{
    Loaded, ReadLimits, ReadSessionError, Source, Unreadable, agent_of_file, read_bytes, read_log,
    read_path,
};
pub use records::{Record, Records};
pub use rounds::{RoundPolicy, RoundsSoFar, SentBody};
pub use run::{Progress, fold_in_order, replay};
pub use score::{SessionScore, Totals};
pub use session::{Answer, Message, Origin, Part, PartKind, Role, Session, ToolCall, Usage};
pub use session_replay::{Measure, Replayed, Step, replay_session, replay_steps, trace};
pub use spending::{Line, SessionLine, Spending, SpendingSum, Unpriced};
