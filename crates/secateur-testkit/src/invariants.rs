//! The promises of the engine, judged on one body and one policy.
//!
//! Bytes are cut by serde_json ([`RawRequest`]) and acceptance is judged by [`accept`], so a bug in
//! the engine's reader or in its own check does not hide itself. The plan says only *where* edits
//! are; that everything else is untouched is found out from the bytes.

use std::borrow::Cow;

use secateur_core::check::check;
use secateur_core::dialect::{self, DialectId};
use secateur_core::edit::{Action, Piece, Plan};
use secateur_core::json::Limits;
use secateur_core::report::{EngineError, Verdict};
use secateur_core::view::{Home, View};
use secateur_core::{Outcome, Request, models, prune};
use serde_json::Value;

use crate::accept::{self, Complaints};
use crate::policies::Named;
use crate::raw::{BlockKind, RawRequest, blocks_in};

/// What became of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The engine could not read it and gave it back.
    Unread,
    /// There was nothing to cut.
    Unchanged,
    /// It became smaller.
    Pruned,
}

macro_rules! demand {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

/// Prunes `body` and judges the result.
///
/// # Errors
/// The promise that was broken.
pub fn hold(dialect: DialectId, body: &[u8], named: &Named) -> Result<Fate, String> {
    let request = Request {
        dialect: Some(dialect),
        ..Request::default()
    };
    let outcome = prune(body, &request, &named.policy);
    let again = prune(body, &request, &named.policy);
    demand!(
        again.body == outcome.body && again.report == outcome.report,
        "two runs differ"
    );
    let sizes = (outcome.report.before.bytes, outcome.report.after.bytes);
    demand!(
        sizes == (body.len(), outcome.body.len()),
        "the report's sizes are wrong: {sizes:?}"
    );
    match (&outcome.body, &outcome.error) {
        (Cow::Borrowed(same), error) => {
            demand!(std::ptr::eq(*same, body), "unchanged, but another slice");
            demand!(
                outcome.report.verdict != Verdict::Pruned,
                "unchanged, but the verdict says pruned"
            );
            match error {
                None => Ok(Fate::Unchanged),
                Some(EngineError::Read(_)) => Ok(Fate::Unread),
                // The engine saved itself, but a guard let something through that it should not.
                Some(error) => Err(format!("gave up at the end: {error}")),
            }
        }
        (Cow::Owned(_), Some(error)) => Err(format!("changed in spite of {error}")),
        (Cow::Owned(out), None) => {
            judge(dialect, body, out, &outcome, named)?;
            if named.is_idempotent {
                let next = prune(out, &request, &named.policy);
                demand!(
                    matches!(next.body, Cow::Borrowed(_)),
                    "not idempotent: a second run edits {:?}",
                    next.report.plan.edits
                );
            }
            Ok(Fate::Pruned)
        }
    }
}

fn judge(
    dialect: DialectId,
    body: &[u8],
    out: &[u8],
    outcome: &Outcome<'_>,
    named: &Named,
) -> Result<(), String> {
    let report = &outcome.report;
    demand!(report.verdict == Verdict::Pruned, "changed, but not pruned");
    demand!(out.len() < body.len(), "not smaller");
    let first_edit_at = report.first_edit_at.ok_or("no first_edit_at")?;
    demand!(
        out.get(..first_edit_at) == body.get(..first_edit_at),
        "bytes before the first edit differ"
    );
    let before = RawRequest::cut(body, dialect).ok_or("the input has no list")?;
    let after = RawRequest::cut(out, dialect).ok_or("the output has no list")?;
    demand!(
        before.before == after.before,
        "bytes before the list differ"
    );
    demand!(
        before.behind == after.behind,
        "bytes behind the list differ"
    );
    demand!(
        before.members == after.members,
        "a top-level member differs"
    );
    demand!(!after.items.is_empty(), "no turn is left");
    demand!(
        after.items.len() == report.after.messages,
        "the report counts other messages"
    );
    items_survive(dialect, body, &before, &after, &report.plan)?;
    texts_survive(dialect, body, out, &report.plan)?;
    let drops_only = report
        .plan
        .edits
        .iter()
        .all(|edit| matches!(edit.action, Action::DropTurn(_) | Action::DropPart(_)));
    demand!(
        !drops_only || is_subsequence(out, body),
        "the output is not the input with bytes removed"
    );
    let edits_last_user = named
        .policy
        .strategies()
        .iter()
        .any(|strategy| strategy.edits_last_user());
    ends_survive(dialect, &before, &after, edits_last_user)?;
    untouchables_survive(dialect, &before, &after)?;
    thinking_is_whole_or_gone(dialect, &before, &after, first_edit_at)?;
    stays_acceptable(dialect, body, out)
}

/// Elements without an edit are there, byte for byte and in order.
fn items_survive(
    dialect: DialectId,
    body: &[u8],
    before: &RawRequest<'_>,
    after: &RawRequest<'_>,
    plan: &Plan,
) -> Result<(), String> {
    let view = dialect::read(body, dialect, &Limits::default()).map_err(|e| e.to_string())?;
    let starts: Vec<usize> = before
        .items
        .iter()
        .map(|item| before.offset(item))
        .collect();
    let item_at = |start: u32| {
        starts
            .binary_search(&(start as usize))
            .map_err(|_| "an item is not where the view has it")
    };
    // What stands at each place: the element itself, an edited one, or none.
    let mut fates: Vec<Option<bool>> = vec![Some(false); before.items.len()];
    let mut inserted = vec![0usize; before.items.len()];
    for edit in &plan.edits {
        match &edit.action {
            Action::DropTurn(turn) => {
                for seat in view.items_of(*turn) {
                    fates[item_at(seat.span.start)?] = None;
                }
            }
            Action::InsertTurn(turn, _) => inserted[item_at(view.turn_span(*turn).start)?] += 1,
            Action::DropPart(part) | Action::Rewrite(part, _) | Action::ReplaceInput(part, _) => {
                let gone = matches!(edit.action, Action::DropPart(_))
                    && matches!(view.part(*part).home, Home::Item(_));
                let span = match view.part(*part).home {
                    Home::Item(_) => view.seat(*part).map(|seat| seat.span),
                    _ => view.part(*part).turn.map(|turn| view.turn_span(turn)),
                };
                let at = item_at(span.ok_or("an edit without a place")?.start)?;
                fates[at] = if gone {
                    None
                } else {
                    fates[at].and(Some(true))
                };
            }
        }
    }
    let mut found = after.items.iter();
    for (at, fate) in fates.iter().enumerate() {
        for _ in 0..inserted[at] {
            demand!(found.next().is_some(), "an inserted turn is missing");
        }
        let Some(is_edited) = fate else { continue };
        let item = found
            .next()
            .ok_or_else(|| format!("element {at} is missing"))?;
        demand!(
            *is_edited || *item == before.items[at],
            "element {at} changed without an edit: {item}"
        );
    }
    demand!(found.next().is_none(), "an element came from nowhere");
    Ok(())
}

/// Every part that stays has its bytes, or the text that its edit spells out.
fn texts_survive(dialect: DialectId, body: &[u8], out: &[u8], plan: &Plan) -> Result<(), String> {
    let read = |bytes| dialect::read(bytes, dialect, &Limits::default()).map_err(|e| e.to_string());
    let (before, after): (View<'_>, View<'_>) = (read(body)?, read(out)?);
    let mut parts = after.part_ids();
    let mut edits = vec![None; before.parts().len()];
    let mut is_gone = vec![false; before.parts().len()];
    let mut inserted_at = vec![0usize; before.parts().len()];
    for edit in &plan.edits {
        match &edit.action {
            Action::DropTurn(turn) => before
                .parts_of(*turn)
                .for_each(|part| is_gone[part.index()] = true),
            Action::DropPart(part) => is_gone[part.index()] = true,
            Action::Rewrite(part, _) | Action::ReplaceInput(part, _) => {
                edits[part.index()] = Some(&edit.action);
            }
            Action::InsertTurn(turn, _) => {
                if let Some(first) = before.parts_of(*turn).next() {
                    inserted_at[first.index()] += 1;
                }
            }
        }
    }
    for id in before.part_ids() {
        for _ in 0..inserted_at[id.index()] {
            parts.next();
        }
        if is_gone[id.index()] {
            continue;
        }
        let now = parts.next().ok_or("a part is missing")?;
        match edits[id.index()] {
            None => {
                let (was, is) = (before.part(id).value, after.part(now).value);
                demand!(
                    was.of(before.body()) == is.of(after.body()),
                    "a part changed without an edit"
                );
            }
            Some(Action::Rewrite(_, pieces)) => {
                let text = before.text(id);
                let mut wanted = String::new();
                for piece in pieces {
                    wanted.push_str(match piece {
                        Piece::Keep(range) => {
                            text.get(range.clone()).ok_or("a cut inside a character")?
                        }
                        Piece::Note(note) => note,
                    });
                }
                demand!(
                    after.text(now) == wanted,
                    "a rewritten text is not what its edit says"
                );
            }
            Some(Action::ReplaceInput(_, wanted)) => {
                demand!(
                    after.args(now) == *wanted,
                    "arguments are not what their edit says"
                );
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn is_subsequence(part: &[u8], whole: &[u8]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|byte| whole.any(|other| other == byte))
}

fn role(item: &Value, dialect: DialectId) -> &str {
    let absent = if dialect == DialectId::GeminiGenerateContent {
        "user"
    } else {
        ""
    };
    item.get("role").and_then(Value::as_str).unwrap_or(absent)
}

/// Whether a user wrote something here, and did not only hand back results.
fn is_authored_by_user(item: &Value, dialect: DialectId) -> bool {
    let is_result =
        |block: &Value| block["type"] == "tool_result" || block.get("functionResponse").is_some();
    let content = item.get("content").or(item.get("parts"));
    role(item, dialect) == "user"
        && match content {
            Some(Value::Array(blocks)) => blocks.iter().any(|block| !is_result(block)),
            Some(Value::Null) | None => false,
            Some(_) => true,
        }
}

/// System turns, what stands before the first user turn, and the last user turn.
fn ends_survive(
    dialect: DialectId,
    before: &RawRequest<'_>,
    after: &RawRequest<'_>,
    edits_last_user: bool,
) -> Result<(), String> {
    let parse = |items: &[&str]| -> Vec<Value> {
        items
            .iter()
            .map(|item| serde_json::from_str(item).unwrap_or_default())
            .collect()
    };
    let (was, is) = (parse(&before.items), parse(&after.items));
    let systems = |values: &[Value], raw: &[&str]| -> Vec<String> {
        let is_system = |at: &usize| matches!(role(&values[*at], dialect), "system" | "developer");
        (0..values.len())
            .filter(is_system)
            .map(|at| raw[at].to_owned())
            .collect()
    };
    demand!(
        systems(&was, &before.items) == systems(&is, &after.items),
        "a system turn changed"
    );
    let authored = |item: &Value| is_authored_by_user(item, dialect);
    let Some(first) = was.iter().position(authored) else {
        return Err("pruned without any user turn".into());
    };
    demand!(
        after.items.get(..first) == before.items.get(..first),
        "what stands before the first user turn changed"
    );
    let last = was
        .iter()
        .rposition(authored)
        .and_then(|at| before.items.get(at));
    let last_now = is
        .iter()
        .rposition(authored)
        .and_then(|at| after.items.get(at));
    demand!(last_now.is_some(), "no user turn is left");
    demand!(
        edits_last_user || last == last_now,
        "the last user turn changed"
    );
    Ok(())
}

fn of_kind<'a>(request: &RawRequest<'a>, dialect: DialectId, kind: BlockKind) -> Vec<&'a str> {
    let blocks = request
        .items
        .iter()
        .flat_map(|item| blocks_in(item, dialect));
    blocks
        .filter(|(found, _)| *found == kind)
        .map(|(_, raw)| raw)
        .collect()
}

fn untouchables_survive(
    dialect: DialectId,
    before: &RawRequest<'_>,
    after: &RawRequest<'_>,
) -> Result<(), String> {
    let found = |request| of_kind(request, dialect, BlockKind::Untouchable);
    demand!(
        found(before) == found(after),
        "media or a block of unknown kind was lost or changed"
    );
    Ok(())
}

fn thinking_is_whole_or_gone(
    dialect: DialectId,
    before: &RawRequest<'_>,
    after: &RawRequest<'_>,
    first_edit_at: usize,
) -> Result<(), String> {
    let was = of_kind(before, dialect, BlockKind::Thinking);
    let is = of_kind(after, dialect, BlockKind::Thinking);
    let mut rest = was.iter();
    demand!(
        is.iter().all(|block| rest.any(|other| other == block)),
        "thinking was altered"
    );
    if dialect != DialectId::AnthropicMessages {
        return Ok(());
    }
    let model = after
        .members
        .get("model")
        .and_then(|raw| serde_json::from_str::<String>(raw).ok());
    if model.as_deref().is_some_and(models::thinking_is_bound) {
        demand!(
            is.iter().all(|block| after.offset(block) < first_edit_at),
            "bound thinking stands behind an edit"
        );
    }
    // The exchange that is still open keeps its thinking.
    let parsed: Vec<Value> = before
        .items
        .iter()
        .map(|item| serde_json::from_str(item).unwrap_or_default())
        .collect();
    let has = |item: &Value, kind: &str| {
        item["content"]
            .as_array()
            .is_some_and(|blocks| blocks.iter().any(|block| block["type"] == kind))
    };
    if parsed.last().is_some_and(|last| has(last, "tool_result"))
        && let Some(open) = parsed
            .iter()
            .rposition(|item| role(item, dialect) == "assistant" && has(item, "tool_use"))
    {
        for (kind, raw) in blocks_in(before.items[open], dialect) {
            demand!(
                kind != BlockKind::Thinking || is.contains(&raw),
                "an open exchange lost its thinking"
            );
        }
    }
    Ok(())
}

/// No rule of the provider is broken more often than before, and the engine's own check agrees.
fn stays_acceptable(dialect: DialectId, body: &[u8], out: &[u8]) -> Result<(), String> {
    let (was, is) = (complaints(dialect, body)?, complaints(dialect, out)?);
    for (rule, count) in &is {
        demand!(
            *count <= was.get(rule).copied().unwrap_or(0),
            "the provider would complain: {rule} ({was:?} before, {is:?} now)"
        );
    }
    agree(dialect, out)
}

fn complaints(dialect: DialectId, body: &[u8]) -> Result<Complaints, String> {
    let value: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    Ok(accept::complaints(&value, dialect))
}

/// Whether the engine's check and [`accept`] judge a body alike.
///
/// # Errors
/// The two verdicts.
pub fn agree(dialect: DialectId, body: &[u8]) -> Result<(), String> {
    let Ok(view) = dialect::read(body, dialect, &Limits::default()) else {
        return Ok(());
    };
    let (ours, theirs) = (check(&view), complaints(dialect, body)?);
    demand!(
        ours.len() == theirs.values().sum::<usize>(),
        "check says {ours:?}, the other judge {theirs:?}"
    );
    Ok(())
}
