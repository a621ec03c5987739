//! What a request read from the provider's cache, against what the cache rules predicted, and why it was less.

use secateur_core::internal::thousands;
use std::fmt;

use secateur_core::cost::cache::BlockPlace;
use secateur_core::report::CacheHit;
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// A read counts as a miss if it is lower than predicted by more than this many tokens…
const MIN_MISS_TOKENS: u64 = 1024;
/// …and by more than this share of the prediction.
const MIN_MISS_SHARE: f64 = 0.05;

/// What a client changed between two requests of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedPlace {
    /// A block of the prompt.
    Block(BlockPlace),
    /// The model: each has a cache of its own.
    Model,
}

impl fmt::Display for ChangedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block(place) => place.fmt(f),
            Self::Model => f.write_str("model"),
        }
    }
}

/// Why less was read from the cache than predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissCause {
    /// This request was cut where earlier ones were not, and the entry before the cut was not found.
    OurCut,
    /// The conversation was idle for longer than the provider keeps an entry.
    Expired {
        /// Seconds since the request before.
        idle_seconds: u64,
        /// Seconds that an entry is kept.
        kept_seconds: u64,
    },
    /// The client changed a block that it had sent before.
    ClientChange(ChangedPlace),
    /// The client changed its list of tools.
    ToolsChanged(BlockPlace),
    /// None of these is known to be the cause. The loss counts as ours.
    Unknown,
}

impl MissCause {
    /// Its name in logs, metrics and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OurCut => "our-cut",
            Self::Expired { .. } => "expired",
            Self::ClientChange(_) => "client-change",
            Self::ToolsChanged(_) => "tools-changed",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the unpruned request would have missed too.
    #[must_use]
    pub fn is_not_ours(self) -> bool {
        match self {
            Self::Expired { .. } | Self::ClientChange(_) | Self::ToolsChanged(_) => true,
            Self::OurCut | Self::Unknown => false,
        }
    }

    /// What the client changed, where it did.
    #[must_use]
    pub fn place(self) -> Option<ChangedPlace> {
        match self {
            Self::ClientChange(place) => Some(place),
            Self::ToolsChanged(place) => Some(ChangedPlace::Block(place)),
            Self::OurCut | Self::Expired { .. } | Self::Unknown => None,
        }
    }

    /// In words.
    #[must_use]
    pub fn describe(self) -> String {
        match self {
            Self::OurCut => {
                "the cut made by this request; the cache entry before it was not found".to_owned()
            }
            Self::Expired {
                idle_seconds,
                kept_seconds,
            } => format!(
                "the entry expired: {} since the request before, kept for {}",
                span(idle_seconds),
                span(kept_seconds)
            ),
            Self::ClientChange(place) => format!("the client changed {place}"),
            Self::ToolsChanged(place) => format!("the client changed its tool list at {place}"),
            Self::Unknown => "cause unknown, counted as ours".to_owned(),
        }
    }
}

/// Seconds below two minutes, else minutes.
fn span(seconds: u64) -> String {
    if seconds < 120 {
        format!("{seconds} s")
    } else {
        format!("{} min", seconds / 60)
    }
}

/// What a request read from the cache against what was predicted, and why it missed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheRead {
    /// Tokens that the rules predicted.
    pub predicted: u64,
    /// The same at this bill's own ratio of characters to tokens.
    pub expected: u64,
    /// Tokens that the provider billed as read.
    pub billed: u64,
    /// By which rule they were predicted.
    pub hit: CacheHit,
    /// Why clearly less was read; `None`: it was not.
    pub miss: Option<MissCause>,
}

impl CacheRead {
    /// By how much a read may differ from a prediction and still agree with it.
    pub(crate) fn tolerance(predicted: u64) -> u64 {
        MIN_MISS_TOKENS.max((predicted as f64 * MIN_MISS_SHARE) as u64)
    }

    /// Whether a read is clearly lower than predicted.
    pub(crate) fn is_miss(predicted: u64, billed: u64) -> bool {
        billed.saturating_add(Self::tolerance(predicted)) < predicted
    }

