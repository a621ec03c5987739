//! Ranks RAG context against the question: best first, and what has little to say on it goes.
//!
//! ## What it cuts
//! Chunks in the text of a user turn: runs of `<document>`, `<chunk>`, `<source>`, `<search_result>` or
//! `<context>` elements, numbered runs (`Document [3](Title: …)`, `[3] …`, `Source 3:`), blocks cut by
//! a repeated `---`, `***` or heading line; also text blocks that are one such chunk each. They are scored in process (no model call) against the
//! question in the same turn or, where that turn asks nothing, in the user turn after it. With
//! `in_tool_results`, also in results of tools that neither read, search nor edit files nor run commands (the
//! question is then the user's, with the string arguments of the call), and in documents whose source is plain text.
//! Text around the chunks stays byte for byte; chunks that stay keep their bytes, tags and numbers.
//!
//! ## When it stays out
//! Fewer than three chunks or no single clear delimiter (`ambiguous-chunks`); no question, or a task
//! about the whole context such as a summary (`no-question`); scores that do not differ. Documents with
//! citations on, and all other media, stay as they are.
//!
//! ## Example
//! Of 20 retrieved passages the 8 that hold most of the evidence stay, the best one first.
//!
//! Under rounds it is decided when the turn arrives, and stays. Idempotent with `order = "relevance"`:
//! chunks that are best first count as arranged before. With `"original"` each run may drop more.

mod arrange;
mod remembered;
#[cfg(test)]
mod tests;
mod user_turn;

use std::borrow::Cow;

use secateur_rank::chunks::{
    BlockRun, Chunks, MIN_CHUNKS, WhyNot, find_block_run, find_chunks, question_among,
};

use self::arrange::{Asked, Verdict, arrange, arrange_blocks};
use self::remembered::{Key, remembered};
use self::user_turn::{TextPart, UserTurn};
use super::{Strategy, Work};
use crate::options::options;
use crate::plan::context::PlanContext;
use crate::plan::draft::PartState;
use crate::plan::edit::{
    Arrangement, ChunkCount, CutReason, Effect, Piece, Plan, SkipReason, StrategyId, Target,
};
use crate::plan::guard::Reach;
use crate::read::view::{PartId, PartKind, TurnId};
use crate::tools::class::{ToolClass, searches_files};

/// How the chunks that stay are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChunkOrder {
    /// Best first.
    #[default]
    Relevance,
    /// In their original order.
    Original,
}

/// What chunks are scored by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChunkScorer {
    /// Words.
    Lexical,
    /// Words and likeness of meaning. The same as `lexical` in builds without the static table.
    #[default]
    Hybrid,
}

options! {
    /// Options of `low-rank-chunks`.
    pub struct LowRankChunks {
        /// How the chunks that stay are ordered: `relevance` (best first) or `original`.
        order: ChunkOrder = ChunkOrder::Relevance,
        /// Chunks under this share of the best chunk's score go, 0 to 1.
        min_score: f64 = 0.38,
        /// At least this many chunks stay, the best ones.
        min_keep: usize = 3,
        /// At least this share of the chunks stays, the best ones, 0 to 1; of more than 20 chunks, this share of 20.
        keep_share: f64 = 0.45,
        /// At most this many chunks stay; 0 is no limit. Wins over `min_keep` and `keep_share`.
        max_keep: usize = 0,
        /// Chunks stay, best first, until they hold this share of the total score (scores squared, so
        /// that one clear winner fills it soon and a flat ranking late), 0 to 1.
        keep_mass: f64 = 0.95,
        /// What chunks are scored by: `hybrid` (words and meaning) or `lexical` (words; twice as fast).
        scorer: ChunkScorer = ChunkScorer::Hybrid,
        /// Whether context in tool results and in plain text documents is ranked too.
        in_tool_results: bool = false,
        /// Whether the context of earlier questions is cut as it was when they were asked. Without it,
        /// what was cut once comes back with the next question.
        earlier_turns: bool = true,
    }
}

impl LowRankChunks {
    /// Its id.
    pub const ID: StrategyId = StrategyId("low-rank-chunks");
}

impl Strategy for LowRankChunks {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn may_touch(&self) -> Reach {
        Reach {
            last_user: true,
            system: false,
            documents: self.in_tool_results,
        }
    }

