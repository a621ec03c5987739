//! Gemini.

use serde_json::{Value, json};

use super::{Answer, Frame, pieces};

fn chunk(answer: &Answer, frame: &Frame<'_>, part: &Value, is_last: bool) -> Value {
    let usage = frame.usage;
    let mut candidate = json!({"content": {"parts": [part], "role": "model"}, "index": 0});
    let mut counted = json!({"promptTokenCount": usage.input_tokens, "totalTokenCount": usage.input_tokens,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": usage.input_tokens}]});
    if usage.cache_read_tokens > 0 {
        counted["cachedContentTokenCount"] = json!(usage.cache_read_tokens);
    }
    if is_last {
        candidate["finishReason"] = json!("STOP");
        counted["candidatesTokenCount"] = json!(usage.output_tokens);
        counted["totalTokenCount"] = json!(usage.input_tokens + usage.output_tokens);
    }
    json!({"candidates": [candidate], "usageMetadata": counted, "modelVersion": frame.model,
        "responseId": format!("{:016x}", answer.id)})
}

fn part(answer: &Answer) -> Value {
    match &answer.call {
        Some((name, input)) => json!({"functionCall": {"name": name, "args": input}}),
        None => json!({"text": answer.text}),
    }
}

fn chunks(answer: &Answer, frame: &Frame<'_>) -> Vec<Value> {
    if answer.call.is_some() {
        return vec![chunk(answer, frame, &part(answer), true)];
    }
    let pieces = pieces(&answer.text);
    let last = pieces.len().saturating_sub(1);
    let chunks = pieces.iter().enumerate();
    chunks
        .map(|(at, piece)| chunk(answer, frame, &json!({"text": piece}), at == last))
        .collect()
}

pub(super) fn json(answer: &Answer, frame: &Frame<'_>) -> Value {
    chunk(answer, frame, &part(answer), true)
}

pub(super) fn events(answer: &Answer, frame: &Frame<'_>) -> String {
    let chunks = chunks(answer, frame).into_iter();
    chunks
        .map(|chunk| format!("data: {chunk}\r\n\r\n"))
        .collect()
}

pub(super) fn array(answer: &Answer, frame: &Frame<'_>) -> String {
    let chunks: Vec<String> = chunks(answer, frame).iter().map(Value::to_string).collect();
    format!("[{}]", chunks.join(",\r\n"))
}
