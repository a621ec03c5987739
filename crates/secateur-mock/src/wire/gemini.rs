//! Gemini.

use serde_json::{Value, json};

use super::{Answer, Frame, pieces};
use crate::rules::sign;

fn chunk(answer: &Answer, frame: &Frame<'_>, parts: &[Value], is_last: bool) -> Value {
    let usage = frame.usage;
    let mut candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
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

/// Thoughts first, then `texts`, then calls; the first call of a thinking model is signed.
fn parts(answer: &Answer, texts: &[String]) -> Vec<Value> {
    let thoughts = answer.thinking.iter();
    let mut parts: Vec<Value> = thoughts
        .map(|text| json!({"text": text, "thought": true}))
        .collect();
    parts.extend(texts.iter().map(|text| json!({"text": text})));
    for (at, call) in answer.calls.iter().enumerate() {
        let mut part = json!({"functionCall": {"id": format!("{:016x}", call.number),
            "name": call.name, "args": call.input.arguments()}});
        if at == 0 && answer.thinking.is_some() {
            part["thoughtSignature"] = json!(sign(&call.name));
        }
        parts.push(part);
    }
    parts
}

fn chunks(answer: &Answer, frame: &Frame<'_>) -> Vec<Value> {
    let parts = parts(answer, &pieces(&answer.text));
    let last = parts.len().saturating_sub(1);
    let parts = parts.into_iter().enumerate();
    parts
        .map(|(at, part)| chunk(answer, frame, &[part], at == last))
        .collect()
}

pub(super) fn json(answer: &Answer, frame: &Frame<'_>) -> Value {
    let whole = [answer.text.clone()];
    let texts = if answer.text.is_empty() {
        &[][..]
    } else {
        &whole
    };
    chunk(answer, frame, &parts(answer, texts), true)
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
