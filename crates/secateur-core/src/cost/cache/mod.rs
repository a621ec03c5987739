//! The provider's prompt cache: the one place that knows its rules.
//!
//! [`CacheRules`] says how the cache of a model works. [`Markers`] is what a body asks to be cached, and
//! `MarkerPattern` what its earlier requests must have asked for. `ConversationCache` follows the entries over the
//! requests of one conversation, by position; [`SimulatedCache`] does the same for any requests, by content.
//! [`BlockList`] cuts a body into the blocks that a cache compares.

mod blocks;
mod conversation;
mod entries;
mod hit;
mod markers;
mod members;
mod pattern;
mod read_blocks;
mod read_markers;
mod rules;
mod simulated;

pub use blocks::{Block, BlockList, BlockPlace};
pub(crate) use conversation::{ConversationCache, Prefix, Reach};
pub use entries::{Bill, deepest_hit};
pub use hit::{CacheHit, Cached, Covered};
pub(crate) use markers::marker_key;
pub use markers::{Life, Marker, Markers};
pub(crate) use pattern::{Anchor, MarkerPattern, Patterns};
pub(crate) use read_markers::last_tool;
pub use read_markers::markers;
pub use rules::{CacheKind, CachePrices, CacheRules};
pub use simulated::{Billed, SimulatedCache};
