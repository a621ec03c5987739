//! What a strategy returns: edits, and skips with a reason.
//!
//! **Invariant:** a plan holds no removed text. Ranges point into decoded text; only text that the engine
//! adds is spelled out.

pub use secateur_condense::Piece;
use serde::{Deserialize, Serialize};

use crate::plan::summary::Want;
use crate::read::view::{PartId, TurnId};

/// A strategy's id: its file, its name in policies, its chip in the audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct StrategyId(pub &'static str);

impl std::fmt::Display for StrategyId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.0)
    }
}

/// One change to a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The turn goes.
    DropTurn(TurnId),
    /// The part goes; others stay in its turn.
    DropPart(PartId),
    /// The text of a part becomes these pieces, in this order.
    Rewrite(PartId, Vec<Piece>),
    /// The arguments of a call become this JSON text.
    ReplaceInput(PartId, String),
    /// A user turn with this text comes before the turn.
    InsertTurn(TurnId, String),
    /// Text blocks that follow each other in one turn come to hold fewer texts, or the same in another order.
    Arrange(Arrangement),
    /// A cache marker is added. It changes no content.
    Mark(Mark),
}

/// A cache marker that a client did not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Where it goes.
    pub place: MarkPlace,
    /// The member as written: `"cache_control":{"type":"ephemeral"}`.
    pub member: String,
    /// Whether the policy asks for it, so that it may make the body longer.
    pub is_asked_for: bool,
}

/// Where a marker goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkPlace {
    /// On the block of a part.
    Block(PartId),
    /// On the definition of a tool that begins at this byte.
    Tool(u32),
    /// At the top level of the body.
    Body,
}

/// Which texts a run of text blocks holds. One edit for all of them: half of it would lose a text or show
/// one twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrangement {
    /// The blocks, in their order. Blocks that are left over go.
    pub blocks: Vec<PartId>,
    /// The blocks whose texts stay, in the new order. None is named twice.
    pub texts: Vec<PartId>,
}

impl Action {
    /// Its name in reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::DropTurn(_) => "drop-turn",
            Self::DropPart(_) => "drop-part",
            Self::Rewrite(..) => "rewrite",
            Self::ReplaceInput(..) => "replace-input",
            Self::InsertTurn(..) => "insert-turn",
            Self::Arrange(_) => "arrange",
            Self::Mark(_) => "mark",
        }
    }
}

/// What an edit does to what the model sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Text goes that the model may miss.
    Removes,
    /// Text goes that the model has no use for: old thinking, arguments of calls that failed.
    RemovesUnused,
    /// Nothing goes but white space, padding, or lines that are shown elsewhere.
    KeepsContent,
    /// Chunks of a retrieved context go, and the others may move. The text may stay as long as it was, and nothing may be
    /// added to it.
    SelectsChunks,
    /// Text of a call goes that no note can point to.
    KeepsShownText,
    /// All goes but the lines that notes elsewhere point to.
    KeepsCitedLines,
    /// A cache marker is added.
    Marks,
}

/// An action with its author, its reason and its effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What changes.
    pub action: Action,
    /// Who wants it.
    pub strategy: StrategyId,
    /// Why.
    pub why: CutReason,
    /// What it does to what the model sees.
    pub effect: Effect,
    /// Characters of text that the target had.
    pub chars_before: usize,
    /// Characters of text that it has afterwards.
    pub chars_after: usize,
}

impl Edit {
    /// The same edit with another effect.
    pub(crate) fn with_effect(self, effect: Effect) -> Self {
        Self { effect, ..self }
    }

    /// Whether it may leave a text as long as it was, because it puts it in another order.
    #[must_use]
    pub fn reorders(&self) -> bool {
        self.effect == Effect::SelectsChunks
    }

    /// Whether it changes what the model reads.
    #[must_use]
    pub fn changes_content(&self) -> bool {
        !matches!(self.action, Action::Mark(_))
    }

    /// Bytes that a marker adds to the body.
    pub(crate) fn bytes_added(&self) -> usize {
        match &self.action {
            Action::Mark(mark) => mark.member.len() + 1,
            _ => 0,
        }
    }

    /// Bytes by which it may make the body longer: those of markers that a policy asks for.
    pub(crate) fn may_add_bytes(&self) -> usize {
        match &self.action {
            Action::Mark(mark) if mark.is_asked_for => self.bytes_added(),
            _ => 0,
        }
    }

