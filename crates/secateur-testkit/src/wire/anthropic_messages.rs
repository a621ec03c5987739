//! Anthropic messages.

use super::{PIXEL, model};
use crate::conversation::{
    Call, Conversation, Media, Part, ResultContent, Thinking, ToolResult, Turn,
};
use crate::json::Json;

pub(crate) fn request(conversation: &Conversation) -> Json {
    let messages: Vec<Json> = conversation.turns.iter().flat_map(messages).collect();
    let system = match conversation.system.as_slice() {
        [] => None,
        [only] if conversation.system_as_string => Some(only.as_str().into()),
        many => Some(Json::Arr(many.iter().map(|text| marked(text)).collect())),
    };
    let request = Json::object([
        ("max_tokens", Json::Num("4096".into())),
        ("stop_sequences", Json::Arr(Vec::new())),
    ]);
    let request = match system {
        Some(system) => request.with("system", system),
        None => request,
    };
    model(
        &conversation.model,
        request.with("messages", Json::Arr(messages)),
    )
}

fn message(role: &str, content: Json) -> Json {
    Json::object([("role", role.into()), ("content", content)])
}

fn messages(turn: &Turn) -> Vec<Json> {
    match turn {
        Turn::System(_) => Vec::new(),
        Turn::User(parts) => vec![message("user", content(parts))],
        Turn::Assistant(parts) => vec![message("assistant", content(parts))],
        Turn::Results {
            groups,
            then,
            first,
        } => {
            let mut messages = Vec::new();
            for (at, group) in groups.iter().enumerate() {
                let mut blocks: Vec<Json> = Vec::new();
                if let (0, Some(text)) = (at, first) {
                    blocks.push(text_block(text));
                }
                blocks.extend(group.iter().map(result));
                if let (true, Some(text)) = (at + 1 == groups.len(), then) {
                    blocks.push(text_block(text));
                }
                messages.push(message("user", Json::Arr(blocks)));
            }
            messages
        }
        Turn::Stranger(text) => vec![message("narrator", text.as_str().into())],
    }
}

fn content(parts: &[Part]) -> Json {
    if let [Part::Plain(text)] = parts {
        return text.as_str().into();
    }
    Json::Arr(parts.iter().flat_map(blocks).collect())
}

fn text_block(text: &str) -> Json {
    Json::object([("type", "text".into()), ("text", text.into())])
}

fn marked(text: &str) -> Json {
    text_block(text).with(
        "cache_control",
        Json::object([("type", "ephemeral".into())]),
    )
}

fn blocks(part: &Part) -> Vec<Json> {
    vec![match part {
        Part::Text(text) | Part::Plain(text) => text_block(text),
        Part::Marked(text) => marked(text),
        Part::Media(Media::Image) => image(),
        Part::Media(Media::Document | Media::Audio) => Json::object([
            ("type", "document".into()),
            (
                "source",
                Json::object([
                    ("type", "text".into()),
                    ("media_type", "text/plain".into()),
                    ("data", "A document\nof two lines".into()),
                ]),
            ),
        ]),
        Part::Thinking(Thinking::Signed(text)) => Json::object([
            ("type", "thinking".into()),
            ("thinking", text.as_str().into()),
            ("signature", "EqQBCgIYAhIM/sig+==".into()),
        ]),
        Part::Thinking(Thinking::Redacted) => Json::object([
            ("type", "redacted_thinking".into()),
            ("data", "EmwKAhgBEgy3va3pzix/".into()),
        ]),
        Part::Call(call) => tool_use(call),
        Part::ServerTool(query) => {
            return vec![
                Json::object([
                    ("type", "server_tool_use".into()),
                    ("id", "srvtoolu_1".into()),
                    ("name", "web_search".into()),
                    ("input", Json::object([("query", query.as_str().into())])),
                ]),
                Json::object([
                    ("type", "web_search_tool_result".into()),
                    ("tool_use_id", "srvtoolu_1".into()),
                    ("content", Json::Arr(Vec::new())),
                ]),
            ];
        }
        Part::Compaction(text) => Json::object([
            ("type", "compaction".into()),
            ("content", text.as_str().into()),
        ]),
        Part::Unknown(text) => {
            Json::object([("type", "hologram".into()), ("data", text.as_str().into())])
        }
    }]
}

fn image() -> Json {
    Json::object([
        ("type", "image".into()),
        (
            "source",
            Json::object([
                ("type", "base64".into()),
                ("media_type", "image/png".into()),
                ("data", PIXEL.into()),
            ]),
        ),
    ])
}

fn tool_use(call: &Call) -> Json {
    Json::object([
        ("type", "tool_use".into()),
        ("id", call.id.as_str().into()),
        ("name", call.name.as_str().into()),
        ("input", Json::Obj(call.args.clone())),
    ])
}

fn result(result: &ToolResult) -> Json {
    let block = Json::object([
        ("type", "tool_result".into()),
        ("tool_use_id", result.id.as_str().into()),
    ]);
    let block = match &result.content {
        ResultContent::Empty => block,
        ResultContent::Blocks(texts) => {
            let last = texts.len().saturating_sub(1);
            let write = |(at, text): (usize, &String)| {
                if at == last && texts.len() > 2 {
                    marked(text)
                } else {
                    text_block(text)
                }
            };
            block.with(
                "content",
                Json::Arr(texts.iter().enumerate().map(write).collect()),
            )
        }
        ResultContent::WithImage(text) => {
            block.with("content", Json::Arr(vec![text_block(text), image()]))
        }
        other => block.with("content", Json::text(other.text())),
    };
    block.with_if(result.is_error, "is_error", Json::Bool(true))
}
