//! Which dialect a body is in, by its shape.
//!
//! `contents` is Gemini's, `input` the Responses'. `messages` is shared by chat and Anthropic, so
//! there the marks that only one of them knows decide; without any, a body without `max_tokens`
//! cannot be Anthropic's, and the model's name settles the rest.

use super::read::{expect_object, look_ahead};
use crate::read::dialect::Dialect;
use crate::read::error::ReadError;
use secateur_json::{Cursor, JsonStr, Kind, Limits};

#[derive(Default)]
struct Evidence {
    contents: bool,
    input: bool,
    messages: bool,
    max_tokens: bool,
    chat_marks: usize,
    anthropic_marks: usize,
    model: Option<JsonStr>,
}

/// Members that only chat completions have.
const CHAT_KEYS: [&str; 18] = [
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "modalities",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "reasoning_effort",
    "response_format",
    "seed",
    "stop",
    "stream_options",
    "web_search_options",
];

/// Members that only Anthropic's messages have. Not `thinking`: some chat servers have it too.
const ANTHROPIC_KEYS: [&str; 8] = [
    "anthropic_version",
    "cache_control",
    "container",
    "context_management",
    "mcp_servers",
    "output_config",
    "stop_sequences",
    "system",
];

/// The dialect of `body`.
///
/// # Errors
/// Not JSON, or a shape that fits none or more than one dialect.
pub fn detect(body: &[u8], limits: &Limits) -> Result<Dialect, ReadError> {
    let mut cursor = Cursor::new(body, limits)?;
    let text = cursor.body();
    expect_object(&mut cursor, "a request must be a JSON object")?;
    let mut seen = Evidence::default();
    cursor.object(|cursor, key| {
        match key.decode(text).as_ref() {
            "contents" => seen.contents = cursor.peek()? == Kind::Array,
            "input" => seen.input = matches!(cursor.peek()?, Kind::Array | Kind::String),
            "messages" if cursor.peek()? == Kind::Array => {
                seen.messages = true;
                cursor.array(|cursor, _| message(cursor, &mut seen))?;
                return Ok(());
            }
            "tools" if cursor.peek()? == Kind::Array => {
                cursor.array(|cursor, _| tool(cursor, &mut seen))?;
                return Ok(());
            }
            "model" => {
                seen.model = cursor.string_or_skip()?;
                return Ok(());
            }
            "max_tokens" => seen.max_tokens = true,
            key if CHAT_KEYS.contains(&key) => seen.chat_marks += 1,
            key if ANTHROPIC_KEYS.contains(&key) => seen.anthropic_marks += 1,
            _ => {}
        }
        cursor.skip()?;
        Ok::<_, ReadError>(())
    })?;
    cursor.finish()?;
    seen.verdict(text)
}

impl Evidence {
    fn verdict(&self, body: &str) -> Result<Dialect, ReadError> {
        use Dialect::{AnthropicMessages, GeminiGenerateContent, OpenaiChat, OpenaiResponses};
        let messages = match (self.messages, self.chat_marks, self.anthropic_marks) {
            (false, ..) => None,
            (true, 0, 0) if !self.max_tokens => Some(OpenaiChat),
            (true, 0, 0) => {
                let model = self
                    .model
                    .map(|model| model.decode(body))
                    .unwrap_or_default();
                if model.starts_with("claude") {
                    Some(AnthropicMessages)
                } else if is_chat_model(&model) {
                    Some(OpenaiChat)
                } else {
                    return Err(ReadError::Ambiguous(OpenaiChat, AnthropicMessages));
                }
            }
            (true, _, 0) => Some(OpenaiChat),
            (true, 0, _) => Some(AnthropicMessages),
            (true, ..) => return Err(ReadError::Ambiguous(OpenaiChat, AnthropicMessages)),
        };
        let found = [
            messages,
            self.input.then_some(OpenaiResponses),
            self.contents.then_some(GeminiGenerateContent),
        ];
        let mut found = found.into_iter().flatten();
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(only),
            (Some(one), Some(other)) => Err(ReadError::Ambiguous(one, other)),
            (None, _) => Err(ReadError::Unknown),
        }
    }
}

fn is_anthropic_block(kind: &str) -> bool {
    matches!(
        kind,
        "image" | "document" | "redacted_thinking" | "search_result" | "container_upload"
    ) || kind.ends_with("tool_use")
        || kind.ends_with("tool_result")
}

/// Names of OpenAI's own, and routed names (`deepseek-ai/…`) that are not Claude's: servers that
/// route by such names speak chat.
fn is_chat_model(model: &str) -> bool {
    let rest = model.strip_prefix('o').unwrap_or_default();
    let is_routed = model.contains('/') && !model.contains("claude");
    is_routed
        || model.starts_with("gpt-")
        || model.starts_with("chatgpt-")
        || rest.starts_with(|digit: char| digit.is_ascii_digit())
}