    /// What it is about.
    #[must_use]
    pub fn target(&self) -> Target {
        match &self.action {
            Action::DropTurn(turn) | Action::InsertTurn(turn, _) => Target::Turn(*turn),
            Action::DropPart(part) | Action::Rewrite(part, _) | Action::ReplaceInput(part, _) => {
                Target::Part(*part)
            }
            Action::Arrange(arranged) => {
                let first = arranged.blocks.first();
                first.map_or(Target::Request, |part| Target::Part(*part))
            }
            Action::Mark(mark) => match mark.place {
                MarkPlace::Block(part) => Target::Part(part),
                MarkPlace::Tool(_) | MarkPlace::Body => Target::Request,
            },
        }
    }
}

/// Why something is cut. A closed list, so that reports can be counted and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CutReason {
    /// Lets the provider find the cached text before the first cut.
    KeepsCacheEntry,
    /// Lets the provider cache a conversation whose client did not ask for it.
    CachesConversation,
    /// An old result was cleared, but for the lines that later notes point to.
    ClearedAroundNotes,
    /// Between the head and the last turns, without a tool reference.
    MiddleTurn,
    /// A whole tool exchange between the head and the last turns.
    MiddleExchange,
    /// A tool result that is old and longer than its share of the window.
    OversizedToolResult,
    /// A tool result that is old while the window fills up.
    OldToolResult,
    /// A message that is old and long.
    LongMessage,
    /// The output of a tool that is not protected, older than the protected user turns.
    UnprotectedToolOutput,
    /// Older than the window of turns.
    OutsideWindow,
    /// Older than the window of turns, replaced by a summary.
    Summarized,
    /// Among the turns with the lowest score.
    Unimportant,
    /// Padding and repeated paths in a listing.
    ListingPadding,
    /// The lines were shown earlier.
    LinesStandAbove,
    /// Oversized when it arrived.
    LongArrival,
    /// The work has moved on from it.
    StaleResult,
    /// An edit put other text in its place.
    ReplacedText,
    /// Its signature covers bytes that this plan changes.
    ThinkingBoundToEdit,
    /// Arguments of a call that failed.
    FailedCall,
    /// Thinking of an older assistant turn.
    OldThinking,
    /// White space that says nothing.
    LooseWhitespace,
    /// RAG chunks with little to say on the question; those that stay, best first.
    LowRankChunks,
}

impl CutReason {
    /// In words.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::KeepsCacheEntry => "lets the provider find the cached text before the first cut",
            Self::CachesConversation => "lets the provider cache the conversation",
            Self::ClearedAroundNotes => "an old result, but for what later results point to",
            Self::MiddleTurn => "between the head and the last turns, no tool reference",
            Self::MiddleExchange => "a whole tool exchange between the head and the last turns",
            Self::OversizedToolResult => "an old tool result, longer than its share",
            Self::OldToolResult => "an old tool result while the window fills up",
            Self::LongMessage => "an old, long message",
            Self::UnprotectedToolOutput => "output of a tool that is not protected, not recent",
            Self::OutsideWindow => "older than the window of turns",
            Self::Summarized => "older than the window of turns, replaced by a summary",
            Self::Unimportant => "among the turns with the lowest score",
            Self::ListingPadding => "padding and repeated paths in a listing",
            Self::LinesStandAbove => "lines that were shown earlier",
            Self::LongArrival => "oversized when it arrived",
            Self::StaleResult => "the work has moved on from it",
            Self::ReplacedText => "an edit put other text in its place",
            Self::ThinkingBoundToEdit => "its signature covers bytes that this plan changes",
            Self::FailedCall => "arguments of a call that failed",
            Self::OldThinking => "thinking of an older assistant turn",
            Self::LooseWhitespace => "white space that says nothing",
            Self::LowRankChunks => "context with little to say on the question",
        }
    }
}

/// What a skip is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// The request as a whole.
    Request,
    /// One turn.
    Turn(TurnId),
    /// One part.
    Part(PartId),
}

/// Something that could have been cut and was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skip {
    /// What was left alone.
    pub target: Target,
    /// Whose edit it would have been; `None` for the engine's own decisions.
    pub strategy: Option<StrategyId>,
    /// Why not.
    pub reason: SkipReason,
}

