//! Conversations to test with, and judges of what became of them. For tests, fuzzing, benchmarks
//! and demonstrations; nothing that ships depends on it.
//!
//! - [`Recipe`]: bytes that decide everything about a conversation. Property tests, fuzz targets and
//!   seeded runs all feed the same generator, so what one of them finds the others can replay.
//! - [`Conversation`]: dialect-neutral; [`Conversation::json`] gives its shape in a dialect and
//!   [`Spelling`] decides how that JSON is written.
//! - [`session`]: conversations that look like real traffic.
//! - [`accept`] and [`invariants`]: judges that parse with serde_json and know none of the engine's
//!   own rules.

pub mod accept;
mod choices;
mod conversation;
mod dice;
mod generate;
pub mod invariants;
mod json;
mod marks;
pub mod policies;
mod raw;
pub mod recipe;
pub mod session;
mod spelling;
pub mod targets;
mod text;
mod wire;

pub use conversation::{
    Call, Conversation, Media, Part, ResultContent, Thinking, ToolResult, Turn,
};
pub use dice::Dice;
pub use json::Json;
pub use raw::{RawRequest, blocks_in};
pub use recipe::{Mode, Recipe};
pub use spelling::Spelling;
