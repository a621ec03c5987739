//! Clearing a tool's output: the one place that chooses the words for it.

use std::borrow::Cow;

use crate::edit::{Edit, StrategyId, Why};
use crate::placeholder::{self, Cleared, Style};
use crate::scene::Scene;
use crate::view::PartId;

/// The words for cleared outputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'p> {
    pub(super) style: Style,
    /// The plain text; also stands where a description does not fit.
    pub(super) plain: &'p str,
}

impl Words<'_> {
    /// Whether the output was cleared by an earlier request: its text is these words already.
    pub(super) fn already_in(&self, scene: &Scene<'_, '_>, result: PartId) -> bool {
        let chars = scene.chars(result);
        let is_plain = || chars == self.plain.chars().count() && scene.text(result) == self.plain;
        let is_described = || {
            placeholder::may_be_described(chars) && placeholder::is_described(&scene.text(result))
        };
        is_plain() || is_described()
    }

    /// An edit that puts the words in the output's place.
    pub(super) fn clear(
        &self,
        scene: &Scene<'_, '_>,
        result: PartId,
        strategy: StrategyId,
        why: Why,
    ) -> Edit {
        let described = || scene.described(result, || describe(scene, result));
        self.put(described, scene, result, strategy, why)
    }

    /// The same for those who ask once for a result: nothing is kept for the next time.
    pub(super) fn clear_once(
        &self,
        scene: &Scene<'_, '_>,
        result: PartId,
        strategy: StrategyId,
        why: Why,
    ) -> Edit {
        self.put(|| describe(scene, result), scene, result, strategy, why)
    }

    fn put(
        &self,
        described: impl FnOnce() -> Option<Cow<'static, str>>,
        scene: &Scene<'_, '_>,
        result: PartId,
        strategy: StrategyId,
        why: Why,
    ) -> Edit {
        let words = match self.style {
            Style::Plain => None,
            Style::Described => described(),
        };
        let words = words.unwrap_or_else(|| Cow::Owned(self.plain.to_owned()));
        scene.replace(result, words, strategy, why)
    }
}

/// A description of an output, if one fits.
fn describe(scene: &Scene<'_, '_>, result: PartId) -> Option<Cow<'static, str>> {
    let tool = scene.tool_name(result);
    let usual = placeholder::USUAL_START_BYTES.into_iter();
    let mut starts = usual.map(|bytes| scene.text_start(result, bytes));
    let start = starts.find(|start| placeholder::has_first_line(start));
    let start = start.unwrap_or_else(|| scene.text_start(result, placeholder::MAX_START_BYTES));
    placeholder::describe(Cleared {
        tool: tool.as_deref(),
        is_error: scene.marks_errors().then(|| scene.is_error(result)),
        chars: scene.chars_before(result),
        start: &start,
    })
}
