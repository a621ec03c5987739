//! Shortens the text that an edit replaced, in the arguments of its call.
//!
//! ## What it cuts
//! The old text of an edit (`old_string`, `old_str`) once the edit has worked and `after_requests`
//! requests have shown it: the file does not hold it any more. Its first `keep_chars` characters stay,
//! and a note says how many are left out. The new text and all other arguments stay as they are.
//!
//! ## When it stays out
//! Calls without a result, edits that failed (the model needs its text to try again), old texts of which
//! fewer than `min_chars` characters would go, and calls that are signed (Gemini).
//!
//! ## Example
//! `{"file_path":"a.go","old_string":"func retry(…900 characters…","new_string":"…"}` becomes
//! `{"file_path":"a.go","old_string":"func retry([... 860 more characters, replaced by this edit]","new_string":"…"}`
//!
//! Made for `cadence = "rounds"`. Idempotent: what stays is short.

use std::fmt::Write as _;

use super::{Strategy, Work};
use crate::options::options;
use crate::plan::context::PlanContext;
use crate::plan::draft::PartState;
use crate::plan::edit::{CutReason, Edit, Effect, StrategyId};
use crate::read::view::{PartId, PartKind};
use crate::strategy::IncrementalCuts;
use crate::tools::class::ToolClass;
use crate::tools::failure::may_be_failure;
use secateur_json::{JsonStr, escape_into};

options! {
    /// Options of `replaced-text`.
    pub struct ReplacedText {
        /// Requests that must have shown the edit.
        after_requests: usize = 1,
        /// Characters of an old text that stay.
        keep_chars: usize = 40,
        /// Fewest characters of an old text that go; at least 80.
        min_chars: usize = 100,
    }
}

/// Notes are shorter than this, so that what was shortened is never shortened again.
const MIN_CHARS: usize = 80;

/// Arguments that hold the text to be replaced.
const OLD_TEXT_KEYS: [&str; 2] = ["old_string", "old_str"];

impl ReplacedText {
    /// Its id.
    pub const ID: StrategyId = StrategyId("replaced-text");

    /// The arguments with a note in the place of these old texts; `None` if they are not long.
    fn shortened(&self, args: &str, old_texts: impl Iterator<Item = JsonStr>) -> Option<String> {
        let mut out = String::new();
        let mut copied = 0;
        for text in old_texts {
            let left_out = text.chars().saturating_sub(self.keep_chars);
            if left_out < self.min_chars.max(MIN_CHARS) {
                continue;
            }
            let start = text.decode_start(args, self.keep_chars.saturating_mul(4));
            let end = start.char_indices().nth(self.keep_chars);
            let kept = end.map_or(&*start, |(end, _)| &start[..end]);
            out.reserve(args.len());
            out.push_str(args.get(copied..text.quoted().start as usize)?);
            out.push('"');
            escape_into(kept, &mut out);
            // Writing to a string cannot fail.
            let _ = write!(
                out,
                "[... {left_out} more characters, replaced by this edit]\""
            );
            copied = text.quoted().end as usize;
        }
        out.push_str(args.get(copied..)?);
        (copied > 0).then_some(out)
    }
}

impl Strategy for ReplacedText {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn work(&self) -> Work<'_> {
        Work::PartByPart(Box::new(Edits(self)))
    }
}

impl ReplacedText {
    /// Whether this is the call of an edit that may be long enough.
    fn may_shorten(&self, context: &PlanContext<'_, '_>, call: PartId) -> bool {
        context.kind(call) == PartKind::Call
            && context.tool_class(call) == Some(ToolClass::Edit)
            && context.state(call) == PartState::Whole
            && context.args_chars(call) >= self.keep_chars + self.min_chars.max(MIN_CHARS)
    }

    /// Whether the edit was answered and shown often enough.
    fn is_due(&self, context: &PlanContext<'_, '_>, call: PartId) -> bool {
        let age = context
            .request()
            .saturating_sub(context.last_use(call).request);
        age as usize >= self.after_requests && context.result_of(call).is_some()
    }

    fn cut(&self, context: &PlanContext<'_, '_>, call: PartId) -> Option<Edit> {
        if !has_worked(context, call) {
            return None;
        }
        let args = context.args(call);
        let old_texts = context.call_args().texts(&args, call, &OLD_TEXT_KEYS)?;
        let with = self.shortened(&args, old_texts)?;
        Some(
            context
                .replace_args(call, with, Self::ID, CutReason::ReplacedText)
                .with_effect(Effect::KeepsShownText),
        )
    }
}

struct Edits<'o>(&'o ReplacedText);

impl IncrementalCuts for Edits<'_> {
    fn arrive(&mut self, context: &PlanContext<'_, '_>, part: PartId) -> bool {
        self.0.may_shorten(context, part)
    }

    fn is_due(&self, context: &PlanContext<'_, '_>, part: PartId) -> bool {
        self.0.is_due(context, part)
    }

    fn cut(&self, context: &PlanContext<'_, '_>, part: PartId) -> Option<Edit> {
        self.0.cut(context, part)
    }
}

/// Whether the call has a result, and that is no error.
fn has_worked(context: &PlanContext<'_, '_>, call: PartId) -> bool {
    let Some(result) = context.result_of(call) else {
        return false;
    };
    let start = context.text_start(result, 32);
    !context.is_error(result) && !may_be_failure(&start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::call_args::CallArgs;

    fn shortened(args: &str) -> Option<String> {
        let all = CallArgs::of_one(args);
        let old_texts = all.texts(args, PartId(0), &OLD_TEXT_KEYS)?;
        ReplacedText::default().shortened(args, old_texts)
    }

    #[test]
    fn the_old_text_keeps_its_start_and_everything_else_stays() {
        let old = "é\\n\\\"x\\\" ".repeat(60);
        let args = format!(r#"{{"file_path":"a.go", "old_string":"{old}","new_string":"{old}"}}"#);
        let out = shortened(&args).unwrap();
        let read: serde_json::Value = serde_json::from_str(&out).unwrap();
        let before: serde_json::Value = serde_json::from_str(&args).unwrap();
        assert_eq!(read["new_string"], before["new_string"]);
        assert!(out.starts_with(r#"{"file_path":"a.go", "old_string":"é\n"#));
        let text = before["old_string"].as_str().unwrap();
        let kept: String = text.chars().take(40).collect();
        let left_out = text.chars().count() - 40;
        assert_eq!(
            read["old_string"],
            format!("{kept}[... {left_out} more characters, replaced by this edit]")
        );
        assert_eq!(shortened(&out), None, "idempotent");
    }

    #[test]
    fn short_texts_and_what_is_no_object_stay() {
        let at_limit = "x".repeat(139);
        for args in [
            r#"{"old_string":"a","new_string":"b"}"#,
            &format!(r#"{{"old_string":"{at_limit}"}}"#),
            &format!(r#"{{"text":"{}"}}"#, "x".repeat(900)),
            &format!(r#"{{"edits":[{{"old_string":"{}"}}]}}"#, "x".repeat(900)),
            "*** Begin Patch",
            "{\"old_string\": \"cut off",
        ] {
            assert_eq!(shortened(args), None, "{args}");
        }
        let above = format!(r#"{{"old_string":"{at_limit}x"}}"#);
        assert!(shortened(&above).unwrap().len() < above.len());
    }
}
