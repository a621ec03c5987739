//! Chat completions.

use super::{PIXEL, as_text, model};
use crate::conversation::{
    Call, Conversation, Media, Part, ResultContent, Thinking, ToolResult, Turn,
};
use crate::json::Json;

pub(crate) fn request(conversation: &Conversation) -> Json {
    let mut messages = Vec::new();
    for text in &conversation.system {
        messages.push(Json::object([
            ("role", "system".into()),
            ("content", text.as_str().into()),
        ]));
    }
    for turn in &conversation.turns {
        turn_into(turn, &mut messages);
    }
    let request = Json::object([
        ("temperature", Json::Num("1.0".into())),
        ("messages", Json::Arr(messages)),
        ("stream", Json::Bool(false)),
        ("max_completion_tokens", Json::Num("4096".into())),
    ]);
    model(&conversation.model, request)
}

fn turn_into(turn: &Turn, messages: &mut Vec<Json>) {
    match turn {
        Turn::System(text) => messages.push(Json::object([
            ("role", "developer".into()),
            ("content", text.as_str().into()),
        ])),
        Turn::User(parts) => messages.push(Json::object([
            ("role", "user".into()),
            ("content", content(parts)),
        ])),
        Turn::Assistant(parts) => messages.push(assistant(parts)),
        Turn::Results {
            groups,
            then,
            first,
        } => {
            if let Some(text) = first {
                messages.push(user(text));
            }
            messages.extend(groups.iter().flatten().map(result));
            if let Some(text) = then {
                messages.push(user(text));
            }
        }
        Turn::Stranger(text) => messages.push(Json::object([
            ("role", "narrator".into()),
            ("content", text.as_str().into()),
        ])),
    }
}

fn user(text: &str) -> Json {
    Json::object([("role", "user".into()), ("content", text.into())])
}

fn content(parts: &[Part]) -> Json {
    if let [Part::Plain(text)] = parts {
        return text.as_str().into();
    }
    Json::Arr(parts.iter().filter_map(block).collect())
}

fn block(part: &Part) -> Option<Json> {
    Some(match part {
        Part::Text(text) | Part::Plain(text) => {
            Json::object([("type", "text".into()), ("text", text.as_str().into())])
        }
        Part::Marked(text) => Json::object([
            ("type", "text".into()),
            ("text", text.as_str().into()),
            (
                "cache_control",
                Json::object([("type", "ephemeral".into())]),
            ),
        ]),
        Part::Media(Media::Image) => Json::object([
            ("type", "image_url".into()),
            (
                "image_url",
                Json::object([("url", Json::text(format!("data:image/png;base64,{PIXEL}")))]),
            ),
        ]),
        Part::Media(Media::Audio) => Json::object([
            ("type", "input_audio".into()),
            (
                "input_audio",
                Json::object([("data", "UklGRg==".into()), ("format", "wav".into())]),
            ),
        ]),
        Part::Media(Media::Document) => Json::object([
            ("type", "file".into()),
            ("file", Json::object([("file_id", "file-abc".into())])),
        ]),
        Part::Unknown(text) => {
            Json::object([("type", "hologram".into()), ("data", text.as_str().into())])
        }
        Part::Thinking(_) | Part::Call(_) | Part::ServerTool(_) | Part::Compaction(_) => {
            return None;
        }
    })
}

fn assistant(parts: &[Part]) -> Json {
    let calls: Vec<&Call> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
        .collect();
    let spoken: Vec<Part> = parts
        .iter()
        .filter(|part| block(part).is_some())
        .cloned()
        .collect();
    let mut message = Json::object([("role", "assistant".into())]);
    message = match spoken.as_slice() {
        [] => message.with("content", Json::Null),
        parts => message.with("content", content(parts)),
    };
    for part in parts {
        if let Part::Thinking(Thinking::Signed(text)) = part {
            message = message.with("reasoning_content", text.as_str().into());
            break;
        }
    }
    match calls.as_slice() {
        [] => message,
        [only] if only.legacy => message.with("function_call", function(only)),
        many => message.with(
            "tool_calls",
            Json::Arr(
                many.iter()
                    .map(|call| {
                        Json::object([("type", "function".into()), ("function", function(call))])
                            .with_if(!call.id.is_empty(), "id", call.id.as_str().into())
                    })
                    .collect(),
            ),
        ),
    }
}

fn function(call: &Call) -> Json {
    Json::object([
        ("name", call.name.as_str().into()),
        ("arguments", as_text(&call.args)),
    ])
}

fn result(result: &ToolResult) -> Json {
    let content = match &result.content {
        ResultContent::Blocks(texts) => Json::Arr(
            texts
                .iter()
                .map(|text| Json::object([("type", "text".into()), ("text", text.as_str().into())]))
                .collect(),
        ),
        other => Json::text(other.text()),
    };
    if result.legacy {
        return Json::object([
            ("role", "function".into()),
            ("name", result.name.as_str().into()),
            ("content", content),
        ]);
    }
    Json::object([("role", "tool".into()), ("content", content)]).with_if(
        !result.id.is_empty(),
        "tool_call_id",
        result.id.as_str().into(),
    )
}
