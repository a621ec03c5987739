//! `openai-responses`: `input` as a string or as items.
//!
//! What the model produced in one go (reasoning, calls, text) is one turn here, as in the other
//! dialects; each output of a tool is a turn of its own, as in chat.

use super::read::{
    arguments, expect_object, look_ahead, once, opaque, reasoning_part, result_content, shape,
    string_part, text_part,
};
use crate::read::error::ReadError;
use crate::read::view::{ArgsForm, Builder, Part, PartKind, Placement, Role};
use secateur_json::{Cursor, Kind, Span};

/// Reads the whole body into `builder`; the cursor is at the top-level object.
pub(super) fn read<'a>(
    cursor: &mut Cursor<'a>,
    builder: &mut Builder<'a>,
) -> Result<(), ReadError> {
    let body = cursor.body();
    let (mut seen_input, mut seen_instructions) = (None, None);
    expect_object(cursor, "a request must be a JSON object")?;
    cursor.object(|cursor, key| {
        match key.decode(body).as_ref() {
            "input" => {
                once(&mut seen_input, (), key)?;
                input(builder, cursor)?;
            }
            "instructions" => {
                once(&mut seen_instructions, (), key)?;
                if cursor.peek()? == Kind::String {
                    string_part(builder, cursor, PartKind::Text)?;
                } else {
                    cursor.skip()?;
                }
            }
            "previous_response_id" | "conversation" => {
                if cursor.skip()?.of(body) != "null" {
                    builder.lock_history();
                }
            }
            "model" => builder.set_model(cursor.string_or_skip()?),
            _ => drop(cursor.skip()?),
        }
        Ok::<_, ReadError>(())
    })?;
    Ok(())
}

fn input<'a>(builder: &mut Builder<'a>, cursor: &mut Cursor<'a>) -> Result<(), ReadError> {
    let body = cursor.body();
    match cursor.peek()? {
        Kind::String => {
            let parts_from = builder.parts_so_far();
            string_part(builder, cursor, PartKind::Text)?;
            builder.lone_turn(Role::User, parts_from);
        }
        Kind::Array => {
            // Reasoning that the provider knows by id needs the item that it was produced with.
            let mut known_reasoning = None;
            let list = builder.items(cursor, |builder, cursor, placement| {
                cursor.peek()?;
                let start = cursor.at();
                let has = |key| look_ahead(cursor, key).is_some();
                if let Some(at) = known_reasoning.take()
                    && !has("id")
                    && !has("call_id")
                    && look_ahead(cursor, "role").is_some_and(|role| role.is(body, "assistant"))
                {
                    builder.bare_reasoning(at);
                }
                let kind = look_ahead(cursor, "type");
                if kind.is_some_and(|kind| kind.is(body, "reasoning"))
                    && has("id")
                    && has("encrypted_content")
                {
                    known_reasoning = Some(start);
                }
                item(builder, cursor, placement)
            })?;
            builder.set_list(list);
        }
        _ => {
            return Err(shape(
                "`input` must be a string or an array of items",
                cursor,
            ));
        }
    }
    Ok(())
}

fn item<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    placement: Placement,
) -> Result<(), ReadError> {
    let body = cursor.body();
    expect_object(cursor, "an input item must be an object")?;
    let parts_from = builder.parts_so_far();
    let kind = look_ahead(cursor, "type").map(|kind| kind.decode(body));
    match kind.as_deref() {
        None | Some("message") => return message(builder, cursor),
        Some("reasoning") => {
            reasoning_part(builder, cursor, placement, true)?;
            builder.assistant_item(parts_from);
        }
        // Other instructions among the items, such as tools that are added later.
        Some(_) if look_ahead(cursor, "role").is_some() => {
            let role = role_of(
                look_ahead(cursor, "role")
                    .map(|role| role.decode(body))
                    .as_deref(),
            );
            opaque(builder, cursor, PartKind::Opaque, placement)?;
            builder.turn(role, parts_from);
        }
        Some(name) if name.ends_with("_call") => {
            call(builder, cursor, placement)?;
            builder.assistant_item(parts_from);
        }
        Some(name) if name.ends_with("_call_output") || name.ends_with("_search_output") => {
            output(builder, cursor, placement)?;
            let answers_client = builder
                .part_mut(parts_from)
                .is_some_and(|part| part.kind == PartKind::Result);
            if answers_client {
                builder.turn(Role::Tool, parts_from);
            } else {
                builder.assistant_item(parts_from);
            }
        }
        Some(_) => {
            opaque(builder, cursor, PartKind::Opaque, placement)?;
            builder.turn(Role::Other, parts_from);
        }
    }
    Ok(())
}