/// Why something is left alone. A closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SkipReason {
    /// The mechanic is not switched on.
    NotOptedIn,
    /// Below the size and count thresholds.
    NotEligible,
    /// Another mechanic claimed the request.
    LostToPriority,
    /// Nothing in the request fits the strategy.
    NothingToCut,
    /// The provider holds earlier turns.
    HistoryIsElsewhere,
    /// The system prompt stays.
    SystemStays,
    /// What comes before the first user message stays.
    BeforeFirstUser,
    /// The last user message stays.
    LastUserStays,
    /// The last turn stays.
    LastTurnStays,
    /// A role or part of unknown kind stays.
    UnknownKind,
    /// Images, audio, documents and files stay.
    Media,
    /// Its call or its result is missing in the input: left as it is.
    BrokenPair,
    /// The other half of the tool exchange stays, so this half does.
    ExchangeStays,
    /// Its thinking or signature would become invalid.
    Signed,
    /// An open tool exchange needs thinking that the edit would make invalid.
    OpenExchangeNeedsThinking,
    /// Without it the provider would reject the order of turns.
    RoleOrder,
    /// The turn would be empty.
    WouldBeEmpty,
    /// The replacement is as long as what it replaces.
    NotSmaller,
    /// An earlier strategy, or an earlier request, edited it already.
    AlreadyEdited,
    /// A note that stays points to it.
    PointedTo,
    /// Fewer turns than are protected.
    TooFewTurns,
    /// The context is small against the model's window.
    ContextIsSmall,
    /// The policy keeps the outputs of this tool.
    ToolIsProtected,
    /// Less could be freed than makes it worth while.
    TooLittleToFree,
    /// Context that cannot be cut into at least three chunks in one clear way.
    AmbiguousChunks,
    /// There is context, and nothing that asks for a part of it.
    NoQuestion,
    /// The summary that would replace it is missing.
    SummaryIsMissing,
    /// The edit does not fit the body (a range inside a character, a part that cannot be cut).
    DoesNotFit,
}

impl SkipReason {
    /// In words.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::NotOptedIn => "not switched on",
            Self::NotEligible => "below the thresholds",
            Self::LostToPriority => "another mechanic claimed the request",
            Self::NothingToCut => "nothing to cut",
            Self::HistoryIsElsewhere => "the provider holds earlier turns",
            Self::SystemStays => "the system prompt stays",
            Self::BeforeFirstUser => "what comes before the first user message stays",
            Self::LastUserStays => "the last user message stays",
            Self::LastTurnStays => "the last turn stays",
            Self::UnknownKind => "of unknown kind",
            Self::Media => "holds media or a document",
            Self::BrokenPair => "its call or result is missing in the input",
            Self::ExchangeStays => "the other half of the tool exchange stays",
            Self::Signed => "signed",
            Self::OpenExchangeNeedsThinking => "an open tool exchange needs its thinking",
            Self::RoleOrder => "the provider would reject the order of turns",
            Self::WouldBeEmpty => "the turn would be empty",
            Self::NotSmaller => "the replacement is not smaller",
            Self::AlreadyEdited => "edited already",
            Self::PointedTo => "a note that stays points to it",
            Self::TooFewTurns => "fewer turns than are protected",
            Self::ContextIsSmall => "the context is small against the window",
            Self::ToolIsProtected => "the policy keeps this tool's outputs",
            Self::TooLittleToFree => "too little could be freed",
            Self::AmbiguousChunks => "no run of chunks with one clear delimiter",
            Self::NoQuestion => "nothing asks for a part of the context",
            Self::SummaryIsMissing => "the summary is not there",
            Self::DoesNotFit => "the edit does not fit the body",
        }
    }
}

/// How many chunks of a context an edit keeps and drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkCount {
    /// The part that holds the context.
    pub part: PartId,
    /// Chunks that stay.
    pub kept: usize,
    /// Chunks that go, if the part is edited.
    pub dropped: usize,
}

/// Edits and skips.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What changes.
    pub edits: Vec<Edit>,
    /// What was left alone, and why.
    pub skips: Vec<Skip>,
    /// Chunks of the contexts that were ranked.
    pub chunks: Vec<ChunkCount>,
    /// Summaries that are missing.
    pub wants: Vec<Want>,
    /// Thinking stays that is no longer valid: the request must let the provider drop it.
    pub drops_block: bool,
}

impl Plan {
    /// A plan that does nothing to the request, for this reason.
    #[must_use]
    pub fn skip(strategy: StrategyId, reason: SkipReason) -> Self {
        let mut plan = Self::default();
        plan.leave(Some(strategy), Target::Request, reason);
        plan
    }

    /// Notes that `target` is left alone.
    pub fn leave(&mut self, strategy: Option<StrategyId>, target: Target, reason: SkipReason) {
        self.skips.push(Skip {
            target,
            strategy,
            reason,
        });
    }
}
