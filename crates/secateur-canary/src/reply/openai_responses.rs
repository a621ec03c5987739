//! OpenAI Responses. A stream ends with an event that holds the whole response.

use serde_json::Value;

use super::{Reply, ToolCall, args_of, items, str_of};

pub(super) fn whole(response: &Value) -> Option<Reply> {
    if !matches!(str_of(response, "status"), "completed" | "incomplete" | "") {
        return None;
    }
    response.get("output")?;
    Some(of_items(items(response, "output")))
}

fn of_items(output: &[Value]) -> Reply {
    let mut reply = Reply::default();
    for item in output {
        match str_of(item, "type") {
            "message" => {
                for part in items(item, "content") {
                    reply.text.push_str(str_of(part, "text"));
                    reply.text.push_str(str_of(part, "refusal"));
                }
            }
            "function_call" => reply.calls.push(ToolCall {
                name: str_of(item, "name").to_owned(),
                args: args_of(str_of(item, "arguments")),
            }),
            "custom_tool_call" => reply.calls.push(ToolCall {
                name: str_of(item, "name").to_owned(),
                args: Value::String(str_of(item, "input").to_owned()),
            }),
            "local_shell_call" | "shell_call" | "apply_patch_call" | "computer_call" => {
                let action = item.get("action").or(item.get("operation"));
                reply.calls.push(ToolCall {
                    name: str_of(item, "type").to_owned(),
                    args: action.cloned().unwrap_or_default(),
                });
            }
            _ => {}
        }
    }
    reply
}

pub(super) fn streamed(events: &[Value]) -> Option<Reply> {
    let end = events.iter().rev().find(|event| {
        matches!(
            str_of(event, "type"),
            "response.completed" | "response.incomplete"
        )
    })?;
    let response = end.get("response")?;
    if !items(response, "output").is_empty() {
        return whole(response);
    }
    // Some servers leave the items out of the last event.
    let done = events
        .iter()
        .filter(|event| str_of(event, "type") == "response.output_item.done");
    let items: Vec<Value> = done
        .filter_map(|event| event.get("item").cloned())
        .collect();
    Some(of_items(&items))
}