fn role_of(name: Option<&str>) -> Role {
    match name {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        _ => Role::Other,
    }
}

fn message<'a>(builder: &mut Builder<'a>, cursor: &mut Cursor<'a>) -> Result<(), ReadError> {
    let body = cursor.body();
    let parts_from = builder.parts_so_far();
    let (mut role, mut seen_content) = (None, None);
    cursor.object(|cursor, key| {
        match key.decode(body).as_ref() {
            "role" => once(&mut role, cursor.string_or_skip()?, key)?,
            "content" => {
                once(&mut seen_content, (), key)?;
                message_content(builder, cursor)?;
            }
            _ => drop(cursor.skip()?),
        }
        Ok::<_, ReadError>(())
    })?;
    match role_of(role.flatten().map(|role| role.decode(body)).as_deref()) {
        Role::Assistant => builder.assistant_item(parts_from),
        other => builder.turn(other, parts_from),
    }
    Ok(())
}

fn message_content<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
) -> Result<(), ReadError> {
    let body = cursor.body();
    match cursor.peek()? {
        Kind::String => string_part(builder, cursor, PartKind::Text),
        Kind::Array => builder
            .elements(cursor, |builder, cursor, placement| {
                expect_object(cursor, "a content part must be an object")?;
                let kind = look_ahead(cursor, "type").map(|kind| kind.decode(body));
                match kind.as_deref() {
                    Some("input_text" | "output_text" | "text") => {
                        text_part(builder, cursor, "text", placement)
                    }
                    Some("refusal") => text_part(builder, cursor, "refusal", placement),
                    Some("input_image" | "input_file" | "input_audio" | "computer_screenshot") => {
                        opaque(builder, cursor, PartKind::Media, placement)
                    }
                    _ => opaque(builder, cursor, PartKind::Opaque, placement),
                }
            })
            .map(drop),
        _ => {
            cursor.skip()?;
            Ok(())
        }
    }
}

/// A call of the client's (it has a `call_id`) or of a tool that the provider ran itself (none, or
/// its `execution` says so).
fn call<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    placement: Placement,
) -> Result<(), ReadError> {
    let body = cursor.body();
    let literals = builder.slots_so_far();
    let mut part = Part::new(PartKind::ServerTool, placement);
    let start = cursor.at();
    let (mut args, mut is_provider_run) = (None, false);
    cursor.object(|cursor, key| {
        match key.decode(body).as_ref() {
            "call_id" => part.id = cursor.string_or_skip()?,
            "execution" => {
                let execution = cursor.string_or_skip()?;
                is_provider_run = execution.is_some_and(|word| word.is(body, "server"));
            }
            "name" => part.name = cursor.string_or_skip()?,
            "arguments" | "input" | "action" | "operation" => {
                once(&mut args, (), key)?;
                arguments(builder, cursor, &mut part)?;
            }
            _ => drop(cursor.skip()?),
        }
        Ok::<_, ReadError>(())
    })?;
    if part.id.is_some() && !is_provider_run {
        part.kind = PartKind::Call;
    } else {
        part.value = Span::new(start, cursor.at());
        part.args = ArgsForm::None;
    }
    builder.part(part, literals)?;
    Ok(())
}

fn output<'a>(
    builder: &mut Builder<'a>,
    cursor: &mut Cursor<'a>,
    placement: Placement,
) -> Result<(), ReadError> {
    let body = cursor.body();
    let literals = builder.slots_so_far();
    let mut part = Part::new(PartKind::ServerTool, placement);
    let (mut seen_output, mut is_provider_run) = (None, false);
    cursor.object(|cursor, key| {
        match key.decode(body).as_ref() {
            "call_id" => part.id = cursor.string_or_skip()?,
            "execution" => {
                let execution = cursor.string_or_skip()?;
                is_provider_run = execution.is_some_and(|word| word.is(body, "server"));
            }
            "output" => {
                once(&mut seen_output, (), key)?;
                result_content(builder, cursor, &mut part, |kind| kind == "input_text")?;
            }
            _ => drop(cursor.skip()?),
        }
        Ok::<_, ReadError>(())
    })?;
    if part.id.is_some() && !is_provider_run {
        part.kind = PartKind::Result;
        // An output in members of another name (`tools`, …) is not ours to cut.
        part.has_media |= seen_output.is_none();
    }
    builder.part(part, literals)?;
    Ok(())
}
