//! What a strategy sees: the view up to a turn, and what earlier strategies decided.
//!
//! **Invariant:** a strategy knows no dialect and sees nothing after the last visible turn, so its plan depends on
//! the visible turns alone.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};

use crate::plan::draft::Draft;
use crate::plan::draft::PartState;
use crate::plan::summary::{Found, Summaries, SummaryKey};
use crate::plan::timeline::{Ends, Timeline, Use};
use crate::read::view::{Exchanges, PartId, PartKind, Role, TurnId, View};
use crate::read::wire;
use crate::text::hash::QuickMap;
use crate::tools::call_args::CallArgs;
use crate::tools::class::ToolClass;
use crate::tools::facts::ToolFacts;
use secateur_json::{DecodedChars, DecodedLines, LineBuffer, Spelled};

/// What is known of the model that will read the request, resolved once from policy and table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelFacts {
    /// Context window in tokens.
    pub window_tokens: usize,
    /// Thinking blocks are bound to everything before them.
    pub thinking_is_bound: bool,
    /// Where thinking is bound: an open exchange's thinking may be left to the provider to drop.
    pub may_drop_block: bool,
}

/// What a strategy sees: the turns up to a request, and what earlier strategies decided.
#[derive(Clone, Copy, Debug)]
pub struct PlanContext<'s, 'a> {
    pub(crate) view: &'s View<'a>,
    pub(crate) exchanges: &'s Exchanges,
    pub(crate) timeline: &'s Timeline,
    pub(crate) call_args: &'s OnceCell<CallArgs>,
    pub(crate) facts: &'s OnceCell<ToolFacts>,
    pub(crate) described: &'s RefCell<QuickMap<PartId, Option<Cow<'static, str>>>>,
    pub(crate) draft: &'s Draft,
    pub(crate) model: ModelFacts,
    pub(crate) summaries: Option<&'s dyn Summaries>,
    pub(crate) visible: u32,
    pub(crate) request: u32,
    pub(crate) ends: Ends,
}

/// Bytes of the first characters of a text, of the last ones, and of all.
pub(crate) struct TextEnds {
    pub(crate) start_bytes: usize,
    pub(crate) end_bytes: usize,
    pub(crate) bytes: usize,
}

impl<'s, 'a> PlanContext<'s, 'a> {
    /// What is known of the model.
    #[must_use]
    pub fn model(&self) -> ModelFacts {
        self.model
    }

    /// What is known of a summary. Missing where nobody makes them.
    #[must_use]
    pub fn find_summary(&self, key: &SummaryKey) -> Found {
        self.summaries
            .map_or(Found::Missing, |summaries| summaries.find(key))
    }