    fn work(&self) -> Work<'_> {
        Work::PerTurn(Box::new(|context, from| match from {
            Some(from) => self.plan_from(context, from),
            None => self.plan(context),
        }))
    }
}

impl LowRankChunks {
    fn plan(&self, context: &PlanContext<'_, '_>) -> Plan {
        let from = match self.earlier_turns {
            true => Some(TurnId(0)),
            // The turn before the last question may hold its context.
            false => context.last_user().map(|last| {
                let mut users = context.turns_from(TurnId(0)).rev();
                let before = users.find(|&turn| turn < last && context.is_user_authored(turn));
                before.unwrap_or(last)
            }),
        };
        let mut plan = from.map_or_else(Plan::default, |from| self.plan_from(context, from));
        if plan.edits.is_empty() && plan.skips.is_empty() {
            plan.leave(Some(Self::ID), Target::Request, SkipReason::NothingToCut);
        }
        plan
    }

    fn plan_from(&self, context: &PlanContext<'_, '_>, from: TurnId) -> Plan {
        let mut walk = Walk {
            options: self,
            context,
            plan: Plan::default(),
            waiting: None,
            asked: None,
        };
        for turn in context.turns_from(from) {
            if context.is_user_authored(turn) {
                walk.user_turn(turn);
            }
            if self.in_tool_results {
                walk.results(turn);
            }
        }
        walk.finish()
    }
}

/// From turn to turn.
struct Walk<'w, 's, 'a> {
    options: &'w LowRankChunks,
    context: &'w PlanContext<'s, 'a>,
    plan: Plan,
    /// A user turn with chunks that asked nothing.
    waiting: Option<UserTurn<'a>>,
    /// What the last user turn asked.
    asked: Option<String>,
}

impl<'a> Walk<'_, '_, 'a> {
    fn user_turn(&mut self, turn: TurnId) {
        let mut user_turn = self.read(turn);
        user_turn.ends_waiting = self.waiting.is_some();
        user_turn.is_shared |= self.options.in_tool_results || user_turn.ends_waiting;
        if self.options.in_tool_results {
            self.asked = Some(user_turn.question());
        }
        if !user_turn.has_chunks() {
            if let Some(waiting) = self.waiting.take() {
                let question = user_turn.question();
                self.rank(&waiting, Some(&question));
            }
        } else if user_turn.question().is_empty() {
            self.no_question();
            self.waiting = Some(user_turn);
        } else {
            self.no_question();
            self.rank(&user_turn, None);
        }
    }

    fn finish(mut self) -> Plan {
        self.no_question();
        self.plan
    }

    /// What waited for a question has none.
    fn no_question(&mut self) {
        let Some(user_turn) = self.waiting.take() else {
            return;
        };
        let target = Target::Turn(user_turn.turn);
        self.plan
            .leave(Some(LowRankChunks::ID), target, SkipReason::NoQuestion);
        for text_part in &user_turn.texts {
            let chunks = text_part.chunks.as_ref();
            let count = chunks.map(|chunks| whole(text_part.part, chunks.spans.len()));
            self.plan.chunks.extend(count);
        }
        if let Some(run) = &user_turn.run {
            let first = user_turn.texts[run.blocks.start].part;
            self.plan.chunks.push(whole(first, run.blocks.len()));
        }
    }