fn message(cursor: &mut Cursor<'_>, seen: &mut Evidence) -> Result<(), ReadError> {
    let body = cursor.body();
    if cursor.peek()? != Kind::Object {
        cursor.skip()?;
        return Ok(());
    }
    cursor.object(|cursor, key| {
        match key.decode(body).as_ref() {
            "role" => {
                let role = cursor.string_or_skip()?.map(|role| role.decode(body));
                // Anthropic has system turns too, but neither of these.
                seen.chat_marks += usize::from(matches!(
                    role.as_deref(),
                    Some("tool" | "developer" | "function")
                ));
                return Ok(());
            }
            "tool_calls" | "tool_call_id" | "function_call" | "refusal" | "reasoning_content" => {
                seen.chat_marks += 1;
            }
            "content" if cursor.peek()? == Kind::Array => {
                cursor.array(|cursor, _| {
                    let kind = match cursor.peek()? {
                        Kind::Object => look_ahead(cursor, "type").map(|kind| kind.decode(body)),
                        _ => None,
                    };
                    match kind.as_deref() {
                        Some(
                            "image_url" | "input_audio" | "file" | "refusal" | "video_url"
                            | "audio_url",
                        ) => seen.chat_marks += 1,
                        // Some chat servers have thinking blocks too, without signature.
                        Some("thinking") => {
                            let is_signed = look_ahead(cursor, "signature").is_some();
                            seen.anthropic_marks += usize::from(is_signed);
                        }
                        Some(kind) if is_anthropic_block(kind) => seen.anthropic_marks += 1,
                        _ => {}
                    }
                    cursor.skip()?;
                    Ok::<_, ReadError>(())
                })?;
                return Ok(());
            }
            _ => {}
        }
        cursor.skip()?;
        Ok::<_, ReadError>(())
    })?;
    Ok(())
}

fn tool(cursor: &mut Cursor<'_>, seen: &mut Evidence) -> Result<(), ReadError> {
    let body = cursor.body();
    if cursor.peek()? != Kind::Object {
        cursor.skip()?;
        return Ok(());
    }
    cursor.object(|cursor, key| {
        seen.chat_marks += usize::from(key.is(body, "function"));
        seen.anthropic_marks += usize::from(key.is(body, "input_schema"));
        cursor.skip()?;
        Ok::<_, ReadError>(())
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Dialect::*;

    type Expected = Result<Dialect, (Dialect, Dialect)>;

    fn check(body: &str, expected: Expected) {
        let found = detect(body.as_bytes(), &Limits::default());
        assert_eq!(
            found,
            expected.map_err(|(one, other)| ReadError::Ambiguous(one, other)),
            "{body}"
        );
    }

    #[test]
    fn tells_the_dialects_apart_by_shape() {
        check(r#"{"contents":[]}"#, Ok(GeminiGenerateContent));
        check(r#"{"input":"hi"}"#, Ok(OpenaiResponses));
        check(
            r#"{"messages":[{"role":"tool","tool_call_id":"1","content":""}],"max_tokens":1}"#,
            Ok(OpenaiChat),
        );
        check(
            r#"{"messages":[],"max_tokens":1,"system":"s"}"#,
            Ok(AnthropicMessages),
        );
        check(
            r#"{"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}"#,
            Ok(AnthropicMessages),
        );
        check(
            r#"{"messages":[],"max_tokens":1,"tools":[{"input_schema":{}}]}"#,
            Ok(AnthropicMessages),
        );
        check(
            r#"{"model":"claude-x","messages":[],"max_tokens":1}"#,
            Ok(AnthropicMessages),
        );
        check(
            r#"{"model":"gpt-5","messages":[],"max_tokens":1}"#,
            Ok(OpenaiChat),
        );
        check(
            r#"{"model":"o3","messages":[],"max_tokens":1}"#,
            Ok(OpenaiChat),
        );
        check(r#"{"model":"anything","messages":[]}"#, Ok(OpenaiChat));
    }

    #[test]
    fn chat_servers_with_members_of_their_own_are_still_chat() {
        for body in [
            r#"{"model":"glm-5","messages":[],"thinking":{"type":"enabled"}}"#,
            r#"{"messages":[{"role":"user","content":[{"type":"video_url"}]}]}"#,
            r#"{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":[]}]}]}"#,
            r#"{"model":"deepseek-ai/R1","messages":[],"max_tokens":9}"#,
        ] {
            check(body, Ok(OpenaiChat));
        }
        check(
            r#"{"messages":[{"content":[{"type":"thinking","signature":"s"}]}]}"#,
            Ok(AnthropicMessages),
        );
    }

    #[test]
    fn says_so_when_it_cannot_tell() {
        let unclear = Err((OpenaiChat, AnthropicMessages));
        check(r#"{"model":"llama","messages":[],"max_tokens":1}"#, unclear);
        check(r#"{"messages":[],"system":"s","n":1}"#, unclear);
        check(
            r#"{"messages":[],"contents":[]}"#,
            Err((OpenaiChat, GeminiGenerateContent)),
        );
        assert_eq!(detect(b"{}", &Limits::default()), Err(ReadError::Unknown));
        assert!(matches!(
            detect(b"[]", &Limits::default()),
            Err(ReadError::Shape { at: 0, .. })
        ));
    }
}
