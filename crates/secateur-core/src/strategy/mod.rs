//! The strategies of M7: one file each, named after what it removes.
//!
//! **Invariant:** a strategy is a pure function of its options and the scene. It cannot fail, and it
//! knows nothing of bytes, JSON or dialects.

#[cfg(test)]
mod bodies;
mod cleared;
mod context_size;
mod digest;
mod failed_inputs;
mod head_and_tail;
mod long_arrivals;
mod long_messages;
mod loose_whitespace;
mod low_rank_chunks;
mod middle_turns;
mod old_thinking;
mod old_tool_results;
mod options;
mod padded_listings;
pub(crate) mod patch;
mod pointer_notes;
#[cfg(test)]
mod properties;
mod repeated_lines;
mod repeated_results;
mod replaced_text;
pub(crate) mod script;
pub(crate) mod shell_line;
mod stale_results;
mod summarized_turns;
mod superseded_reads;
pub(crate) mod tool_class;
mod tool_names;
mod turns_outside_window;
mod unimportant_turns;
mod unprotected_tool_outputs;

pub use failed_inputs::FailedInputs;
pub use long_arrivals::LongArrivals;
pub use long_messages::LongMessages;
pub use loose_whitespace::LooseWhitespace;
pub use low_rank_chunks::{ChunkOrder, ChunkScorer, LowRankChunks};
pub use middle_turns::MiddleTurns;
pub use old_thinking::OldThinking;
pub use old_tool_results::{HardClear, Mode, OldToolResults, SoftTrim};
pub use options::OptionFact;
pub(crate) use options::options;
pub use padded_listings::PaddedListings;
pub use repeated_lines::RepeatedLines;
pub use repeated_results::RepeatedResults;
pub use replaced_text::ReplacedText;
pub use stale_results::StaleResults;
pub use summarized_turns::{OnMiss, SummarizedTurns, Summary};
pub use superseded_reads::SupersededReads;
pub use tool_class::ToolClass;
pub use tool_names::ToolNames;
pub use turns_outside_window::TurnsOutsideWindow;
pub use unimportant_turns::UnimportantTurns;
pub use unprotected_tool_outputs::UnprotectedToolOutputs;

use crate::arrival::Arrivals;
use crate::edit::{Plan, StrategyId};
use crate::outlook::Prospects;
use crate::scene::Scene;
use crate::view::TurnId;

/// Something that plans cuts.
pub trait Strategy: std::fmt::Debug + Send + Sync {
    /// Its id.
    fn id(&self) -> StrategyId;

    /// What it would cut.
    fn plan(&self, scene: &Scene<'_, '_>) -> Plan;

    /// How it shortens results when they arrive, if it does. Such a strategy plans nothing else.
    fn arrivals(&self) -> Option<Box<dyn Arrivals + '_>> {
        None
    }

    /// Whether it decides about a turn when the turn arrives, so that under rounds the decision stays
    /// and is never a part of a round. Such a strategy plans with [`Strategy::plan_from`].
    fn decides_on_arrival(&self) -> bool {
        false
    }

    /// What it would cut in the turns from `from` on.
    fn plan_from(&self, scene: &Scene<'_, '_>, _from: TurnId) -> Plan {
        self.plan(scene)
    }

    /// What it could cut in a round, if it cuts each part for itself.
    fn prospects(&self) -> Option<Box<dyn Prospects + '_>> {
        None
    }

    /// Whether it may rewrite text of the last user message (which always stays).
    fn edits_last_user(&self) -> bool {
        false
    }

    /// Whether it may rewrite documents that are plain text (which are never dropped).
    fn edits_documents(&self) -> bool {
        false
    }

    /// Whether it may rewrite system texts (which are never dropped).
    fn edits_system(&self) -> bool {
        false
    }
}

/// A strategy as it is shown to people.
#[derive(Clone, Copy, Debug)]
pub struct StrategyFacts {
    /// Its id.
    pub id: StrategyId,
    source: &'static str,
    /// Its options.
    pub options: &'static [OptionFact],
}

impl StrategyFacts {
    /// The documentation at the top of its file, as Markdown.
    #[must_use]
    pub fn about(&self) -> String {
        let lines = self
            .source
            .lines()
            .map_while(|line| line.strip_prefix("//!"));
        let lines: Vec<&str> = lines
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .collect();
        lines.join("\n")
    }

    /// The first sentence of it.
    #[must_use]
    pub fn summary(&self) -> String {
        let about = self.about();
        about
            .split("\n\n")
            .next()
            .unwrap_or_default()
            .replace('\n', " ")
    }
}

/// What is known of M3, which is a mechanic of its own and not in the list of M7.
pub const COMPRESS: StrategyFacts = StrategyFacts {
    id: LooseWhitespace::ID,
    source: include_str!("loose_whitespace.rs"),
    options: LooseWhitespace::OPTIONS,
};

/// The one list of strategies: file, type and id. Everything else that enumerates them comes from
/// here.
macro_rules! strategies {
    ($($file:literal $field:ident: $kind:ident,)*) => {
        /// What is known of every strategy, in the order in which they are listed to people.
        pub const ALL: &[StrategyFacts] = &[
            $(StrategyFacts { id: $kind::ID, source: include_str!($file), options: $kind::OPTIONS },)*
        ];

        /// The options of every strategy. Each table of a policy is named by the strategy's id.
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, rename_all = "kebab-case")]
        pub struct Options {
            $(
                #[doc = concat!("See [`", stringify!($kind), "`].")]
                pub $field: $kind,
            )*
        }

        impl Options {
            /// The strategy of that id, with these options.
            #[must_use]
            pub fn strategy(&self, id: &str) -> Option<&dyn Strategy> {
                $(if id == $kind::ID.0 { return Some(&self.$field); })*
                None
            }
        }
    };
}

strategies! {
    "middle_turns.rs" middle_turns: MiddleTurns,
    "low_rank_chunks.rs" low_rank_chunks: LowRankChunks,
    "old_tool_results.rs" old_tool_results: OldToolResults,
    "long_messages.rs" long_messages: LongMessages,
    "unprotected_tool_outputs.rs" unprotected_tool_outputs: UnprotectedToolOutputs,
    "turns_outside_window.rs" turns_outside_window: TurnsOutsideWindow,
    "summarized_turns.rs" summarized_turns: SummarizedTurns,
    "unimportant_turns.rs" unimportant_turns: UnimportantTurns,
    "padded_listings.rs" padded_listings: PaddedListings,
    "repeated_lines.rs" repeated_lines: RepeatedLines,
    "long_arrivals.rs" long_arrivals: LongArrivals,
    "stale_results.rs" stale_results: StaleResults,
    "replaced_text.rs" replaced_text: ReplacedText,
    "repeated_results.rs" repeated_results: RepeatedResults,
    "superseded_reads.rs" superseded_reads: SupersededReads,
    "failed_inputs.rs" failed_inputs: FailedInputs,
    "old_thinking.rs" old_thinking: OldThinking,
}
