//! What a body asks to be cached.

use super::members::{members, string_member};
use super::rules::CacheKind;
use crate::read::view::PartId;
use secateur_json::Span;

/// How long a client asks an entry to be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Life {
    /// The provider's usual time.
    #[default]
    Usual,
    /// The longer time, at a higher price.
    Long,
    /// A time that this version does not know.
    Unknown,
}

/// A marker on a block of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The part that carries it.
    pub part: PartId,
    /// How long the entry is to be kept.
    pub life: Life,
    /// The marker's value as written.
    pub value: Span,
}

/// All markers of a body. A value of `null` is no marker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markers {
    /// On blocks of turns, in order.
    pub turns: Vec<Marker>,
    /// On definitions of tools or on instructions, in order.
    pub head: Vec<Life>,
    /// Whether the last of the instructions carries one of a known lifetime, so that an entry covers all of the head.
    pub covers_head: bool,
    /// At the top level of the body, which stands for the last block that can carry a marker: its life and value.
    pub top_level: Option<(Life, Span)>,
    /// In places that this version does not know, and further ones on one block.
    pub elsewhere: usize,
    /// Members of the marker's name whose value is `null`.
    pub nulls: usize,
    /// Parts whose block has a member of the marker's name, whatever its value, ascending.
    pub blocks_with_member: Vec<PartId>,
    /// Whether the provider's own breakpoint is switched off.
    pub only_explicit: bool,
}

impl Markers {
    /// How many of the places for markers are taken.
    #[must_use]
    pub fn count(&self) -> usize {
        self.turns.len() + self.head.len() + usize::from(self.top_level.is_some()) + self.elsewhere
    }

    /// Whether the body has a member of the marker's name anywhere.
    #[must_use]
    pub fn has_member(&self) -> bool {
        self.count() + self.nulls > 0
    }
}

/// The member that marks a block, for caches that know markers.
#[must_use]
pub(crate) fn marker_key(kind: CacheKind) -> Option<&'static str> {
    match kind {
        CacheKind::Marked => Some("cache_control"),
        CacheKind::Breakpoints => Some("prompt_cache_breakpoint"),
        CacheKind::Automatic | CacheKind::None => None,
    }
}

/// What a marker's value asks for; `None` if it is no marker.
pub(super) fn life(value: &str) -> Option<Life> {
    if value == "null" {
        return None;
    }
    if string_member(value, "mode").as_deref() == Some("explicit") {
        return Some(Life::Usual);
    }
    if string_member(value, "type").as_deref() != Some("ephemeral") {
        return Some(Life::Unknown);
    }
    let ttl = members(value, "ttl");
    Some(match ttl.first().map(|ttl| ttl.of(value)) {
        None | Some("\"5m\"" | "null") => Life::Usual,
        Some("\"1h\"") => Life::Long,
        Some(_) => Life::Unknown,
    })
}