    /// One sentence: what was read, and by which rule or why not.
    #[must_use]
    pub fn describe(&self) -> String {
        let (billed, predicted) = (thousands(self.billed), thousands(self.predicted));
        match self.miss {
            Some(cause) => format!(
                "read {billed} of {predicted} predicted: {}",
                cause.describe()
            ),
            None if self.billed > self.expected.saturating_add(Self::tolerance(self.expected)) => {
                format!(
                    "read {billed}, {predicted} predicted: the cache held more than this conversation shows"
                )
            }
            None => format!("read {billed}: {}", self.hit.describe()),
        }
    }
}

impl Serialize for CacheRead {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = self.miss.and_then(MissCause::place);
        let mut out = serializer.serialize_struct("CacheRead", 6)?;
        out.serialize_field("predicted", &self.predicted)?;
        out.serialize_field("billed", &self.billed)?;
        out.serialize_field("hit", &self.hit)?;
        out.serialize_field("miss", &self.miss.map(MissCause::name))?;
        out.serialize_field("changed", &place.map(|place| place.to_string()))?;
        out.serialize_field("summary", &self.describe())?;
        out.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(predicted: u64, billed: u64, miss: Option<MissCause>) -> String {
        let hit = CacheHit::Marker { message: Some(12) };
        CacheRead {
            predicted,
            expected: predicted,
            billed,
            hit,
            miss,
        }
        .describe()
    }

    #[test]
    fn a_receipt_says_which_rule_applied_or_who_caused_the_miss() {
        assert_eq!(
            read(31_000, 31_092, None),
            "read 31,092: the marker reached an entry at message 12"
        );
        let system = ChangedPlace::Block(BlockPlace::Instructions(2));
        assert_eq!(
            read(86_309, 31_092, Some(MissCause::ClientChange(system))),
            "read 31,092 of 86,309 predicted: the client changed system[2]"
        );
        let tools = MissCause::ToolsChanged(BlockPlace::Tool(3));
        assert_eq!(
            read(86_309, 0, Some(tools)),
            "read 0 of 86,309 predicted: the client changed its tool list at tools[3]"
        );
        let expired = MissCause::Expired {
            idle_seconds: 425,
            kept_seconds: 300,
        };
        assert_eq!(
            read(9_000, 0, Some(expired)),
            "read 0 of 9,000 predicted: the entry expired: 7 min since the request before, kept for 5 min"
        );
        assert_eq!(
            read(0, 20_000, None),
            "read 20,000, 0 predicted: the cache held more than this conversation shows"
        );
    }

    #[test]
    fn what_the_client_changed_and_what_expired_is_not_ours() {
        let place = BlockPlace::Instructions(2);
        let expired = MissCause::Expired {
            idle_seconds: 400,
            kept_seconds: 300,
        };
        let changed = MissCause::ClientChange(ChangedPlace::Block(place));
        let tools = MissCause::ToolsChanged(BlockPlace::Tool(0));
        for cause in [expired, changed, tools] {
            assert!(cause.is_not_ours(), "{cause:?}");
        }
        assert!(!MissCause::OurCut.is_not_ours() && !MissCause::Unknown.is_not_ours());
    }

    #[test]
    fn small_differences_are_no_misses() {
        assert!(!CacheRead::is_miss(5_000, 3_976), "1,024 tokens");
        assert!(CacheRead::is_miss(5_000, 3_975));
        assert!(!CacheRead::is_miss(100_000, 95_000), "5 %");
        assert!(CacheRead::is_miss(100_000, 94_999));
        assert!(!CacheRead::is_miss(u64::MAX, u64::MAX));
    }

    #[test]
    fn the_json_has_the_cause_and_the_sentence() {
        let read = CacheRead {
            predicted: 9_000,
            expected: 9_000,
            billed: 0,
            hit: CacheHit::Prefix { message: Some(3) },
            miss: Some(MissCause::ClientChange(ChangedPlace::Model)),
        };
        let json = serde_json::to_value(read).unwrap();
        assert_eq!(json["miss"], "client-change");
        assert_eq!(json["changed"], "model");
        assert_eq!(json["hit"]["by"], "prefix");
        assert_eq!(
            json["summary"],
            "read 0 of 9,000 predicted: the client changed model"
        );
    }
}
