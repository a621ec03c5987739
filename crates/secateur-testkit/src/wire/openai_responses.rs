//! The Responses API.

use super::{PIXEL, as_text, model};
use crate::conversation::{
    Call, Conversation, Media, Part, ResultContent, Thinking, ToolResult, Turn,
};
use crate::json::Json;

pub(crate) fn request(conversation: &Conversation) -> Json {
    let mut items = Vec::new();
    for turn in &conversation.turns {
        turn_into(turn, &mut items);
    }
    let request = Json::object([("input", Json::Arr(items)), ("store", Json::Bool(false))])
        .with_if(
            !conversation.system.is_empty(),
            "instructions",
            Json::text(conversation.system.join("\n\n")),
        )
        .with_if(
            conversation.history_elsewhere,
            "previous_response_id",
            "resp_123".into(),
        );
    model(&conversation.model, request)
}

fn turn_into(turn: &Turn, items: &mut Vec<Json>) {
    match turn {
        Turn::System(text) => items.push(Json::object([
            ("role", "developer".into()),
            ("content", text.as_str().into()),
        ])),
        Turn::User(parts) => items.push(message("user", parts, "input_text")),
        Turn::Assistant(parts) => assistant(parts, items),
        Turn::Results {
            groups,
            then,
            first,
        } => {
            if let Some(text) = first {
                items.push(message("user", &[Part::plain(text)], "input_text"));
            }
            items.extend(groups.iter().flatten().map(output));
            if let Some(text) = then {
                items.push(message("user", &[Part::plain(text)], "input_text"));
            }
        }
        Turn::Stranger(text) => items.push(Json::object([
            ("type", "hologram_item".into()),
            ("data", text.as_str().into()),
        ])),
    }
}

fn message(role: &str, parts: &[Part], text_kind: &str) -> Json {
    let content = match parts {
        [Part::Plain(text)] => text.as_str().into(),
        parts => Json::Arr(
            parts
                .iter()
                .filter_map(|part| block(part, text_kind))
                .collect(),
        ),
    };
    Json::object([
        ("type", "message".into()),
        ("role", role.into()),
        ("content", content),
    ])
}

fn block(part: &Part, text_kind: &str) -> Option<Json> {
    Some(match part {
        Part::Text(text) | Part::Plain(text) | Part::Marked(text) => {
            Json::object([("type", text_kind.into()), ("text", text.as_str().into())])
        }
        Part::Media(Media::Image) => Json::object([
            ("type", "input_image".into()),
            (
                "image_url",
                Json::text(format!("data:image/png;base64,{PIXEL}")),
            ),
        ]),
        Part::Media(Media::Audio) => Json::object([
            ("type", "input_audio".into()),
            ("input_audio", Json::object([("data", "UklGRg==".into())])),
        ]),
        Part::Media(Media::Document) => Json::object([
            ("type", "input_file".into()),
            ("file_id", "file-abc".into()),
        ]),
        Part::Unknown(text) => Json::object([
            ("type", "input_hologram".into()),
            ("data", text.as_str().into()),
        ]),
        Part::Thinking(_) | Part::Call(_) | Part::ServerTool(_) | Part::Compaction(_) => {
            return None;
        }
    })
}

/// What was said is one message, behind reasoning and before calls.
fn assistant(parts: &[Part], items: &mut Vec<Json>) {
    for part in parts {
        match part {
            Part::Compaction(text) => items.push(Json::object([
                ("type", "compaction".into()),
                ("encrypted_content", text.as_str().into()),
            ])),
            Part::Thinking(thinking) => items.push(reasoning(thinking)),
            Part::ServerTool(query) => items.push(Json::object([
                ("type", "web_search_call".into()),
                ("id", "ws_1".into()),
                ("status", "completed".into()),
                ("action", Json::object([("query", query.as_str().into())])),
            ])),
            _ => {}
        }
    }
    let spoken: Vec<Part> = parts
        .iter()
        .filter(|part| block(part, "output_text").is_some())
        .cloned()
        .collect();
    if !spoken.is_empty() {
        items.push(message("assistant", &spoken, "output_text").with("id", "msg_1".into()));
    }
    for part in parts {
        if let Part::Call(call) = part {
            items.push(function_call(call));
        }
    }
}

fn reasoning(thinking: &Thinking) -> Json {
    let summary = match thinking {
        Thinking::Signed(text) => vec![Json::object([
            ("type", "summary_text".into()),
            ("text", text.as_str().into()),
        ])],
        Thinking::Redacted => Vec::new(),
    };
    Json::object([
        ("type", "reasoning".into()),
        ("id", "rs_1".into()),
        ("summary", Json::Arr(summary)),
        ("encrypted_content", "gAAAAABo".into()),
    ])
}

fn function_call(call: &Call) -> Json {
    Json::object([
        ("type", "function_call".into()),
        ("call_id", call.id.as_str().into()),
        ("name", call.name.as_str().into()),
        ("arguments", as_text(&call.args)),
    ])
}

fn output(result: &ToolResult) -> Json {
    let output = match &result.content {
        ResultContent::Blocks(texts) => Json::Arr(
            texts
                .iter()
                .map(|text| {
                    Json::object([
                        ("type", "input_text".into()),
                        ("text", text.as_str().into()),
                    ])
                })
                .collect(),
        ),
        ResultContent::WithImage(text) => Json::Arr(vec![
            Json::object([
                ("type", "input_text".into()),
                ("text", text.as_str().into()),
            ]),
            Json::object([
                ("type", "input_image".into()),
                ("file_id", "file-img".into()),
            ]),
        ]),
        other => Json::text(other.text()),
    };
    Json::object([
        ("type", "function_call_output".into()),
        ("call_id", result.id.as_str().into()),
        ("output", output),
    ])
}
