//! M8: answers follow the workload's schema, in each provider's own way of asking for it.
//!
//! Checked against the providers' documentation, November 2026. A request that sets any format
//! itself is left alone.

use secateur_core::Dialect;
use secateur_core::internal::json::{Cursor, JsonError, Kind, Limits};

use super::top_level::Object;

/// What a workload expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSchema {
    name: String,
    schema: String,
}

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// It is not JSON.
    #[error("the schema is not JSON: {0}")]
    NotJson(#[from] JsonError),
    /// It is not an object.
    #[error("the schema must be a JSON object")]
    NotAnObject,
}

impl OutputSchema {
    /// A schema from its JSON text.
    ///
    /// # Errors
    /// Not a JSON object.
    pub fn new(name: &str, schema: &str) -> Result<Self, SchemaError> {
        let mut cursor = Cursor::new(schema.as_bytes(), &Limits::default())?;
        if cursor.peek()? != Kind::Object {
            return Err(SchemaError::NotAnObject);
        }
        cursor.skip()?;
        cursor.finish()?;
        Ok(Self {
            name: name.to_owned(),
            schema: schema.trim().to_owned(),
        })
    }

    /// The body with the schema asked for; `None` where it sets a format itself or cannot be read.
    pub(crate) fn ask(&self, body: &[u8], dialect: Dialect) -> Option<Vec<u8>> {
        let top = Object::read(body).ok()?;
        let (name, schema) = (&self.name, &self.schema);
        let out = match dialect {
            Dialect::OpenaiChat => match top.get("response_format") {
                None => top.with_member(
                    "response_format",
                    &format!(r#"{{"type":"json_schema","json_schema":{{"name":"{name}","schema":{schema}}}}}"#),
                ),
                Some(_) => return None,
            },
            Dialect::OpenaiResponses => {
                let format = format!(r#"{{"type":"json_schema","name":"{name}","schema":{schema}}}"#);
                nested(&top, &["text"], &["format"], &format!(r#""format":{format}"#))?
            }
            Dialect::AnthropicMessages => {
                if top.has("output_format") {
                    return None;
                }
                let format = format!(r#""format":{{"type":"json_schema","schema":{schema}}}"#);
                nested(&top, &["output_config"], &["format"], &format)?
            }
            Dialect::GeminiGenerateContent => nested(
                &top,
                &["generationConfig", "generation_config"],
                &[
                    "responseMimeType",
                    "response_mime_type",
                    "responseSchema",
                    "response_schema",
                    "responseJsonSchema",
                    "response_json_schema",
                ],
                &format!(r#""responseMimeType":"application/json","responseSchema":{schema}"#),
            )?,
            _ => return None,
        };
        Some(out.into_bytes())
    }
}

/// Puts `members` (already written out) into the object under one of `outer`, which is made where
/// it is missing. `None` where one of `taken` is set already.
fn nested(top: &Object<'_>, outer: &[&str], taken: &[&str], members: &str) -> Option<String> {
    let found = outer
        .iter()
        .find_map(|name| top.get(name).map(|member| (member, *name)));
    let Some((member, _)) = found else {
        return Some(top.with_member(outer.first()?, &format!("{{{members}}}")));
    };
    match member.kind {
        Kind::Null => Some(top.with_value(member, &format!("{{{members}}}"))),
        Kind::Object => {
            let inner = top.inside(member).ok()?;
            if taken.iter().any(|name| inner.get(name).is_some()) {
                return None;
            }
            let (name, value) = members.strip_prefix('"')?.split_once("\":")?;
            Some(inner.with_member(name, value))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn asks(dialect: Dialect, body: &str, expected: Option<&str>) {
        let schema = OutputSchema::new("a", r#" {"type":"object"} "#).unwrap();
        let out = schema.ask(body.as_bytes(), dialect);
        let out = out.map(|out| String::from_utf8(out).unwrap());
        assert_eq!(out.as_deref(), expected);
        if let Some(out) = out {
            serde_json::from_str::<serde_json::Value>(&out).unwrap();
        }
    }

    #[test]
    fn each_provider_is_asked_in_its_own_way() {
        use Dialect::{AnthropicMessages, GeminiGenerateContent, OpenaiChat, OpenaiResponses};
        asks(
            OpenaiChat,
            r#"{"n":1.0}"#,
            Some(
                r#"{"n":1.0,"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}}}"#,
            ),
        );
        asks(
            OpenaiResponses,
            r#"{"x":1,"text":{"verbosity":"low"}}"#,
            Some(
                r#"{"x":1,"text":{"verbosity":"low","format":{"type":"json_schema","name":"a","schema":{"type":"object"}}}}"#,
            ),
        );
        asks(
            OpenaiResponses,
            r#"{"x":1}"#,
            Some(
                r#"{"x":1,"text":{"format":{"type":"json_schema","name":"a","schema":{"type":"object"}}}}"#,
            ),
        );
        asks(
            AnthropicMessages,
            r#"{"x":1}"#,
            Some(
                r#"{"x":1,"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}}"#,
            ),
        );
        asks(
            GeminiGenerateContent,
            r#"{"generationConfig":{"temperature":0}}"#,
            Some(
                r#"{"generationConfig":{"temperature":0,"responseMimeType":"application/json","responseSchema":{"type":"object"}}}"#,
            ),
        );
        asks(
            GeminiGenerateContent,
            r#"{"generationConfig":null}"#,
            Some(
                r#"{"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"object"}}}"#,
            ),
        );
    }

    #[test]
    fn a_format_of_the_caller_stays() {
        use Dialect::{AnthropicMessages, GeminiGenerateContent, OpenaiChat, OpenaiResponses};
        asks(OpenaiChat, r#"{"response_format":{"type":"text"}}"#, None);
        asks(
            OpenaiResponses,
            r#"{"text":{"format":{"type":"text"}}}"#,
            None,
        );
        asks(AnthropicMessages, r#"{"output_format":{}}"#, None);
        asks(
            AnthropicMessages,
            r#"{"output_config":{"format":{}}}"#,
            None,
        );
        asks(
            GeminiGenerateContent,
            r#"{"generationConfig":{"responseMimeType":"text/plain"}}"#,
            None,
        );
        asks(
            GeminiGenerateContent,
            r#"{"generation_config":{"response_schema":{}}}"#,
            None,
        );
        asks(OpenaiChat, "[]", None);
    }

    #[test]
    fn a_schema_must_be_an_object() {
        assert!(OutputSchema::new("a", "[1]").is_err());
        assert!(OutputSchema::new("a", "{").is_err());
    }
}
