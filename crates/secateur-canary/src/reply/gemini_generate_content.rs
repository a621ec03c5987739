//! Gemini: one response, a stream of them, or a JSON array of them. Of several candidates the first
//! counts; thoughts are left out.

use serde_json::Value;

use super::{Reply, ToolCall, items, str_of};

pub(super) fn chunks(values: &[Value]) -> Option<Reply> {
    let mut reply = Reply::default();
    let mut is_over = false;
    let flat = values.iter().flat_map(|value| match value {
        Value::Array(chunks) => chunks.as_slice(),
        one => std::slice::from_ref(one),
    });
    for chunk in flat {
        let Some(candidate) = items(chunk, "candidates").first() else {
            continue;
        };
        is_over |= candidate.get("finishReason").is_some();
        for part in items(&candidate["content"], "parts") {
            if part["thought"] == true {
                continue;
            }
            reply.text.push_str(str_of(part, "text"));
            if let Some(call) = part.get("functionCall") {
                reply.calls.push(ToolCall {
                    name: str_of(call, "name").to_owned(),
                    args: call.get("args").cloned().unwrap_or_default(),
                });
            }
        }
    }
    is_over.then_some(reply)
}
