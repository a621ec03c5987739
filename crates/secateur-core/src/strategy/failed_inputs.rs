//! Shortens the arguments of calls that failed some turns ago.
//!
//! ## What it cuts
//! Long values in the arguments of a call whose result is an error, once `after_turns` turns follow
//! that result. Keys and values of up to `keep_value_chars` stay; a longer string becomes a
//! note with its size; lists and objects are searched, and become a note if they stay long. The
//! arguments stay one JSON object. Arguments that are no JSON object become one with a note.
//!
//! ## When it stays out
//! Arguments under `min_chars`, calls without a result, calls that are signed (Gemini). A result is
//! an error if the client marked it as one (Anthropic `is_error`, Gemini `error`), or if its text
//! begins with one of `error_starts`, because the OpenAI dialects have no mark.
//!
//! ## Example
//! `{"path":"a.py","content":"…3,000 characters…"}` becomes
//! `{"path":"a.py","content":"[3000 characters removed: this call failed]"}`
//!
//! Idempotent: a note is a short value.

use super::{Strategy, Work};
use crate::options::options;
use crate::plan::context::PlanContext;
use crate::plan::draft::PartState;
use crate::plan::edit::{CutReason, Effect, Plan, SkipReason, StrategyId};
use crate::read::view::{PartId, PartKind, TurnId};
use crate::tools::failure::SURE_STARTS;
use secateur_json::{Cursor, JsonError, Kind};

options! {
    /// Options of `failed-inputs`.
    pub struct FailedInputs {
        /// Turns that must have come after the failed result.
        after_turns: usize = 4,
        /// Arguments with fewer characters than this stay.
        min_chars: usize = 400,
        /// Values of up to this many characters stay; at least 64.
        keep_value_chars: usize = 120,
        /// How the text of a failed result begins, for clients that do not mark it. Case counts.
        error_starts: Vec<String> = SURE_STARTS.map(String::from).to_vec(),
    }
}

/// Notes are shorter than this, so that they are kept like any short value.
const MIN_KEEP_VALUE_CHARS: usize = 64;

/// Deeper than this and arguments are left as they are.
const MAX_DEPTH: usize = 64;

impl FailedInputs {
    /// Its id.
    pub const ID: StrategyId = StrategyId("failed-inputs");

    fn failed(&self, context: &PlanContext<'_, '_>, result: PartId) -> bool {
        if context.is_error(result) {
            return true;
        }
        let Some(text) = context.decoded_chars(result) else {
            return false;
        };
        let mut starts = self.error_starts.iter();
        starts.any(|error| {
            let mut text = text.clone();
            !error.is_empty() && error.chars().all(|letter| text.next() == Some(letter))
        })
    }

    /// The arguments with notes in place of long values; `None` if nothing is long.
    fn shortened(&self, args: &str) -> Option<String> {
        let keep = self.keep_value_chars.max(MIN_KEEP_VALUE_CHARS);
        let mut cursor = Cursor::over(args, MAX_DEPTH);
        if cursor.peek() != Ok(Kind::Object) {
            return Some(format!("{{\"removed\":{}}}", note(args.chars().count())));
        }
        let mut out = String::new();
        let Ok(()) = shorten(&mut cursor, keep, &mut out) else {
            return Some(format!("{{\"removed\":{}}}", note(args.chars().count())));
        };
        (out.len() < args.len()).then_some(out)
    }
}

impl Strategy for FailedInputs {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn work(&self) -> Work<'_> {
        Work::Whole(Box::new(|context| self.plan(context)))
    }
}

