//! Anthropic Messages. Thinking and the provider's own tools are left out.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Reply, ToolCall, args_of, items, str_of};

pub(super) fn whole(response: &Value) -> Option<Reply> {
    response.get("content")?;
    let mut reply = Reply::default();
    for block in items(response, "content") {
        match str_of(block, "type") {
            "text" => reply.text.push_str(str_of(block, "text")),
            "tool_use" => reply.calls.push(ToolCall {
                name: str_of(block, "name").to_owned(),
                args: block.get("input").cloned().unwrap_or_default(),
            }),
            _ => {}
        }
    }
    Some(reply)
}

pub(super) fn streamed(events: &[Value]) -> Option<Reply> {
    // Each tool call by its block: name, input as it began, input as it came.
    let mut calls: BTreeMap<u64, (String, Value, String)> = BTreeMap::new();
    let mut reply = Reply::default();
    let mut is_over = false;
    for event in events {
        let index = event["index"].as_u64().unwrap_or(0);
        match str_of(event, "type") {
            "content_block_start" => {
                let block = &event["content_block"];
                match str_of(block, "type") {
                    "text" => reply.text.push_str(str_of(block, "text")),
                    "tool_use" => {
                        let name = str_of(block, "name").to_owned();
                        let input = block.get("input").cloned().unwrap_or_default();
                        calls.insert(index, (name, input, String::new()));
                    }
                    _ => {}
                }
            }
            "content_block_delta" => {
                let delta = &event["delta"];
                match str_of(delta, "type") {
                    "text_delta" => reply.text.push_str(str_of(delta, "text")),
                    "input_json_delta" => {
                        if let Some((_, _, json)) = calls.get_mut(&index) {
                            json.push_str(str_of(delta, "partial_json"));
                        }
                    }
                    _ => {}
                }
            }
            "message_stop" => is_over = true,
            _ => {}
        }
    }
    reply.calls = calls
        .into_values()
        .map(|(name, input, json)| ToolCall {
            name,
            args: if json.is_empty() {
                input
            } else {
                args_of(&json)
            },
        })
        .collect();
    is_over.then_some(reply)
}
