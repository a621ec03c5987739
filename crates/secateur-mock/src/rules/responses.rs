//! OpenAI Responses: every call with its output, every reasoning item with its follower.

use std::collections::HashSet;

use serde_json::Value;

use super::{is_forged, list, text};

pub(super) fn check(body: &Value) -> Result<(), String> {
    if body["model"].as_str().is_none_or(str::is_empty) && body["prompt"].is_null() {
        return Err("missing required parameter: 'model'".to_owned());
    }
    if body["input"].is_string() {
        return Ok(());
    }
    let items = list(body, "input")?;
    let continues = body["previous_response_id"].is_string() || !body["conversation"].is_null();
    let mut open: Vec<&str> = Vec::new();
    let mut called: HashSet<&str> = HashSet::new();
    for (at, item) in items.iter().enumerate() {
        match text(item, "type") {
            "function_call" | "custom_tool_call" => {
                let id = text(item, "call_id");
                called.insert(id);
                open.push(id);
            }
            "function_call_output" | "custom_tool_call_output" => {
                let id = text(item, "call_id");
                if !called.contains(id) && !continues {
                    return Err(format!(
                        "no tool call found for function call output with call_id {id}"
                    ));
                }
                open.retain(|&waiting| waiting != id);
            }
            "reasoning" => {
                let summary = text(&item["summary"][0], "text");
                if is_forged(text(item, "encrypted_content"), summary) {
                    return Err(format!(
                        "the encrypted content of item '{}' could not be verified",
                        text(item, "id")
                    ));
                }
                let follower = items[at + 1..]
                    .iter()
                    .find(|next| text(next, "type") != "reasoning");
                let follows = follower.is_some_and(|next| {
                    next["role"] == "assistant"
                        || text(next, "type").ends_with("_call")
                        || text(next, "type").ends_with("_output")
                });
                if !follows {
                    return Err(format!(
                        "item '{}' of type 'reasoning' was provided without its required following item",
                        text(item, "id")
                    ));
                }
            }
            "message" | "" => {
                let role = text(item, "role");
                if !matches!(role, "user" | "assistant" | "system" | "developer") {
                    // Items may also be given by reference.
                    if item["id"].is_string() && role.is_empty() {
                        continue;
                    }
                    return Err(format!("input[{at}].role: invalid value '{role}'"));
                }
                let is_empty = match &item["content"] {
                    Value::Array(parts) => parts.is_empty(),
                    Value::String(_) => false,
                    _ => true,
                };
                if is_empty {
                    return Err(format!("input[{at}].content: must not be empty"));
                }
            }
            _ => {}
        }
    }
    match open.first() {
        Some(id) => Err(format!("no tool output found for function call {id}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sign;
    use super::*;
    use serde_json::json;

    #[test]
    fn wants_both_halves_and_the_follower_of_reasoning() {
        let user = json!({"role":"user","content":"a"});
        let call = json!({"type":"function_call","call_id":"1","name":"f","arguments":"{}"});
        let output = json!({"type":"function_call_output","call_id":"1","output":"x"});
        let reasoning = json!({"type":"reasoning","id":"r","summary":[]});
        let verdict = |items: &[&Value]| check(&json!({"model":"m","input":items}));
        verdict(&[&user, &reasoning, &call, &output]).unwrap();
        for wrong in [
            &[&user, &call][..],
            &[&user, &output],
            &[&output, &call],
            &[&user, &reasoning],
            &[&reasoning, &user],
            &[],
        ] {
            assert!(verdict(wrong).is_err(), "{wrong:?}");
        }
        check(&json!({"model":"m","previous_response_id":"p","input":[output]})).unwrap();
    }

    #[test]
    fn encrypted_reasoning_belongs_to_its_summary() {
        let user = json!({"role":"user","content":"a"});
        let answer = json!({"role":"assistant","content":"b"});
        let verdict = |summary: &str| {
            let reasoning = json!({"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":summary}],
                "encrypted_content":sign("plan")});
            check(&json!({"model":"m","input":[user, reasoning, answer]}))
        };
        verdict("plan").unwrap();
        assert!(verdict("another plan").is_err());
    }
}
