//! Clearing a tool's output: the one place that chooses the words for it.

use std::borrow::Cow;

use crate::plan::context::PlanContext;
use crate::plan::edit::{CutReason, Edit, StrategyId};
use crate::plan::placeholder::{
    self, Cleared, MAX_OUTCOME_CHARS, Style, Subject, USUAL_OUTCOME_CHARS,
};
use crate::read::view::PartId;
use crate::tools::class::{COMMAND_KEYS, ToolClass};
use crate::tools::script;
use secateur_condense::harness::first_line;
use secateur_condense::{Outcome, outcome};

/// The words for cleared outputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'p> {
    pub(super) style: Style,
    /// The plain text; also used where a description does not fit.
    pub(super) plain: &'p str,
}

impl Words<'_> {
    /// Whether the output was cleared by an earlier request: its text is these words already.
    pub(super) fn already_in(&self, context: &PlanContext<'_, '_>, result: PartId) -> bool {
        let chars = context.chars(result);
        let is_plain = || chars == self.plain.chars().count() && context.text(result) == self.plain;
        let is_described =
            || placeholder::may_be_note(chars) && placeholder::is_note(&context.text(result));
        is_plain() || is_described()
    }

    /// An edit that puts the words in the output's place.
    pub(super) fn clear(
        &self,
        context: &PlanContext<'_, '_>,
        result: PartId,
        strategy: StrategyId,
        why: CutReason,
    ) -> Edit {
        let described = || context.described(result, || describe(context, result));
        self.put(described, context, result, strategy, why)
    }

    /// The edit for a result that is asked about once: nothing is kept for the next time.
    pub(super) fn clear_once(
        &self,
        context: &PlanContext<'_, '_>,
        result: PartId,
        strategy: StrategyId,
        why: CutReason,
    ) -> Edit {
        self.put(|| describe(context, result), context, result, strategy, why)
    }

    fn put(
        &self,
        described: impl FnOnce() -> Option<Cow<'static, str>>,
        context: &PlanContext<'_, '_>,
        result: PartId,
        strategy: StrategyId,
        why: CutReason,
    ) -> Edit {
        let words = match self.style {
            Style::Plain => None,
            Style::Described => described(),
        };
        let words = words.unwrap_or_else(|| Cow::Owned(self.plain.to_owned()));
        context.replace(result, words, strategy, why)
    }
}

/// A note for an output, if one fits.
fn describe(context: &PlanContext<'_, '_>, result: PartId) -> Option<Cow<'static, str>> {
    let tool = context.tool_name(result);
    let runs_commands = tool.as_deref().map(ToolClass::of) == Some(ToolClass::Command);
    let class = context.tool_class(result);
    let named = context
        .call_of(result)
        .map(|call| Named::of(context, call, class));
    let named = named.unwrap_or_default();
    let reads_all = runs_commands || class == Some(ToolClass::Command);
    let quotes_start = !matches!(class, Some(ToolClass::Read | ToolClass::Search));
    let text = if reads_all || context.text_blocks(result) > 1 {
        context.text(result)
    } else if quotes_start {
        context.text_start(result, placeholder::MAX_START_BYTES)
    } else {
        Cow::Borrowed("")
    };
    let outcome = if reads_all {
        outcome(&text, USUAL_OUTCOME_CHARS, MAX_OUTCOME_CHARS)
    } else {
        Outcome::default()
    };
    let first_line = first_line(&text).filter(|_| quotes_start && outcome.lines.is_empty());
    placeholder::describe(&Cleared {
        tool: tool.as_deref(),
        subject: named.subject(class),
        is_error: context.is_error(result),
        chars: context.chars_before(result),
        outcome: &outcome.lines,
        is_report: outcome.is_report,
        first_line,
    })
}

/// What a call names.
#[derive(Default)]
struct Named<'a> {
    file: Option<Cow<'a, str>>,
    lines: Option<(u64, u64)>,
    /// A command line or a pattern.
    code: Option<Cow<'a, str>>,
}

/// Arguments that say what is searched for.
const PATTERN_KEYS: [&str; 5] = ["pattern", "query", "regex", "search", "path"];

impl<'a> Named<'a> {
    fn of(context: &PlanContext<'_, 'a>, call: PartId, class: Option<ToolClass>) -> Self {
        let args = context.call_args();
        let first = |keys: &[&str]| {
            let [text] = args.first_texts(context.view, call, [keys]);
            text
        };
        let is_free_text = !context.args(call).trim_start().starts_with('{');
        let command = || {
            let script = || script::first_command(&context.args(call)).map(Cow::Owned);
            let list = || {
                Some(Cow::Owned(
                    args.list(context.view, call, &COMMAND_KEYS)?.join(" "),
                ))
            };
            let free = || is_free_text.then(script).flatten();
            first(&COMMAND_KEYS).or_else(list).or_else(free)
        };
        let number = |keys: &[&str]| args.number(context.view, call, keys);
        let from = number(&["offset", "start_line"]);
        let to = number(&["end_line"]);
        let count = number(&["limit"]);
        let lines = match (from, to, count) {
            (Some(from), Some(to), _) => Some((from, to)),
            (from, None, Some(count)) if count > 0 => {
                let from = from.unwrap_or(1).max(1);
                Some((from, from.saturating_add(count - 1)))
            }
            _ => None,
        };
        let file = context
            .tool_facts()
            .path(call)
            .map(|path| Cow::Owned(path.to_owned()));
        let code = match class {
            Some(ToolClass::Search) => command().or_else(|| first(&PATTERN_KEYS)),
            _ => command(),
        };
        Self { file, lines, code }
    }

    fn subject(&self, class: Option<ToolClass>) -> Subject<'_> {
        let (file, code) = (self.file.as_deref(), self.code.as_deref());
        match (class, file) {
            (Some(ToolClass::Read), Some(file)) => Subject::File(file, self.lines),
            (Some(ToolClass::Read), None) if code.is_some() => Subject::Command(code),
            (Some(ToolClass::Command), _) => Subject::Command(code),
            (Some(ToolClass::Search), _) => Subject::Search(code),
            (Some(ToolClass::Edit), file) => Subject::Edit(file),
            (Some(ToolClass::Task), _) => Subject::Report,
            (Some(ToolClass::Read | ToolClass::Other) | None, _) => Subject::Other,
        }
    }
}