    /// The visible turns that are still there, in order.
    pub fn turns(&self) -> impl DoubleEndedIterator<Item = TurnId> + use<'s> {
        self.turns_from(TurnId(0))
    }

    /// The visible turns from `from` on that are still there, in order.
    pub fn turns_from(&self, from: TurnId) -> impl DoubleEndedIterator<Item = TurnId> + use<'s> {
        let draft = self.draft;
        (from.0..self.visible)
            .map(TurnId)
            .filter(move |&turn| !draft.is_gone(turn))
    }

    /// The system texts outside the list of turns.
    pub fn system_parts(&self) -> impl Iterator<Item = PartId> + use<'s, 'a> {
        let view = self.view;
        view.part_ids()
            .filter(move |&part| view.part(part).turn.is_none())
    }

    /// Who speaks.
    #[must_use]
    pub fn role(&self, turn: TurnId) -> Role {
        self.view.turn(turn).role
    }

    /// The turn with which the last `count` assistant turns start. `None` with fewer assistant turns; after the last
    /// turn for 0.
    #[must_use]
    pub fn last_assistants_start(&self, count: usize) -> Option<TurnId> {
        let Some(skipped) = count.checked_sub(1) else {
            return Some(TurnId(u32::MAX));
        };
        let is_assistant = |turn: &TurnId| self.role(*turn) == Role::Assistant;
        self.turns().rev().filter(is_assistant).nth(skipped)
    }

    /// The parts of a turn that are still there.
    pub fn parts(&self, turn: TurnId) -> impl DoubleEndedIterator<Item = PartId> + use<'s> {
        let draft = self.draft;
        self.view
            .parts_of(turn)
            .filter(move |&part| draft.state(part) != PartState::Gone)
    }

    /// What a part is.
    #[must_use]
    pub fn kind(&self, part: PartId) -> PartKind {
        self.view.part(part).kind
    }

    /// What has become of a part so far.
    #[must_use]
    pub fn state(&self, part: PartId) -> PartState {
        self.draft.state(part)
    }

    /// Characters of a part's text after what was decided so far.
    #[must_use]
    pub fn chars(&self, part: PartId) -> usize {
        self.draft.chars(part)
    }

    /// The decoded text of a part, as received.
    #[must_use]
    pub fn text(&self, part: PartId) -> Cow<'a, str> {
        self.view.text(part)
    }

    /// The decoded text of a part as received, line by line.
    pub(crate) fn lines<'t>(&self, part: PartId, buffer: &'t mut LineBuffer) -> DecodedLines<'t>
    where
        'a: 't,
    {
        match self.view.literals(part) {
            [only] => buffer.decode(only.text, self.view.body()),
            _ => buffer.hold(self.view.text(part).into_owned()),
        }
    }

    /// The text of a part that is one literal, in place, if it is spelled as usual.
    pub(crate) fn spelled_as_usual(&self, part: PartId) -> Option<Spelled<'a>> {
        match self.view.literals(part) {
            [only] => only.text.spelled_as_usual(self.view.body()),
            _ => None,
        }
    }

    /// The decoded characters of a part whose text is one literal, without making the text.
    #[must_use]
    pub fn decoded_chars(&self, part: PartId) -> Option<DecodedChars<'a>> {
        match self.view.literals(part) {
            [only] => Some(only.text.decoded_chars(self.view.body())),
            _ => None,
        }
    }

    /// Both ends of a text that is one literal: the first and the last so many characters. Reads nothing
    /// else of it.
    pub(crate) fn text_ends(&self, part: PartId, first: usize, last: usize) -> Option<TextEnds> {
        match self.view.literals(part) {
            [only] => Some(TextEnds {
                start_bytes: only.text.bytes_of_chars(self.view.body(), first),
                end_bytes: only.text.bytes_of_last_chars(self.view.body(), last),
                bytes: only.text.decoded_len(),
            }),
            _ => None,
        }
    }

    /// Whether a text that is one literal ends with these words; `None` if that takes decoding it.
    pub(crate) fn text_ends_with(&self, part: PartId, words: &str) -> Option<bool> {
        match self.view.literals(part) {
            [only] => only.text.ends_with(self.view.body(), words),
            _ => None,
        }
    }

    /// Whether a part's text holds these words, which must be such that JSON does not escape them.
    /// Decodes nothing.
    #[must_use]
    pub fn mentions(&self, part: PartId, words: &str) -> bool {
        let mut literals = self.view.literals(part).iter();
        literals.any(|literal| {
            let raw = literal.text.raw(self.view.body());
            memchr::memmem::find(raw.as_bytes(), words.as_bytes()).is_some()
        })
    }

    /// Whether a part carries a signature or encrypted content.
    #[must_use]
    pub fn is_signed(&self, part: PartId) -> bool {
        self.view.part(part).is_signed
    }

    /// The beginning of a part's text as received, up to about `max_bytes`.
    #[must_use]
    pub fn text_start(&self, part: PartId, max_bytes: usize) -> Cow<'a, str> {
        self.view.text_start(part, max_bytes)
    }

    /// Characters of a part's text as received.
    #[must_use]
    pub fn chars_before(&self, part: PartId) -> usize {
        self.draft.chars_before(part)
    }

    /// A description of a result, which is made once for a body: it depends on the result alone.
    pub(crate) fn described(
        &self,
        result: PartId,
        describe: impl FnOnce() -> Option<Cow<'static, str>>,
    ) -> Option<Cow<'static, str>> {
        let mut described = self.described.borrow_mut();
        described.entry(result).or_insert_with(describe).clone()
    }

    /// The turn of a part; `None` for system texts outside the list of turns.
    #[must_use]
    pub fn turn_of(&self, part: PartId) -> Option<TurnId> {
        self.view.part(part).turn
    }

    /// Whether the client marked a result as failed.
    #[must_use]
    pub fn is_error(&self, result: PartId) -> bool {
        self.view.part(result).is_error
    }

    /// Whether a result holds images, documents or blocks of unknown kind.
    #[must_use]
    pub fn has_media(&self, result: PartId) -> bool {
        self.view.part(result).has_media
    }

    /// The name of the tool that a call calls or a result comes from.
    #[must_use]
    pub fn tool_name(&self, part: PartId) -> Option<Cow<'a, str>> {
        self.view
            .name(part)
            .or_else(|| self.view.name(self.exchanges.call_of(part)?))
    }

    /// What kind of tool a call or result is of; `None` if that is not known.
    #[must_use]
    pub fn tool_class(&self, part: PartId) -> Option<ToolClass> {
        self.tool_facts().class(part)
    }

    /// What calls and results are about.
    #[must_use]
    pub fn tool_facts(&self) -> &'s ToolFacts {
        self.facts
            .get_or_init(|| ToolFacts::of(self.view, self.exchanges, self.call_args()))
    }

    /// The arguments of calls.
    pub(crate) fn call_args(&self) -> &'s CallArgs {
        CallArgs::once(self.call_args, self.view)
    }

    /// Whether a user has named the file of this number.
    #[must_use]
    pub fn is_named(&self, file: usize) -> bool {
        self.tool_facts().is_named(file, self.visible)
    }

    /// The number of the present request, from 0.
    #[must_use]
    pub fn request(&self) -> u32 {
        self.request
    }

    /// How many messages of a user there are.
    #[must_use]
    pub fn user_turns(&self) -> u32 {
        self.timeline.user_turns(self.visible)
    }

    /// When a part arrived, or when a note last pointed to it.
    #[must_use]
    pub fn last_use(&self, part: PartId) -> Use {
        let first = self
            .view
            .part(part)
            .turn
            .map(|turn| self.timeline.first_use(turn));
        let first = first.unwrap_or(Use {
            request: 0,
            user_turns: 0,
        });
        self.draft.last_use(part).unwrap_or(first)
    }

    /// Whether an untouched result may be shortened at all.
    pub(crate) fn may_shorten(&self, result: PartId) -> bool {
        let part = self.view.part(result);
        let is_text = !part.has_media && !part.is_signed;
        is_text
            && self.exchanges.call_of(result).is_some()
            && self.state(result) == PartState::Whole
    }

    /// The top-level string arguments of a call that have one of these names.
    #[must_use]
    pub fn string_args(&self, call: PartId, keys: &[&str]) -> Vec<String> {
        let args = self.args(call);
        let texts = self.call_args().texts(&args, call, keys);
        let texts = texts.into_iter().flatten();
        texts.map(|text| text.decode(&args).into_owned()).collect()
    }

    /// The call that a result answers.
    #[must_use]
    pub fn call_of(&self, result: PartId) -> Option<PartId> {
        self.exchanges.call_of(result)
    }

    /// The first result of a call, where it is visible.
    #[must_use]
    pub fn result_of(&self, call: PartId) -> Option<PartId> {
        let result = self.exchanges.result_of(call)?;
        (self.view.part(result).turn?.0 < self.visible).then_some(result)
    }

    /// A call's arguments as JSON text.
    #[must_use]
    pub fn args(&self, call: PartId) -> Cow<'a, str> {
        self.view.args(call)
    }

    /// Characters of a call's arguments as sent.
    #[must_use]
    pub fn args_chars(&self, call: PartId) -> usize {
        self.view.args_chars(call)
    }

    /// Characters of a call's arguments as a compact JSON writer spells them.
    #[must_use]
    pub fn compact_args_chars(&self, call: PartId) -> usize {
        self.call_args().compact_chars(self.view, call)
    }

    /// How many text blocks a part has in the incoming body. Between two of them its text has a newline.
    #[must_use]
    pub fn text_blocks(&self, part: PartId) -> usize {
        self.view.text_blocks(part)
    }

    /// Bytes of a turn as sent.
    #[must_use]
    pub fn turn_bytes(&self, turn: TurnId) -> usize {
        self.view.turn_span(turn).len()
    }

    /// Bytes that a new user turn with this text takes.
    #[must_use]
    pub fn user_turn_bytes(&self, text: &str) -> usize {
        let mut escaped = String::with_capacity(text.len());
        secateur_json::escape_into(text, &mut escaped);
        wire::user_turn(self.view.dialect(), &escaped).len() + ",".len()
    }

    /// Whether the turn carries a call or a result.
    #[must_use]
    pub fn touches_tools(&self, turn: TurnId) -> bool {
        self.view.touches_tools(turn)
    }

    /// Whether a user wrote the turn (it is not only tool results).
    #[must_use]
    pub fn is_user_authored(&self, turn: TurnId) -> bool {
        self.view.is_user_authored(turn)
    }

    /// The first visible turn that a user wrote.
    #[must_use]
    pub fn first_user(&self) -> Option<TurnId> {
        self.ends.first_user
    }

    /// The last visible turn that a user wrote.
    #[must_use]
    pub fn last_user(&self) -> Option<TurnId> {
        self.ends.last_user
    }

    /// The first turn of the unit of tied tool exchanges that a turn belongs to.
    #[must_use]
    pub fn unit(&self, turn: TurnId) -> TurnId {
        self.exchanges.unit(turn)
    }

    /// A selection of turns (index: turn) with none selected.
    #[must_use]
    pub fn no_turns(&self) -> Vec<bool> {
        vec![false; self.view.turns().len()]
    }
}
