//! What must stay whatever a policy says: ends, media, unknown kinds, thinking.

use std::borrow::Cow;

use secateur_core::Dialect;
use secateur_core::models;
use serde_json::Value;

use super::demand;
use crate::raw::{BlockKind, RawRequest, blocks_in};

fn role(item: &Value, dialect: Dialect) -> &str {
    let absent = if dialect == Dialect::GeminiGenerateContent {
        "user"
    } else {
        ""
    };
    item.get("role").and_then(Value::as_str).unwrap_or(absent)
}

/// Whether a user wrote something here, and did not only hand back results.
fn is_authored_by_user(item: &Value, dialect: Dialect) -> bool {
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

/// An element as it is, and without each of its markers that is spelled like the anchor.
fn unmarked<'i>(item: &'i str, anchor: Option<&'i str>) -> impl Iterator<Item = String> + 'i {
    let without = anchor.into_iter().flat_map(move |anchor| {
        item.match_indices(anchor).map(move |(at, _)| {
            let behind = &item[at + anchor.len()..];
            [&item[..at], behind.strip_prefix(',').unwrap_or(behind)].concat()
        })
    });
    std::iter::once(item.to_owned()).chain(without)
}

/// System turns, what comes before the first user turn, and the last user turn. A marker may be new.
pub(super) fn ends_survive(
    dialect: Dialect,
    before: &RawRequest<'_>,
    after: &RawRequest<'_>,
    edits_last_user: bool,
    anchor: Option<&str>,
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
    let (systems_were, systems_are) = (systems(&was, &before.items), systems(&is, &after.items));
    let is_same = |(was, is): (&String, &String)| unmarked(is, anchor).any(|is| is == *was);
    demand!(
        systems_were.len() == systems_are.len()
            && systems_were.iter().zip(&systems_are).all(is_same),
        "a system turn changed"
    );
    let authored = |item: &Value| is_authored_by_user(item, dialect);
    let Some(first) = was.iter().position(authored) else {
        return Err("pruned without any user turn".into());
    };
    let opening = before.items.iter().zip(&after.items).take(first);
    demand!(
        after.items.len() >= first
            && opening
                .clone()
                .all(|(was, is)| unmarked(is, anchor).any(|is| is == *was)),
        "what comes before the first user turn changed"
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
    let last = last.map(|raw| without_results(raw));
    demand!(
        edits_last_user
            || last_now.is_some_and(|raw| {
                unmarked(raw, anchor).any(|raw| Some(without_results(&raw)) == last)
            }),
        "the last user turn changed"
    );
    Ok(())
}

/// What a user wrote in a turn: tool results that share it may be shortened.
fn without_results(item: &str) -> Value {
    let mut item: Value = serde_json::from_str(item).unwrap_or_default();
    for key in ["content", "parts"] {
        if let Some(blocks) = item.get_mut(key).and_then(Value::as_array_mut) {
            blocks.retain(|block| {
                block["type"] != "tool_result"
                    && block.get("functionResponse").is_none()
                    && block.get("function_response").is_none()
            });
        }
    }
    item
}

fn of_kind<'a>(request: &RawRequest<'a>, dialect: Dialect, kind: BlockKind) -> Vec<&'a str> {
    let blocks = request
        .items
        .iter()
        .flat_map(|item| blocks_in(item, dialect));
    blocks
        .filter(|(found, _)| *found == kind)
        .map(|(_, raw)| raw)
        .collect()
}

pub(super) fn untouchables_survive(
    dialect: Dialect,
    before: &RawRequest<'_>,
    after: &RawRequest<'_>,
    edits_documents: bool,
) -> Result<(), String> {
    let found = |request| -> Vec<Cow<'_, str>> {
        let blocks = of_kind(request, dialect, BlockKind::Untouchable).into_iter();
        let shown = |raw| match edits_documents {
            true => without_plain_text(raw),
            false => Cow::Borrowed(raw),
        };
        blocks.map(shown).collect()
    };
    demand!(
        found(before) == found(after),
        "media or a block of unknown kind was lost or changed"
    );
    Ok(())
}

/// A block without the text of a plain text document that is not cited from.
fn without_plain_text(raw: &str) -> Cow<'_, str> {
    let mut block: Value = serde_json::from_str(raw).unwrap_or_default();
    let is_plain = block["type"] == "document" && block["source"]["type"] == "text";
    if !is_plain || block["citations"]["enabled"] == true {
        return Cow::Borrowed(raw);
    }
    block["source"]["data"] = Value::Null;
    Cow::Owned(block.to_string())
}

pub(super) fn thinking_is_whole_or_gone(
    dialect: Dialect,
    before: &RawRequest<'_>,
    after: &RawRequest<'_>,
    first_edit_at: usize,
    in_rounds: bool,
) -> Result<(), String> {
    let was = of_kind(before, dialect, BlockKind::Thinking);
    let is = of_kind(after, dialect, BlockKind::Thinking);
    let mut rest = was.iter();
    demand!(
        is.iter().all(|block| rest.any(|other| other == block)),
        "thinking was altered"
    );
    if dialect != Dialect::AnthropicMessages {
        return Ok(());
    }
    let model = after
        .members
        .get("model")
        .and_then(|raw| serde_json::from_str::<String>(raw).ok());
    // In rounds, what was produced behind an edit is bound to the bytes that the edit left.
    if !in_rounds && model.as_deref().is_some_and(models::thinking_is_bound) {
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
