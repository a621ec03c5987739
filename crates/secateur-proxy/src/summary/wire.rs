//! A summary call in each dialect: what is asked, and where the text stands in the answer.

use secateur_core::Dialect;
use secateur_core::summary::{INSTRUCTIONS, WantedSummary};
use serde_json::{Value, json};

use crate::config::Provider;

/// The body of a call. Gemini and clouds name the model in the path.
pub(super) fn body(
    dialect: Dialect,
    provider: Provider,
    wanted: &WantedSummary,
    max_tokens: u32,
) -> Option<Value> {
    let (model, text) = (&wanted.model, &wanted.transcript);
    let version = match provider {
        Provider::Bedrock => Some("bedrock-2023-05-31"),
        Provider::Vertex => Some("vertex-2023-10-16"),
        // Its bodies are wrapped in another one.
        Provider::CodeAssist => return None,
        _ => None,
    };
    Some(match dialect {
        Dialect::AnthropicMessages if version.is_some() => json!({
            "anthropic_version": version,
            "max_tokens": max_tokens,
            "system": INSTRUCTIONS,
            "messages": [{"role": "user", "content": text}],
        }),
        Dialect::OpenaiChat => json!({
            "model": model,
            "messages": [
                {"role": "system", "content": INSTRUCTIONS},
                {"role": "user", "content": text},
            ],
            "max_completion_tokens": max_tokens,
        }),
        Dialect::OpenaiResponses => json!({
            "model": model,
            "instructions": INSTRUCTIONS,
            "input": [{"role": "user", "content": text}],
            "max_output_tokens": max_tokens,
            "store": false,
        }),
        Dialect::AnthropicMessages => json!({
            "model": model,
            "max_tokens": max_tokens,
            "system": INSTRUCTIONS,
            "messages": [{"role": "user", "content": text}],
        }),
        Dialect::GeminiGenerateContent => json!({
            "systemInstruction": {"parts": [{"text": INSTRUCTIONS}]},
            "contents": [{"role": "user", "parts": [{"text": text}]}],
            "generationConfig": {"maxOutputTokens": max_tokens},
        }),
        _ => return None,
    })
}

/// The text of an answer. `None` where there is none.
pub(super) fn text(dialect: Dialect, answer: &Value) -> Option<String> {
    let texts = |list: &Value| -> String {
        let parts = list.as_array().into_iter().flatten();
        let written = parts.filter(|part| part["thought"] != true && part["type"] != "thinking");
        written.filter_map(|part| part["text"].as_str()).collect()
    };
    let text = match dialect {
        Dialect::OpenaiChat => match &answer["choices"][0]["message"]["content"] {
            Value::String(text) => text.clone(),
            list => texts(list),
        },
        Dialect::OpenaiResponses => {
            let items = answer["output"].as_array().into_iter().flatten();
            let messages = items.filter(|item| item["type"] == "message");
            messages.map(|message| texts(&message["content"])).collect()
        }
        Dialect::AnthropicMessages => texts(&answer["content"]),
        Dialect::GeminiGenerateContent => texts(&answer["candidates"][0]["content"]["parts"]),
        _ => return None,
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_found_and_thinking_is_not() {
        let found = |dialect, answer: &str| text(dialect, &serde_json::from_str(answer).unwrap());
        let some = Some("so".to_owned());
        for (dialect, answer) in [
            (
                Dialect::OpenaiChat,
                r#"{"choices":[{"message":{"content":" so "}}]}"#,
            ),
            (
                Dialect::OpenaiChat,
                r#"{"choices":[{"message":{"content":[{"type":"text","text":"so"}]}}]}"#,
            ),
            (
                Dialect::OpenaiResponses,
                r#"{"output":[{"type":"reasoning","content":[{"text":"hm"}]},{"type":"message","content":[{"type":"output_text","text":"so"}]}]}"#,
            ),
            (
                Dialect::AnthropicMessages,
                r#"{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"so"}]}"#,
            ),
            (
                Dialect::GeminiGenerateContent,
                r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"so"}]}}]}"#,
            ),
        ] {
            assert_eq!(found(dialect, answer), some, "{answer}");
            assert_eq!(found(dialect, "{}"), None, "{dialect}");
        }
        assert_eq!(
            found(
                Dialect::OpenaiChat,
                r#"{"choices":[{"message":{"content":"  "}}]}"#
            ),
            None
        );
    }
}
