//! OpenAI chat completions: roles, and tool messages right behind their calls.

use std::collections::HashSet;

use serde_json::Value;

use super::{list, text};

pub(super) fn check(body: &Value) -> Result<(), String> {
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err("you must provide a model parameter".to_owned());
    }
    let messages = list(body, "messages")?;
    let mut open: HashSet<&str> = HashSet::new();
    let mut called: HashSet<&str> = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        let role = text(message, "role");
        if role == "tool" {
            let id = text(message, "tool_call_id");
            if !called.contains(id) {
                return Err(format!(
                    "messages[{at}]: messages with role 'tool' must be a response to a preceding message with 'tool_calls' ({id})"
                ));
            }
            open.remove(id);
            content(message, at, false)?;
            continue;
        }
        if let Some(id) = open.iter().min() {
            return Err(format!(
                "an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id' (messages[{at}], {id})"
            ));
        }
        called.clear();
        match role {
            "assistant" => {
                let calls = message["tool_calls"].as_array();
                for call in calls.into_iter().flatten() {
                    let id = text(call, "id");
                    if id.is_empty() || !called.insert(id) {
                        return Err(format!(
                            "messages[{at}].tool_calls: ids must be unique and not empty"
                        ));
                    }
                    open.insert(id);
                }
                let speaks = calls.is_some_and(|calls| !calls.is_empty())
                    || !message["function_call"].is_null()
                    || !message["refusal"].is_null();
                content(message, at, speaks)?;
            }
            "system" | "developer" | "user" | "function" => content(message, at, false)?,
            other => return Err(format!("messages[{at}].role: invalid value '{other}'")),
        }
    }
    match open.iter().min() {
        Some(id) => Err(format!(
            "an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id' ({id})"
        )),
        None => Ok(()),
    }
}

fn content(message: &Value, at: usize, may_be_missing: bool) -> Result<(), String> {
    match &message["content"] {
        Value::String(_) => Ok(()),
        Value::Null if may_be_missing => Ok(()),
        Value::Array(parts) if !parts.is_empty() || may_be_missing => {
            match parts.iter().position(|part| text(part, "type").is_empty()) {
                Some(part) => Err(format!("messages[{at}].content[{part}].type: required")),
                None => Ok(()),
            }
        }
        _ => Err(format!(
            "messages[{at}].content: expected a string or a list that is not empty"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn verdict(messages: &Value) -> Result<(), String> {
        check(&json!({"model":"m","messages":messages}))
    }

    #[test]
    fn accepts_calls_answered_in_any_order_right_behind() {
        verdict(&json!([
            {"role":"user","content":"a"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"1"},{"id":"2"}]},
            {"role":"tool","tool_call_id":"2","content":"x"},
            {"role":"tool","tool_call_id":"1","content":"x"},
            {"role":"assistant","content":"done"}
        ]))
        .unwrap();
    }

    #[test]
    fn rejects_halves_of_exchanges_and_empty_messages() {
        for wrong in [
            json!([]),
            json!([{"role":"tool","tool_call_id":"1","content":"x"}]),
            json!([{"role":"assistant","tool_calls":[{"id":"1"}]}]),
            json!([{"role":"assistant","tool_calls":[{"id":"1"}]},{"role":"user","content":"x"},{"role":"tool","tool_call_id":"1","content":"x"}]),
            json!([{"role":"assistant","tool_calls":[{"id":"1"}]},{"role":"tool","tool_call_id":"2","content":"x"}]),
            json!([{"role":"user"}]),
            json!([{"role":"assistant","content":null}]),
            json!([{"role":"robot","content":"x"}]),
            json!([{"role":"user","content":[]}]),
        ] {
            assert!(verdict(&wrong).is_err(), "{wrong}");
        }
    }
}
