//! Gemini's `generateContent`.

use super::{PIXEL, model};
use crate::conversation::{
    Call, Conversation, Media, Part, ResultContent, Thinking, ToolResult, Turn,
};
use crate::json::Json;

pub(crate) fn request(conversation: &Conversation) -> Json {
    let contents: Vec<Json> = conversation.turns.iter().flat_map(contents).collect();
    let mut request = Json::object([("contents", Json::Arr(contents))]);
    if !conversation.system.is_empty() {
        let parts = conversation
            .system
            .iter()
            .map(|text| text_part(text))
            .collect();
        let system = Json::object([("parts", Json::Arr(parts))]);
        request = request.with("systemInstruction", system);
    }
    let config = Json::object([("temperature", Json::Num("0.70".into()))]);
    model(
        &conversation.model,
        request.with("generationConfig", config),
    )
}

fn content(role: &str, parts: Vec<Json>) -> Json {
    Json::object([("role", role.into()), ("parts", Json::Arr(parts))])
}

fn contents(turn: &Turn) -> Vec<Json> {
    match turn {
        Turn::System(_) => Vec::new(),
        Turn::User(parts) => vec![content("user", parts.iter().flat_map(parts_of).collect())],
        Turn::Assistant(parts) => vec![content("model", parts.iter().flat_map(parts_of).collect())],
        Turn::Results {
            groups,
            then,
            first,
        } => {
            let mut contents = Vec::new();
            if let Some(text) = first {
                contents.push(content("user", vec![text_part(text)]));
            }
            contents.extend(
                groups
                    .iter()
                    .map(|group| content("user", group.iter().map(response).collect())),
            );
            if let Some(text) = then {
                contents.push(content("user", vec![text_part(text)]));
            }
            contents
        }
        Turn::Stranger(text) => vec![content("narrator", vec![text_part(text)])],
    }
}

fn text_part(text: &str) -> Json {
    Json::object([("text", text.into())])
}

fn parts_of(part: &Part) -> Vec<Json> {
    vec![match part {
        Part::Text(text) | Part::Plain(text) | Part::Marked(text) => text_part(text),
        Part::Media(Media::Document) => Json::object([(
            "fileData",
            Json::object([
                ("mimeType", "application/pdf".into()),
                ("fileUri", "https://example.com/f".into()),
            ]),
        )]),
        Part::Media(kind) => {
            let mime = if *kind == Media::Audio {
                "audio/wav"
            } else {
                "image/png"
            };
            let data = Json::object([("mimeType", mime.into()), ("data", PIXEL.into())]);
            Json::object([("inlineData", data)])
        }
        Part::Thinking(Thinking::Signed(text)) => text_part(text)
            .with("thought", Json::Bool(true))
            .with("thoughtSignature", "c2ln".into()),
        Part::Thinking(Thinking::Redacted) => text_part("").with("thoughtSignature", "c2ln".into()),
        Part::Call(call) => function_call(call),
        Part::ServerTool(code) => {
            return vec![
                Json::object([(
                    "executableCode",
                    Json::object([
                        ("language", "PYTHON".into()),
                        ("code", code.as_str().into()),
                    ]),
                )]),
                Json::object([(
                    "codeExecutionResult",
                    Json::object([("outcome", "OUTCOME_OK".into()), ("output", "4\n".into())]),
                )]),
            ];
        }
        Part::Compaction(text) => Json::object([("compaction", text.as_str().into())]),
        Part::Unknown(text) => {
            Json::object([("hologram", Json::object([("data", text.as_str().into())]))])
        }
    }]
}

fn function_call(call: &Call) -> Json {
    let inner = Json::object([
        ("name", call.name.as_str().into()),
        ("args", Json::Obj(call.args.clone())),
    ])
    .with_if(!call.by_name, "id", call.id.as_str().into());
    Json::object([("functionCall", inner)]).with_if(call.signed, "thoughtSignature", "c2ln".into())
}

fn response(result: &ToolResult) -> Json {
    let key = if result.is_error { "error" } else { "output" };
    let response = match &result.content {
        ResultContent::Structured(members) => Json::Obj(members.clone()),
        ResultContent::Empty => Json::Obj(Vec::new()),
        other => Json::object([(key, Json::text(other.text()))]),
    };
    let inner = Json::object([
        ("name", result.name.as_str().into()),
        ("response", response),
    ])
    .with_if(!result.by_name, "id", result.id.as_str().into())
    .with_if(
        matches!(result.content, ResultContent::WithImage(_)),
        "parts",
        Json::Arr(parts_of(&Part::Media(Media::Image))),
    );
    Json::object([("functionResponse", inner)])
}
