//! Reading a body: one reader per wire format, and detection of the format by the shape of a body.

mod anthropic_messages;
mod detect;
mod gemini_generate_content;
mod openai_chat;
mod openai_responses;
mod read;

pub use detect::detect;

use secateur_json::{Cursor, Limits};

use super::dialect::Dialect;
use super::error::ReadError;
use super::view::{Builder, View};

/// Reads a body of a known dialect.
///
/// # Errors
/// Not JSON, over the limits, or of another shape.
pub fn read<'a>(body: &'a [u8], dialect: Dialect, limits: &Limits) -> Result<View<'a>, ReadError> {
    let mut cursor = Cursor::new(body, limits)?;
    let mut builder = Builder::new(dialect, cursor.body());
    let read_all = match dialect {
        Dialect::OpenaiChat => openai_chat::read,
        Dialect::OpenaiResponses => openai_responses::read,
        Dialect::AnthropicMessages => anthropic_messages::read,
        Dialect::GeminiGenerateContent => gemini_generate_content::read,
    };
    read_all(&mut cursor, &mut builder)?;
    cursor.finish()?;
    let view = builder.finish();
    if view.list().is_none() && view.turns().is_empty() {
        return Err(ReadError::Missing {
            key: dialect.facts().list_key,
            dialect,
        });
    }
    Ok(view)
}

/// A user turn with this text, which is already escaped.
pub(crate) fn user_turn(dialect: Dialect, escaped: &str) -> String {
    match dialect {
        Dialect::OpenaiChat | Dialect::OpenaiResponses | Dialect::AnthropicMessages => {
            format!(r#"{{"role":"user","content":"{escaped}"}}"#)
        }
        Dialect::GeminiGenerateContent => {
            format!(r#"{{"role":"user","parts":[{{"text":"{escaped}"}}]}}"#)
        }
    }
}
