//! Anthropic Messages: user first, results at once and in front, nothing empty, signatures intact.

use std::collections::HashSet;

use serde_json::Value;

use super::{is_forged, list, text};

pub(super) fn check(body: &Value) -> Result<(), String> {
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err("model: field required".to_owned());
    }
    let messages = list(body, "messages")?;
    let conversational = messages.iter().find(|message| message["role"] != "system");
    if conversational.is_none_or(|first| first["role"] != "user") {
        return Err("messages: first message must use the \"user\" role".to_owned());
    }
    let mut waiting: HashSet<&str> = HashSet::new();
    let mut ids: HashSet<&str> = HashSet::new();
    let last = messages.len() - 1;
    for (at, message) in messages.iter().enumerate() {
        let role = text(message, "role");
        if !matches!(role, "user" | "assistant" | "system") {
            return Err(format!("messages.{at}.role: unexpected value '{role}'"));
        }
        let is_final_answer = at == last && role == "assistant";
        content(message, at, is_final_answer)?;
        let blocks = message["content"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        results(role, blocks, at, &mut waiting)?;
        for block in blocks {
            match text(block, "type") {
                "tool_use" => {
                    let id = text(block, "id");
                    if role != "assistant" || !ids.insert(id) {
                        return Err(format!(
                            "messages.{at}: `tool_use` ids must be unique ({id})"
                        ));
                    }
                    waiting.insert(id);
                }
                "thinking" => thinking(block, role, at)?,
                _ => {}
            }
        }
    }
    match waiting.iter().min() {
        Some(id) => Err(unanswered(last, id)),
        None => Ok(()),
    }
}

fn unanswered(at: usize, id: &str) -> String {
    format!(
        "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )
}

/// A user message right behind calls answers all of them, before it says anything else.
fn results<'b>(
    role: &str,
    blocks: &'b [Value],
    at: usize,
    waiting: &mut HashSet<&'b str>,
) -> Result<(), String> {
    let mut said_something = false;
    for block in blocks {
        if block["type"] != "tool_result" {
            said_something = true;
            continue;
        }
        let id = text(block, "tool_use_id");
        if role != "user" || !waiting.remove(id) {
            return Err(format!(
                "messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            ));
        }
        if said_something {
            return Err(format!(
                "messages.{at}: `tool_result` blocks must come first"
            ));
        }
    }
    match waiting.iter().min() {
        Some(id) => Err(unanswered(at.saturating_sub(1), id)),
        None => Ok(()),
    }
}

fn content(message: &Value, at: usize, may_be_empty: bool) -> Result<(), String> {
    let empty = || {
        Err(format!(
            "messages.{at}: all messages must have non-empty content except for the optional final assistant message"
        ))
    };
    match &message["content"] {
        Value::String(text) if text.is_empty() && !may_be_empty => empty(),
        Value::String(_) => Ok(()),
        Value::Array(blocks) if blocks.is_empty() && !may_be_empty => empty(),
        Value::Array(blocks) => {
            for block in blocks {
                if text(block, "type").is_empty() {
                    return Err(format!("messages.{at}.content: `type` required"));
                }
                if block["type"] == "text" && text(block, "text").trim().is_empty() {
                    return Err(format!(
                        "messages.{at}: text content blocks must contain non-whitespace text"
                    ));
                }
            }
            Ok(())
        }
        _ => Err(format!("messages.{at}.content: field required")),
    }
}

fn thinking(block: &Value, role: &str, at: usize) -> Result<(), String> {
    let signature = text(block, "signature");
    if role != "assistant" || signature.is_empty() || is_forged(signature, text(block, "thinking"))
    {
        return Err(format!(
            "messages.{at}: invalid `signature` in `thinking` block"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::sign;
    use super::*;
    use serde_json::json;

    fn verdict(messages: &Value) -> Result<(), String> {
        check(&json!({"model":"m","max_tokens":5,"messages":messages}))
    }

    #[test]
    fn accepts_an_exchange_and_a_signed_thought() {
        verdict(&json!([
            {"role":"user","content":"a"},
            {"role":"assistant","content":[
                {"type":"thinking","thinking":"t","signature":sign("t")},
                {"type":"tool_use","id":"1","name":"f","input":{}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"},{"type":"text","text":"go"}]}
        ]))
        .unwrap();
    }

    #[test]
    fn rejects_what_the_provider_rejects() {
        let call = json!({"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]});
        let user = json!({"role":"user","content":"a"});
        for wrong in [
            json!([]),
            json!([call]),
            json!([{"role":"assistant","content":"hi"}]),
            json!([user, call]),
            json!([user, call, user]),
            json!([user, {"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}]),
            json!([user, call, {"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"1"}]}]),
            json!([user, {"role":"assistant","content":""}, user]),
            json!([{"role":"user","content":[{"type":"text","text":" \n"}]}]),
            json!([user, {"role":"assistant","content":[{"type":"thinking","thinking":"other","signature":sign("t")}]}, user]),
        ] {
            assert!(verdict(&wrong).is_err(), "{wrong}");
        }
    }
}
