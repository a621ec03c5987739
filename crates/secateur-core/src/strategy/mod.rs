//! The strategies of M7: one file each, named after what it removes.
//!
//! **Invariant:** a strategy is a pure function of its options and the context. It cannot fail, and it
//! knows no dialect.

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
mod padded_listings;
mod repeated_lines;
mod replaced_text;
mod stale_results;
mod summarized_turns;
#[cfg(test)]
mod tests;
mod turns_outside_window;
mod unimportant_turns;
mod unprotected_tool_outputs;

pub use crate::options::OptionFact;
pub use crate::tools::class::ToolClass;
pub use crate::tools::names::ToolNames;
pub use failed_inputs::FailedInputs;
pub use long_arrivals::LongArrivals;
pub use long_messages::LongMessages;
pub use loose_whitespace::LooseWhitespace;
pub use low_rank_chunks::{ChunkOrder, ChunkScorer, LowRankChunks};
pub use middle_turns::MiddleTurns;
pub use old_thinking::OldThinking;
pub use old_tool_results::{HardClear, Mode, OldToolResults, SoftTrim};
pub use padded_listings::PaddedListings;
pub use repeated_lines::RepeatedLines;
pub use replaced_text::ReplacedText;
pub use stale_results::StaleResults;
pub use summarized_turns::{OnMiss, SummarizedTurns, Summary};
pub use turns_outside_window::TurnsOutsideWindow;
pub use unimportant_turns::UnimportantTurns;
pub use unprotected_tool_outputs::UnprotectedToolOutputs;

use crate::arrival::Arrivals;
use crate::plan::context::PlanContext;
use crate::plan::edit::{Edit, Plan, SkipReason, StrategyId};
use crate::plan::guard::Reach;
use crate::read::view::PartId;
use crate::read::view::TurnId;

/// Something that plans cuts.
pub trait Strategy: std::fmt::Debug + Send + Sync {
    /// Its id.
    fn id(&self) -> StrategyId;

    /// Texts that it may rewrite and others may not.
    fn may_touch(&self) -> Reach {
        Reach::default()
    }

    /// When it works, and how.
    fn work(&self) -> Work<'_>;
}

/// Plans the turns from one on; `None`: all of them.
type PlanTurns<'s> = Box<dyn Fn(&PlanContext<'_, '_>, Option<TurnId>) -> Plan + 's>;

/// Plans a conversation.
type PlanAll<'s> = Box<dyn Fn(&PlanContext<'_, '_>) -> Plan + 's>;

/// When a strategy works, and how.
#[expect(
    missing_debug_implementations,
    reason = "closures have nothing to show"
)]
pub enum Work<'s> {
    /// It shortens results when they arrive.
    OnArrival(Box<dyn Arrivals + 's>),
    /// It decides about a turn when the turn arrives; under rounds that decision stays. Plans the turns from the given
    /// one on, or all of them at once.
    PerTurn(PlanTurns<'s>),
    /// It cuts each part for itself, at its time: at every request, or in a round.
    PartByPart(Box<dyn IncrementalCuts + 's>),
    /// It plans the whole conversation: at every request, or in a round.
    Whole(PlanAll<'s>),
}

impl Work<'_> {
    /// Whether its cuts are parts of rounds, as opposed to what is decided on arrival.
    pub(crate) fn is_for_rounds(&self) -> bool {
        matches!(self, Self::PartByPart(_) | Self::Whole(_))
    }
}

/// A strategy's memory of what has arrived, for strategies that cut each part for itself.
pub trait IncrementalCuts {
    /// Takes in a part that has just arrived. Returns whether it may be cut at a later request.
    fn arrive(&mut self, context: &PlanContext<'_, '_>, part: PartId) -> bool;

    /// A note of the present request points to the part.
    fn use_again(&mut self, _context: &PlanContext<'_, '_>, _part: PartId) {}

    /// Whether the time has come to cut the part. Not asked at the request with which it arrives, and what
    /// takes a part's text must not be due then.
    fn is_due(&self, context: &PlanContext<'_, '_>, part: PartId) -> bool;

    /// The cut of a part that is due, which is the same at every request; `None` if it is never cut.
    fn cut(&self, context: &PlanContext<'_, '_>, part: PartId) -> Option<Edit>;
}

/// What a strategy would cut at the present request, planned from scratch. What works on arrival plans nothing.
pub(crate) fn plan(strategy: &dyn Strategy, context: &PlanContext<'_, '_>) -> Plan {
    match strategy.work() {
        Work::OnArrival(_) => Plan::default(),
        Work::PerTurn(plan) => plan(context, None),
        Work::PartByPart(mut cuts) => plan_part_by_part(strategy.id(), &mut *cuts, context),
        Work::Whole(plan) => plan(context),
    }
}

/// The cuts of all parts that are due.
fn plan_part_by_part(
    id: StrategyId,
    cuts: &mut dyn IncrementalCuts,
    context: &PlanContext<'_, '_>,
) -> Plan {
    let parts = context.turns().flat_map(|turn| context.parts(turn));
    let mut open: Vec<PartId> = parts.filter(|&part| cuts.arrive(context, part)).collect();
    open.retain(|&part| context.state(part).is_shown() && cuts.is_due(context, part));
    let edits = open.into_iter().filter_map(|part| cuts.cut(context, part));
    let plan = Plan {
        edits: edits.collect(),
        ..Plan::default()
    };
    match plan.edits.is_empty() {
        true => Plan::skip(id, SkipReason::NothingToCut),
        false => plan,
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
    "failed_inputs.rs" failed_inputs: FailedInputs,
    "old_thinking.rs" old_thinking: OldThinking,
}