impl FailedInputs {
    fn plan(&self, context: &PlanContext<'_, '_>) -> Plan {
        let turns: Vec<TurnId> = context.turns().collect();
        let old = turns.len().saturating_sub(self.after_turns);
        // A result with a turn index at or after this is too recent.
        let recent_from = turns.get(old).copied();
        let mut plan = Plan::default();
        for &turn in &turns {
            for call in context.parts(turn) {
                if context.kind(call) != PartKind::Call
                    || context.state(call) != PartState::Whole
                    || context.args_chars(call) < self.min_chars
                {
                    continue;
                }
                let Some(result) = context.result_of(call) else {
                    continue;
                };
                let is_recent = context
                    .turn_of(result)
                    .is_none_or(|turn| recent_from.is_some_and(|recent| turn >= recent));
                if is_recent || !self.failed(context, result) {
                    continue;
                }
                if let Some(with) = self.shortened(&context.args(call)) {
                    let edit = context
                        .replace_args(call, with, Self::ID, CutReason::FailedCall)
                        .with_effect(Effect::RemovesUnused);
                    plan.edits.push(edit);
                }
            }
        }
        if plan.edits.is_empty() {
            return Plan::skip(Self::ID, SkipReason::NothingToCut);
        }
        plan
    }
}

/// Writes the next value to `out`, with notes in place of what is long.
fn shorten(cursor: &mut Cursor<'_>, keep: usize, out: &mut String) -> Result<(), JsonError> {
    let body = cursor.body();
    let kind = cursor.peek()?;
    let mut ahead = cursor.fork();
    let whole = ahead.skip()?.of(body);
    if whole.chars().count() <= keep {
        cursor.skip()?;
        out.push_str(whole);
        return Ok(());
    }
    let from = out.len();
    match kind {
        Kind::String => {
            let text = cursor.string()?;
            out.push_str(&note(text.chars()));
        }
        Kind::Object => {
            out.push('{');
            let mut is_first = true;
            cursor.object(|cursor, key| {
                comma(&mut is_first, out);
                out.push_str(key.quoted().of(body));
                out.push(':');
                shorten(cursor, keep, out)
            })?;
            out.push('}');
            if out.len() - from > keep * 4 {
                out.truncate(from);
                out.push_str(&format!("{{\"removed\":{}}}", note(whole.chars().count())));
            }
        }
        Kind::Array => {
            out.push('[');
            let mut is_first = true;
            cursor.array(|cursor, _| {
                comma(&mut is_first, out);
                shorten(cursor, keep, out)
            })?;
            out.push(']');
            if out.len() - from > keep * 4 {
                out.truncate(from);
                out.push_str(&format!("[{}]", note(whole.chars().count())));
            }
        }
        Kind::Number | Kind::Bool | Kind::Null => {
            cursor.skip()?;
            out.push_str(whole);
        }
    }
    Ok(())
}

fn comma(is_first: &mut bool, out: &mut String) {
    if !std::mem::take(is_first) {
        out.push(',');
    }
}

fn note(chars: usize) -> String {
    format!("\"[{chars} characters removed: this call failed]\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_become_notes_and_everything_else_stays() {
        let long = "x\\n".repeat(200);
        let args = format!(
            r#"{{"path":"a.py","n":1.50,"deep":{{"text":"{long}","k":[true,null]}},"content":"{long}"}}"#
        );
        let out = FailedInputs::default().shortened(&args).unwrap();
        let note = "[400 characters removed: this call failed]";
        assert_eq!(
            out,
            format!(
                r#"{{"path":"a.py","n":1.50,"deep":{{"text":"{note}","k":[true,null]}},"content":"{note}"}}"#
            )
        );
        assert_eq!(FailedInputs::default().shortened(&out), None, "idempotent");
    }

    #[test]
    fn lists_that_stay_long_become_a_list_with_a_note() {
        let args = format!(r#"{{"edits":[{}1]}}"#, "12345,".repeat(300));
        let out = FailedInputs::default().shortened(&args).unwrap();
        assert!(out.starts_with(r#"{"edits":["["#), "{out}");
        assert!(serde_json::from_str::<serde_json::Value>(&out).is_ok());
    }

    #[test]
    fn what_is_no_object_becomes_one() {
        for args in ["*** Begin Patch".repeat(60), "{\"cut\": \"off".repeat(60)] {
            let out = FailedInputs::default().shortened(&args).unwrap();
            assert!(
                serde_json::from_str::<serde_json::Value>(&out)
                    .unwrap()
                    .is_object()
            );
        }
    }
}
