//! What the provider says: composed once per request, recorded, replayed.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value, json};

use crate::request::Api;

/// Recordings kept at most; then they are made anew.
const MAX_RECORDINGS: usize = 10_000;

/// An answer, in no API's shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// An id that depends on the request alone.
    pub id: u64,
    /// Text; empty: none.
    pub text: String,
    /// Tool calls, in order.
    pub calls: Vec<Call>,
    /// What the model thought first.
    pub thinking: Option<String>,
}

/// One tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// What its id is made of.
    pub number: u64,
    /// The tool.
    pub name: String,
    /// What it is given.
    pub input: CallInput,
}

/// What a tool is given.
#[derive(Clone, Debug, PartialEq)]
pub enum CallInput {
    /// Arguments by name.
    Arguments(Value),
    /// One text, for the custom tools of the Responses API.
    Text(String),
}

impl CallInput {
    /// The input as it is streamed.
    #[must_use]
    pub fn spelled(&self) -> String {
        match self {
            Self::Arguments(arguments) => arguments.to_string(),
            Self::Text(text) => text.clone(),
        }
    }

    /// The arguments; a text is the only one.
    #[must_use]
    pub fn arguments(&self) -> Value {
        match self {
            Self::Arguments(arguments) => arguments.clone(),
            Self::Text(text) => json!({ "input": text }),
        }
    }
}

/// Answers by request.
#[derive(Debug, Default)]
pub struct Recordings {
    made: HashMap<u64, Answer>,
}

impl Recordings {
    /// The answer to `body`: replayed, or composed and kept.
    pub fn answer(&mut self, api: Api, body: &Value, think: bool) -> Answer {
        let mut hasher = DefaultHasher::new();
        (api, body.to_string(), think).hash(&mut hasher);
        let id = hasher.finish();
        if self.made.len() >= MAX_RECORDINGS {
            self.made.clear();
        }
        let made = self.made.entry(id);
        made.or_insert_with(|| compose(api, body, id, think))
            .clone()
    }

    /// How many different requests were answered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.made.len()
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.made.is_empty()
    }
}

fn compose(api: Api, body: &Value, id: u64, think: bool) -> Answer {
    let mut answer = Answer {
        id,
        text: String::new(),
        calls: Vec::new(),
        thinking: think.then(|| format!("The request is number {id:016x}; nothing more to it.")),
    };
    if wanted_schema(api, body).is_none()
        && let Some((name, schema)) = first_tool(api, body)
        && !ends_with_a_result(api, body)
    {
        answer.calls.push(Call {
            number: id,
            name,
            input: CallInput::Arguments(sample(&schema, &schema, 0)),
        });
    } else {
        answer.text = closing_text(api, body, id);
    }
    answer
}

/// What is said where no tool is called: a value of the wanted schema, or a sentence.
pub(crate) fn closing_text(api: Api, body: &Value, id: u64) -> String {
    if let Some(schema) = wanted_schema(api, body) {
        return sample(&schema, &schema, 0).to_string();
    }
    let turns = turns(api, body).map_or(1, Vec::len);
    // Characters of two, three and four bytes, so that a chunk can end inside one.
    format!("Understood: {turns} turns read, naïvely résuméd — 了解しました 🙂. Answer {id:016x}.")
}

fn turns(api: Api, body: &Value) -> Option<&Vec<Value>> {
    let key = match api {
        Api::Chat | Api::Messages => "messages",
        Api::Responses => "input",
        Api::Gemini => "contents",
    };
    body.get(key)?.as_array()
}

fn ends_with_a_result(api: Api, body: &Value) -> bool {
    let Some(last) = turns(api, body).and_then(|turns| turns.last()) else {
        return false;
    };
    let has = |list: &str, test: fn(&Value) -> bool| {
        last[list]
            .as_array()
            .is_some_and(|parts| parts.iter().any(test))
    };
    match api {
        Api::Chat => last["role"] == "tool" || last["role"] == "function",
        Api::Responses => last["type"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("_output")),
        Api::Messages => has("content", |part| part["type"] == "tool_result"),
        Api::Gemini => has("parts", |part| part.get("functionResponse").is_some()),
    }
}

