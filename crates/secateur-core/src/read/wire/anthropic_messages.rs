//! `anthropic-messages`: top-level `system`, content as a string or typed blocks.

use super::read::{
    expect_array, expect_object, look_ahead, once, opaque, reasoning_part, result_content, shape,
    string_part, text_part,
};
use crate::read::error::ReadError;
use crate::read::view::{ArgsForm, Builder, ContentForm, Part, PartKind, Placement, Role};
use secateur_json::{Cursor, JsonStr, Kind, Span};

/// Reads the whole body into `builder`; the cursor is at the top-level object.
pub(super) fn read<'a>(
    cursor: &mut Cursor<'a>,
    builder: &mut Builder<'a>,
) -> Result<(), ReadError> {
    let body = cursor.body();
    let (mut seen_messages, mut seen_system) = (None, None);
    expect_object(cursor, "a request must be a JSON object")?;
    cursor.object(|cursor, key| {
        match key.decode(body).as_ref() {
            "messages" => {
                once(&mut seen_messages, (), key)?;
                expect_array(cursor, "`messages` must be an array")?;
                let list = builder.items(cursor, |builder, cursor, _| message(builder, cursor))?;
                builder.set_list(list);
            }
            "system" => {
                once(&mut seen_system, (), key)?;
                content(builder, cursor)?;
            }
            "model" => builder.set_model(cursor.string_or_skip()?),
            _ => drop(cursor.skip()?),
        }
        Ok::<_, ReadError>(())
    })?;
    Ok(())
}

fn message<'a>(builder: &mut Builder<'a>, cursor: &mut Cursor<'a>) -> Result<(), ReadError> {
    let body = cursor.body();
    expect_object(cursor, "a message must be an object")?;
    let parts_from = builder.parts_so_far();
    let (mut role, mut seen_content) = (None, None);
    cursor.object(|cursor, key| {
        match key.decode(body).as_ref() {
            "role" => once(&mut role, cursor.string_or_skip()?, key)?,
            "content" => {
                once(&mut seen_content, (), key)?;
                content(builder, cursor)?;
            }
            _ => drop(cursor.skip()?),
        }
        Ok::<_, ReadError>(())
    })?;
    let role = match role.flatten().map(|role| role.decode(body)).as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        _ => Role::Other,
    };
    builder.turn(role, parts_from);
    Ok(())
}

fn content<'a>(builder: &mut Builder<'a>, cursor: &mut Cursor<'a>) -> Result<(), ReadError> {
    match cursor.peek()? {
        Kind::String => string_part(builder, cursor, PartKind::Text),
        Kind::Array => builder.elements(cursor, block).map(drop),
        _ => Err(shape(
            "content must be a string or an array of blocks",
            cursor,
        )),
    }
}

fn block<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    placement: Placement,
) -> Result<(), ReadError> {
    let body = cursor.body();
    expect_object(cursor, "a content block must be an object")?;
    let kind = look_ahead(cursor, "type").map(|kind| kind.decode(body));
    match kind.as_deref() {
        Some("text") => text_part(builder, cursor, "text", placement),
        Some("tool_use") => tool_use(builder, cursor, placement),
        Some("tool_result") => tool_result(builder, cursor, placement),
        Some("thinking" | "redacted_thinking") => reasoning_part(builder, cursor, placement, true),
        Some("document") => document(builder, cursor, placement),
        Some("image" | "container_upload" | "search_result") => {
            opaque(builder, cursor, PartKind::Media, placement)
        }
        Some(server) if server.ends_with("_tool_use") || server.ends_with("_tool_result") => {
            opaque(builder, cursor, PartKind::ServerTool, placement)
        }
        _ => opaque(builder, cursor, PartKind::Opaque, placement),
    }
}

/// A document. Where its source is plain text, that text can be read; it stays a document. With citations on
/// it is closed: the model's answer points at places in it by number.
fn document<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    placement: Placement,
) -> Result<(), ReadError> {
    let body = cursor.body();
    let literals = builder.slots_so_far();
    let mut part = Part::new(PartKind::Media, placement);
    let start = cursor.at();
    let (mut texts, mut is_closed) = (Vec::new(), false);
    cursor.object(|cursor, key| {
        match (key.decode(body).as_ref(), cursor.peek()?) {
            ("source", Kind::Object) => texts.push(plain_source(cursor)?),
            ("citations", Kind::Object) => drop(cursor.object(|cursor, key| {
                let is_on = cursor.bool()? == Some(true);
                is_closed |= is_on && key.is(body, "enabled");
                Ok::<_, ReadError>(())
            })?),
            _ => drop(cursor.skip()?),
        }
        Ok::<_, ReadError>(())
    })?;
    part.value = Span::new(start, cursor.at());
    if let ([Some(text)], false) = (&texts[..], is_closed) {
        part.form = ContentForm::Str;
        builder.literal(*text, Placement::Fixed, false);
    }
    builder.part(part, literals)?;
    Ok(())
}

/// The text of a source of type `text`. A source that says something twice is left to the provider.
fn plain_source(cursor: &mut Cursor<'_>) -> Result<Option<JsonStr>, ReadError> {
    let body = cursor.body();
    let (mut kinds, mut data) = (Vec::new(), Vec::new());
    cursor.object(|cursor, key| {
        if key.is(body, "type") {
            kinds.push(cursor.string_or_skip()?);
        } else if key.is(body, "data") {
            data.push(cursor.string_or_skip()?);
        } else {
            cursor.skip()?;
        }
        Ok::<_, ReadError>(())
    })?;
    Ok(match (&kinds[..], &data[..]) {
        ([Some(kind)], [Some(text)]) if kind.is(body, "text") => Some(*text),
        _ => None,
    })
}

fn tool_use<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    placement: Placement,
) -> Result<(), ReadError> {
    let body = cursor.body();
    let literals = builder.slots_so_far();
    let mut part = Part::new(PartKind::Call, placement);
    let mut input = None;
    cursor.object(|cursor, key| {
        match key.decode(body).as_ref() {
            "id" => once(&mut part.id, cursor.string()?, key)?,
            "name" => once(&mut part.name, cursor.string()?, key)?,
            "input" => once(&mut input, cursor.skip()?, key)?,
            _ => drop(cursor.skip()?),
        }
        Ok::<_, ReadError>(())
    })?;
    if let Some(input) = input {
        part.args = ArgsForm::Value;
        part.value = input;
    }
    builder.part(part, literals)?;
    Ok(())
}

fn tool_result<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    placement: Placement,
) -> Result<(), ReadError> {
    let body = cursor.body();
    let literals = builder.slots_so_far();
    let mut part = Part::new(PartKind::Result, placement);
    let mut seen_content = None;
    cursor.object(|cursor, key| {
        match key.decode(body).as_ref() {
            "tool_use_id" => once(&mut part.id, cursor.string()?, key)?,
            "is_error" => part.is_error = cursor.bool()? == Some(true),
            "content" => {
                once(&mut seen_content, (), key)?;
                result_content(builder, cursor, &mut part, |kind| kind == "text")?;
            }
            _ => drop(cursor.skip()?),
        }
        Ok::<_, ReadError>(())
    })?;
    builder.part(part, literals)?;
    Ok(())
}
