//! `gemini-generate-content`: `contents[].parts[]`, in camelCase or snake_case.
//!
//! A `functionResponse` holds an object. Where that object is one string (`{"output": "…"}`), the
//! string is the result's text; any other object is text as JSON, which can be replaced as a whole.

use super::read::{expect_array, expect_object, once, shape};
use crate::read::error::ReadError;
use crate::read::view::{ArgsForm, Builder, ContentForm, Part, PartKind, Placement, Role};
use secateur_json::{Cursor, JsonStr, Kind, Span};

/// Reads the whole body into `builder`; the cursor is at the top-level object.
pub(super) fn read<'a>(
    cursor: &mut Cursor<'a>,
    builder: &mut Builder<'a>,
) -> Result<(), ReadError> {
    let body = cursor.body();
    let (mut seen_contents, mut seen_system) = (None, None);
    expect_object(cursor, "a request must be a JSON object")?;
    cursor.object(|cursor, key| {
        match key.decode(body).as_ref() {
            "contents" => {
                once(&mut seen_contents, (), key)?;
                expect_array(cursor, "`contents` must be an array")?;
                let list = builder.items(cursor, |builder, cursor, _| content(builder, cursor))?;
                builder.set_list(list);
            }
            "systemInstruction" | "system_instruction" => {
                once(&mut seen_system, (), key)?;
                if cursor.peek()? == Kind::Object {
                    parts_of(builder, cursor)?;
                } else {
                    cursor.skip()?;
                }
            }
            // The provider holds a prefix of the conversation.
            "cachedContent" | "cached_content" => {
                cursor.skip()?;
                builder.lock_history();
            }
            "model" => builder.set_model(cursor.string_or_skip()?),
            _ => drop(cursor.skip()?),
        }
        Ok::<_, ReadError>(())
    })?;
    Ok(())
}

fn content<'a>(builder: &mut Builder<'a>, cursor: &mut Cursor<'a>) -> Result<(), ReadError> {
    let body = cursor.body();
    expect_object(cursor, "a content must be an object")?;
    let parts_from = builder.parts_so_far();
    let role = parts_of(builder, cursor)?;
    let role = match role.map(|role| role.decode(body)).as_deref() {
        // A content without role is the user's.
        Some("user" | "") | None => Role::User,
        Some("model") => Role::Assistant,
        Some("function" | "tool") => Role::Tool,
        Some("system") => Role::System,
        Some(_) => Role::Other,
    };
    builder.turn(role, parts_from);
    Ok(())
}

/// Reads `{role, parts}`; returns the role.
fn parts_of<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
) -> Result<Option<JsonStr>, ReadError> {
    let body = cursor.body();
    let (mut role, mut seen_parts) = (None, None);
    cursor.object(|cursor, key| {
        match key.decode(body).as_ref() {
            "role" => once(&mut role, cursor.string_or_skip()?, key)?,
            "parts" => {
                once(&mut seen_parts, (), key)?;
                match cursor.peek()? {
                    Kind::Array => drop(builder.elements(cursor, part)?),
                    Kind::Object => part(builder, cursor, Placement::Fixed)?,
                    _ => return Err(shape("`parts` must be an array", cursor)),
                }
            }
            _ => drop(cursor.skip()?),
        }
        Ok::<_, ReadError>(())
    })?;
    Ok(role.flatten())
}

fn part<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    placement: Placement,
) -> Result<(), ReadError> {
    let body = cursor.body();
    expect_object(cursor, "a part must be an object")?;
    let literals = builder.slots_so_far();
    let start = cursor.at();
    let mut part = Part::new(PartKind::Opaque, placement);
    let (mut kind, mut is_thought) = (None, false);
    cursor.object(|cursor, key| {
        match key.decode(body).as_ref() {
            "text" => {
                once(&mut kind, PartKind::Text, key)?;
                let text = cursor.string()?;
                part.form = ContentForm::Str;
                builder.literal(text, Placement::Fixed, false);
            }
            "functionCall" | "function_call" => {
                once(&mut kind, PartKind::Call, key)?;
                function_call(cursor, &mut part)?;
            }
            "functionResponse" | "function_response" => {
                once(&mut kind, PartKind::Result, key)?;
                function_response(builder, cursor, &mut part)?;
            }
            "inlineData" | "inline_data" | "fileData" | "file_data" => {
                once(&mut kind, PartKind::Media, key)?;
                cursor.skip()?;
            }
            "executableCode"
            | "executable_code"
            | "codeExecutionResult"
            | "code_execution_result"
            | "toolCall"
            | "tool_call"
            | "toolResponse"
            | "tool_response" => {
                once(&mut kind, PartKind::ServerTool, key)?;
                cursor.skip()?;
            }
            "thought" => is_thought = cursor.bool()? == Some(true),
            "thoughtSignature" | "thought_signature" => {
                cursor.skip()?;
                part.is_signed = true;
            }
            _ => drop(cursor.skip()?),
        }
        Ok::<_, ReadError>(())
    })?;
    part.kind = match kind {
        Some(PartKind::Text) if is_thought => PartKind::Thinking,
        Some(kind) => kind,
        None => PartKind::Opaque,
    };
    if !matches!(part.kind, PartKind::Call | PartKind::Result) {
        part.value = Span::new(start, cursor.at());
    }
    builder.part(part, literals)?;
    Ok(())
}

fn function_call(cursor: &mut Cursor<'_>, part: &mut Part) -> Result<(), ReadError> {
    let body = cursor.body();
    expect_object(cursor, "`functionCall` must be an object")?;
    cursor.object(|cursor, key| {
        match key.decode(body).as_ref() {
            "id" => part.id = cursor.string_or_skip()?,
            "name" => part.name = cursor.string_or_skip()?,
            "args" => {
                part.value = cursor.skip()?;
                part.args = ArgsForm::Value;
            }
            _ => drop(cursor.skip()?),
        }
        Ok::<_, ReadError>(())
    })?;
    Ok(())
}

fn function_response<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    part: &mut Part,
) -> Result<(), ReadError> {
    let body = cursor.body();
    expect_object(cursor, "`functionResponse` must be an object")?;
    let mut seen_response = None;
    cursor.object(|cursor, key| {
        match key.decode(body).as_ref() {
            "id" => part.id = cursor.string_or_skip()?,
            "name" => part.name = cursor.string_or_skip()?,
            "response" => {
                once(&mut seen_response, (), key)?;
                response(builder, cursor, part)?;
            }
            // Multimodal results carry their media here.
            "parts" => {
                cursor.skip()?;
                part.has_media = true;
            }
            _ => drop(cursor.skip()?),
        }
        Ok::<_, ReadError>(())
    })?;
    Ok(())
}

fn response<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    part: &mut Part,
) -> Result<(), ReadError> {
    let body = cursor.body();
    if cursor.peek()? != Kind::Object {
        part.value = cursor.skip()?;
        part.has_media = true;
        return Ok(());
    }
    let (mut only_text, mut members) = (None, 0);
    part.value = cursor.object(|cursor, key| {
        members += 1;
        part.is_error |= key.is(body, "error");
        only_text = cursor.string_or_skip()?;
        Ok::<_, ReadError>(())
    })?;
    match (only_text, members) {
        (_, 0) => part.form = ContentForm::Empty,
        (Some(text), 1) => {
            part.form = ContentForm::Str;
            builder.literal(text, Placement::Fixed, false);
        }
        _ => part.form = ContentForm::Json,
    }
    Ok(())
}