    /// The texts of a turn and the chunks in them. What could be context and is not clear is noted as left alone.
    fn read(&mut self, turn: TurnId) -> UserTurn<'a> {
        let mut user_turn = UserTurn {
            turn,
            texts: Vec::new(),
            run: None,
            is_shared: false,
            ends_waiting: false,
        };
        let mut doubtful = Vec::new();
        for part in self.context.parts(turn) {
            let is_document = self.context.kind(part) == PartKind::Media;
            let is_text = match self.context.kind(part) {
                PartKind::Text => true,
                PartKind::Media => self.options.in_tool_results,
                _ => false,
            };
            let text = match is_text {
                true => self.context.text(part),
                false => Cow::Borrowed(""),
            };
            let chunks = self.chunks(part, &text);
            if chunks == Err(Some(SkipReason::AmbiguousChunks)) {
                doubtful.push(Target::Part(part));
            }
            user_turn.texts.push(TextPart {
                part,
                text,
                chunks: chunks.ok(),
                is_document,
            });
        }
        if user_turn.texts.len() >= MIN_CHUNKS && !user_turn.has_chunks() {
            match self.block_run(&user_turn) {
                Ok(run) => {
                    doubtful.clear();
                    user_turn.run = Some(run);
                }
                Err(WhyNot::Ambiguous) => doubtful = vec![Target::Turn(turn)],
                Err(WhyNot::NoChunks | WhyNot::TooFew) => {}
            }
        }
        user_turn.is_shared = user_turn
            .texts
            .iter()
            .filter(|text| text.chunks.is_some())
            .count()
            > 1;
        for target in doubtful {
            let reason = SkipReason::AmbiguousChunks;
            self.plan.leave(Some(LowRankChunks::ID), target, reason);
        }
        user_turn
    }

    /// Text blocks of a turn that are one chunk each.
    fn block_run(&self, user_turn: &UserTurn<'a>) -> Result<BlockRun, WhyNot> {
        let block =
            |text_part: &TextPart<'a>| !text_part.is_document && self.is_untouched(text_part.part);
        let texts = user_turn
            .texts
            .iter()
            .map(|text_part| match block(text_part) {
                true => text_part.text.as_ref(),
                false => "",
            });
        find_block_run(&texts.collect::<Vec<_>>())
    }

    fn is_untouched(&self, part: PartId) -> bool {
        self.context.state(part) == PartState::Whole && !self.context.is_signed(part)
    }

    /// The chunks of an untouched text.
    fn chunks(&self, part: PartId, text: &str) -> Result<Chunks, Option<SkipReason>> {
        // A structured result has text and no text block: it could not be put together again.
        if !self.is_untouched(part) || self.context.text_blocks(part) == 0 {
            return Err(None);
        }
        find_chunks(text).map_err(|why| match why {
            WhyNot::NoChunks => None,
            WhyNot::TooFew | WhyNot::Ambiguous => Some(SkipReason::AmbiguousChunks),
        })
    }

    /// Ranks the chunks of a turn, against its own question or that of the turn after it.
    fn rank(&mut self, user_turn: &UserTurn<'a>, question: Option<&str>) {
        for (place, text_part) in user_turn.texts.iter().enumerate() {
            let Some(chunks) = &text_part.chunks else {
                continue;
            };
            let (before_it, after_it) = user_turn.beside(place..place + 1);
            let asked = Asked {
                given: question,
                beside: (&before_it, &after_it),
                is_document: text_part.is_document,
                // A document asks nothing.
                is_shared: match text_part.is_document {
                    true => user_turn.ends_waiting,
                    false => user_turn.is_shared,
                },
            };
            self.cut(text_part.part, &text_part.text, chunks, asked);
        }
        if let Some(run) = &user_turn.run {
            let (before, after) = user_turn.beside(run.blocks.clone());
            let question = question.unwrap_or_else(|| question_among(&before, &after));
            let blocks = &user_turn.texts[run.blocks.clone()];
            self.cut_blocks(blocks, run, question, user_turn.is_shared);
        }
    }

    /// Drops and reorders text blocks that are one chunk each.
    fn cut_blocks(
        &mut self,
        blocks: &[TextPart<'a>],
        run: &BlockRun,
        question: &str,
        is_shared: bool,
    ) {
        let texts: Vec<&str> = blocks
            .iter()
            .map(|text_part| text_part.text.as_ref())
            .collect();
        let parts: Vec<PartId> = blocks.iter().map(|text_part| text_part.part).collect();
        let (first, all) = (parts[0], parts.len());
        let key = Key::of(self.options, &texts, (question, is_shared));
        let arrange = || arrange_blocks(self.options, &texts, &run.spans, question, is_shared);
        match remembered(key, arrange) {
            Verdict::Stay => self.plan.chunks.push(whole(first, all)),
            Verdict::NoQuestion => self.nothing_asked(first, all),
            Verdict::Keep(order) => {
                let arranged = Arrangement {
                    texts: order.iter().map(|&at| parts[at]).collect(),
                    blocks: parts,
                };
                let (id, why) = (LowRankChunks::ID, CutReason::LowRankChunks);
                let edit = self.context.arrange(arranged, id, why);
                self.plan
                    .edits
                    .push(edit.with_effect(Effect::SelectsChunks));
                self.plan.chunks.push(ChunkCount {
                    part: first,
                    kept: order.len(),
                    dropped: all - order.len(),
                });
            }
        }
    }

    fn nothing_asked(&mut self, part: PartId, chunks: usize) {
        let (id, target) = (LowRankChunks::ID, Target::Part(part));
        self.plan.leave(Some(id), target, SkipReason::NoQuestion);
        self.plan.chunks.push(whole(part, chunks));
    }

    fn cut(&mut self, part: PartId, text: &str, chunks: &Chunks, asked: Asked<'_>) {
        let all = chunks.spans.len();
        let key = Key::of(self.options, &[text], asked);
        match remembered(key, || arrange(self.options, text, chunks, asked)) {
            Verdict::Stay => self.plan.chunks.push(whole(part, all)),
            Verdict::NoQuestion => self.nothing_asked(part, all),
            Verdict::Keep(order) => {
                let pieces = chunks.pieces(text.len(), &order);
                let pieces = pieces.into_iter().map(Piece::Keep).collect();
                let (id, why) = (LowRankChunks::ID, CutReason::LowRankChunks);
                let edit = self.context.rewrite(part, pieces, id, why);
                self.plan
                    .edits
                    .push(edit.with_effect(Effect::SelectsChunks));
                self.plan.chunks.push(ChunkCount {
                    part,
                    kept: order.len(),
                    dropped: all - order.len(),
                });
            }
        }
    }

    /// Ranks the chunks in a turn's results.
    fn results(&mut self, turn: TurnId) {
        for part in self.context.parts(turn) {
            let is_result = self.context.kind(part) == PartKind::Result;
            if !is_result || !self.context.may_shorten(part) || !self.is_retrieval(part) {
                continue;
            }
            let text = self.context.text(part);
            match self.chunks(part, &text) {
                Ok(chunks) => {
                    let question = self.asked_for(part, turn);
                    let asked = Asked {
                        given: Some(&question),
                        beside: ("", ""),
                        is_document: false,
                        is_shared: false,
                    };
                    self.cut(part, &text, &chunks, asked);
                }
                Err(Some(reason)) => {
                    let target = Target::Part(part);
                    self.plan.leave(Some(LowRankChunks::ID), target, reason);
                }
                Err(None) => {}
            }
        }
    }

    /// Results that show files, lines or names of files, or the output of commands are no retrieved context.
    /// `rg` in a shell counts as a search, but what a shell prints stays what it is.
    fn is_retrieval(&self, result: PartId) -> bool {
        let shows_files = matches!(
            self.context.tool_class(result),
            Some(ToolClass::Read | ToolClass::Edit | ToolClass::Command | ToolClass::Task)
        );
        let prints_lines = |name: Cow<'_, str>| {
            ToolClass::of(&name) == ToolClass::Command || searches_files(&name)
        };
        !shows_files && !self.context.tool_name(result).is_some_and(prints_lines)
    }

    /// What the user asked, and what the call asked for.
    fn asked_for(&mut self, result: PartId, turn: TurnId) -> String {
        if self.asked.is_none() {
            let mut earlier = self.context.turns_from(TurnId(0)).rev();
            let user = earlier.find(|&user| user < turn && self.context.is_user_authored(user));
            self.asked = Some(user.map_or_else(String::new, |user| self.read(user).question()));
        }
        let mut question = self.asked.clone().unwrap_or_default();
        if let Some(call) = self.context.call_of(result) {
            for words in self.context.string_args(call, &QUERY_KEYS) {
                question.push('\n');
                question.push_str(&words);
            }
        }
        question
    }
}

/// Arguments that say what is searched for.
const QUERY_KEYS: [&str; 8] = [
    "query",
    "q",
    "question",
    "search",
    "search_query",
    "input",
    "text",
    "prompt",
];

fn whole(part: PartId, kept: usize) -> ChunkCount {
    ChunkCount {
        part,
        kept,
        dropped: 0,
    }
}
