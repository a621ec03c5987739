//! Conversations in the shapes of the four dialects.

pub(crate) mod anthropic_messages;
pub(crate) mod gemini_generate_content;
pub(crate) mod openai_chat;
pub(crate) mod openai_responses;

use secateur_core::Dialect;

use crate::Spelling;
use crate::conversation::Conversation;
use crate::json::Json;

/// One pixel.
pub(crate) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The value as JSON in a string.
pub(crate) fn as_text(members: &[(String, Json)]) -> Json {
    let bytes = crate::Spelling::default().write(&Json::Obj(members.to_vec()));
    Json::text(String::from_utf8_lossy(&bytes).into_owned())
}

pub(crate) fn model(name: &str, request: Json) -> Json {
    request.with_if(!name.is_empty(), "model", name.into())
}

impl Conversation {
    /// The request in a dialect.
    #[must_use]
    pub fn json(&self, dialect: Dialect) -> Json {
        match dialect {
            Dialect::OpenaiResponses => openai_responses::request(self),
            Dialect::AnthropicMessages => anthropic_messages::request(self),
            Dialect::GeminiGenerateContent => gemini_generate_content::request(self),
            _ => openai_chat::request(self),
        }
    }

    /// The request as bytes, written plainly.
    #[must_use]
    pub fn body(&self, dialect: Dialect) -> Vec<u8> {
        Spelling::default().write(&self.json(dialect))
    }
}