/// Name and input schema of the first tool that the client runs.
fn first_tool(api: Api, body: &Value) -> Option<(String, Value)> {
    let tools = body.get("tools")?.as_array()?;
    tools.iter().find_map(|tool| {
        let (name, schema) = match api {
            Api::Chat => (&tool["function"]["name"], &tool["function"]["parameters"]),
            Api::Responses if tool["type"] == "function" => (&tool["name"], &tool["parameters"]),
            Api::Responses => return None,
            Api::Messages => (&tool["name"], tool.get("input_schema")?),
            Api::Gemini => {
                let declared = tool
                    .get("functionDeclarations")
                    .or_else(|| tool.get("function_declarations"))?
                    .get(0)?;
                // The API takes both spellings, and one library sends the second.
                let schema = declared
                    .get("parametersJsonSchema")
                    .or_else(|| declared.get("parameters_json_schema"));
                (&declared["name"], schema.unwrap_or(&declared["parameters"]))
            }
        };
        Some((name.as_str()?.to_owned(), schema.clone()))
    })
}

/// The schema that the answer must follow, if the request asks for one.
fn wanted_schema(api: Api, body: &Value) -> Option<Value> {
    let found = match api {
        Api::Chat => body.pointer("/response_format/json_schema/schema"),
        Api::Responses => body.pointer("/text/format/schema"),
        Api::Messages => body
            .pointer("/output_config/format/schema")
            .or_else(|| body.pointer("/output_format/schema")),
        Api::Gemini => body
            .pointer("/generationConfig/responseSchema")
            .or_else(|| body.pointer("/generationConfig/responseJsonSchema")),
    };
    found.cloned()
}

/// A value that a schema describes.
fn sample(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth > 8 {
        return Value::Null;
    }
    if let Some(choice) = schema.pointer("/enum/0").or_else(|| schema.get("const")) {
        return choice.clone();
    }
    if let Some(pointer) = schema["$ref"].as_str().and_then(|at| at.strip_prefix('#')) {
        return root
            .pointer(pointer)
            .map_or(Value::Null, |at| sample(at, root, depth + 1));
    }
    let kind = schema["type"]
        .as_str()
        .unwrap_or_default()
        .to_ascii_lowercase();
    match kind.as_str() {
        "string" => json!("Zürich"),
        "integer" => json!(7),
        // Between 0 and 1, where scores and confidences lie.
        "number" => json!(0.25),
        "boolean" => json!(true),
        "array" => match schema.get("items") {
            Some(items) => json!([sample(items, root, depth + 1)]),
            None => json!([]),
        },
        _ => {
            let mut object = Map::new();
            if let Some(properties) = schema["properties"].as_object() {
                for (name, property) in properties {
                    object.insert(name.clone(), sample(property, root, depth + 1));
                }
            }
            Value::Object(object)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_request_gets_the_recorded_answer() {
        let mut recordings = Recordings::default();
        let body = json!({"messages":[{"role":"user","content":"hi"}]});
        let first = recordings.answer(Api::Chat, &body, false);
        assert_eq!(first, recordings.answer(Api::Chat, &body, false));
        assert_eq!(recordings.len(), 1);
    }

    #[test]
    fn calls_a_tool_with_arguments_of_its_schema_until_a_result_is_there() {
        let mut recordings = Recordings::default();
        let tool = json!({"name":"weather","input_schema":{"type":"object",
            "properties":{"city":{"type":"string"},"days":{"type":"integer"}}}});
        let ask = json!({"tools":[tool],"messages":[{"role":"user","content":"hi"}]});
        let call = &recordings.answer(Api::Messages, &ask, false).calls[0];
        let days = &call.input.arguments()["days"];
        assert_eq!((call.name.as_str(), days), ("weather", &json!(7)));
        let done =
            json!({"tools":[tool],"messages":[{"role":"user","content":[{"type":"tool_result"}]}]});
        assert!(
            recordings
                .answer(Api::Messages, &done, false)
                .calls
                .is_empty()
        );
    }
}
