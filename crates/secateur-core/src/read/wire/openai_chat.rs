//! `openai-chat`: `messages` with `tool_calls` and role `tool`, and the legacy `function_call`.

use super::read::{
    arguments, duplicate, expect_array, expect_object, look_ahead, once, opaque, reasoning_part,
    result_content, string_part, text_part,
};
use crate::read::error::ReadError;
use crate::read::view::{Builder, Part, PartKind, Placement, Role};
use secateur_json::{Cursor, JsonStr, Kind};

/// Reads the whole body into `builder`; the cursor is at the top-level object.
pub(super) fn read<'a>(
    cursor: &mut Cursor<'a>,
    builder: &mut Builder<'a>,
) -> Result<(), ReadError> {
    let body = cursor.body();
    let mut seen_messages = None;
    expect_object(cursor, "a request must be a JSON object")?;
    cursor.object(|cursor, key| {
        match key.decode(body).as_ref() {
            "messages" => {
                once(&mut seen_messages, (), key)?;
                expect_array(cursor, "`messages` must be an array")?;
                let list = builder.items(cursor, |builder, cursor, _| message(builder, cursor))?;
                builder.set_list(list);
            }
            "model" => builder.set_model(cursor.string_or_skip()?),
            _ => drop(cursor.skip()?),
        }
        Ok::<_, ReadError>(())
    })?;
    Ok(())
}

fn role_of(name: &str) -> Role {
    match name {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" | "function" => Role::Tool,
        _ => Role::Other,
    }
}

fn message<'a>(builder: &mut Builder<'a>, cursor: &mut Cursor<'a>) -> Result<(), ReadError> {
    let body = cursor.body();
    expect_object(cursor, "a message must be an object")?;
    let role = look_ahead(cursor, "role").map_or(Role::Other, |role| role_of(&role.decode(body)));
    let parts_from = builder.parts_so_far();
    let (mut seen_role, mut content, mut call_id, mut name) = (None, None, None, None);
    cursor.object(|cursor, key| {
        match key.decode(body).as_ref() {
            "role" => once(&mut seen_role, cursor.skip()?, key)?,
            "content" => {
                once(&mut content, (), key)?;
                if role == Role::Tool {
                    tool_result(builder, cursor)?;
                } else {
                    message_content(builder, cursor)?;
                }
            }
            "tool_calls" if cursor.peek()? == Kind::Array => {
                builder.elements(cursor, tool_call)?;
            }
            "function_call" if cursor.peek()? == Kind::Object => {
                function(builder, cursor, None, Placement::Fixed)?;
            }
            "tool_call_id" => once(&mut call_id, cursor.string_or_skip()?, key)?,
            "name" => once(&mut name, cursor.string_or_skip()?, key)?,
            // Reasoning that a server hands back in its own member. Some servers demand it again.
            "reasoning_content" | "reasoning" | "reasoning_details" => {
                reasoning_part(builder, cursor, Placement::Fixed, false)?;
            }
            _ => drop(cursor.skip()?),
        }
        Ok::<_, ReadError>(())
    })?;
    if role == Role::Tool {
        if content.is_none() {
            let literals = builder.slots_so_far();
            builder.part(Part::new(PartKind::Result, Placement::Fixed), literals)?;
        }
        if let Some(result) = builder.part_mut(parts_from) {
            result.id = call_id.flatten();
            result.name = name.flatten();
        }
    }
    builder.turn(role, parts_from);
    Ok(())
}

fn tool_result<'a>(builder: &mut Builder<'a>, cursor: &mut Cursor<'a>) -> Result<(), ReadError> {
    let literals = builder.slots_so_far();
    let mut part = Part::new(PartKind::Result, Placement::Fixed);
    result_content(builder, cursor, &mut part, |kind| kind == "text")?;
    builder.part(part, literals)?;
    Ok(())
}

fn message_content<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
) -> Result<(), ReadError> {
    let body = cursor.body();
    match cursor.peek()? {
        Kind::String => string_part(builder, cursor, PartKind::Text),
        Kind::Array => {
            builder.elements(cursor, |builder, cursor, placement| {
                expect_object(cursor, "a content part must be an object")?;
                let kind = look_ahead(cursor, "type").map(|kind| kind.decode(body));
                match kind.as_deref() {
                    Some("text") => text_part(builder, cursor, "text", placement),
                    Some("refusal") => text_part(builder, cursor, "refusal", placement),
                    Some("image_url" | "input_audio" | "file" | "video_url" | "audio_url") => {
                        opaque(builder, cursor, PartKind::Media, placement)
                    }
                    Some("thinking" | "reasoning") => {
                        reasoning_part(builder, cursor, placement, false)
                    }
                    _ => opaque(builder, cursor, PartKind::Opaque, placement),
                }
            })?;
            Ok(())
        }
        _ => {
            cursor.skip()?;
            Ok(())
        }
    }
}

/// One element of `tool_calls`: a function call, or a custom tool call with free text.
fn tool_call<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    placement: Placement,
) -> Result<(), ReadError> {
    let body = cursor.body();
    expect_object(cursor, "a tool call must be an object")?;
    let parts_from = builder.parts_so_far();
    let (mut id, mut called) = (None, None);
    let start = cursor.at();
    cursor.object(|cursor, key| {
        match key.decode(body).as_ref() {
            "id" => once(&mut id, cursor.string_or_skip()?, key)?,
            "function" | "custom" if cursor.peek()? == Kind::Object => {
                if called.replace(()).is_some() {
                    return Err(duplicate(key));
                }
                function(builder, cursor, None, placement)?;
            }
            _ => drop(cursor.skip()?),
        }
        Ok::<_, ReadError>(())
    })?;
    if called.is_none() {
        let literals = builder.slots_so_far();
        let mut part = Part::new(PartKind::Call, placement);
        part.value = secateur_json::Span::new(start, cursor.at());
        builder.part(part, literals)?;
    }
    if let Some(part) = builder.part_mut(parts_from) {
        part.id = id.flatten();
    }
    Ok(())
}

fn function<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    id: Option<JsonStr>,
    placement: Placement,
) -> Result<(), ReadError> {
    let body = cursor.body();
    let literals = builder.slots_so_far();
    let mut part = Part::new(PartKind::Call, placement);
    part.id = id;
    let mut seen_args = None;
    cursor.object(|cursor, key| {
        match key.decode(body).as_ref() {
            "name" => part.name = cursor.string_or_skip()?,
            "arguments" | "input" => {
                once(&mut seen_args, (), key)?;
                arguments(builder, cursor, &mut part)?;
            }
            _ => drop(cursor.skip()?),
        }
        Ok::<_, ReadError>(())
    })?;
    builder.part(part, literals)?;
    Ok(())
}
