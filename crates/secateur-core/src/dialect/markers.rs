//! Where a body carries cache markers: `cache_control`, and `prompt_cache_breakpoint` for models that have it.

use memchr::memmem;

use crate::cost::cache::{CacheKind, Life, Marker, Markers};
use crate::json::{Cursor, JsonError, Kind, Span};
use crate::view::{PartId, View};

/// Deeper than any body that was read.
pub(super) const ANY_DEPTH: usize = 1024;

/// The member that marks a block, for caches that know markers.
#[must_use]
pub(crate) fn marker_key(kind: CacheKind) -> Option<&'static str> {
    match kind {
        CacheKind::Marked => Some("cache_control"),
        CacheKind::Breakpoints => Some("prompt_cache_breakpoint"),
        CacheKind::Automatic | CacheKind::None => None,
    }
}

/// All markers of a body. One search where there is none; otherwise the members of the body and the marked blocks
/// are read once more.
pub(crate) fn markers(view: &View<'_>, kind: CacheKind) -> Markers {
    let mut found = Markers::default();
    let Some(key) = marker_key(kind) else {
        return found;
    };
    let body = view.body();
    // Inside a text the quotes would be escaped.
    let quoted = format!("\"{key}\"");
    let finder = memmem::Finder::new(quoted.as_bytes());
    let is_marked = finder.find(body.as_bytes()).is_some();
    if !is_marked && kind == CacheKind::Marked {
        return found;
    }
    // A body that was read has no faults that this walk could meet.
    let _ = read_head(body, key, &mut found);
    if let Some(list) = view.list().filter(|_| is_marked) {
        let places = finder
            .find_iter(list.of(body).as_bytes())
            .map(|at| list.start as usize + at);
        read_turns(view, key, places, &mut found);
    }
    found
}

/// Where the last definition of a tool begins.
pub(crate) fn last_tool(body: &str) -> Option<u32> {
    let mut last = None;
    let read = Cursor::over(body, ANY_DEPTH).object(|cursor, key| {
        if !key.is(body, "tools") || cursor.peek()? != Kind::Array {
            return cursor.skip().map(drop);
        }
        cursor.array(|cursor, _| {
            last = Some(cursor.skip()?.start);
            Ok::<_, JsonError>(())
        })?;
        Ok::<_, JsonError>(())
    });
    read.ok().and(last)
}

/// The markers outside the list of turns.
fn read_head(body: &str, key: &str, found: &mut Markers) -> Result<(), JsonError> {
    let (mut last_tool, mut last_system) = (None, None);
    Cursor::over(body, ANY_DEPTH).object(|cursor, name| {
        let kind = cursor.peek()?;
        match name.decode(body).as_ref() {
            "tools" if kind == Kind::Array => {
                last_tool = read_list(cursor, key, found)?.or(last_tool);
            }
            "system" if kind == Kind::Array => {
                last_system = read_list(cursor, key, found)?.or(last_system);
            }
            "system" => {
                cursor.skip()?;
                last_system = Some(false);
            }
            "prompt_cache_options" => {
                let options = cursor.skip()?.of(body);
                found.only_explicit = string_member(options, "mode").as_deref() == Some("explicit");
            }
            other if other == key => {
                let value = cursor.skip()?;
                found.top_level = life(value.of(body)).map(|life| (life, value));
            }
            _ => drop(cursor.skip()?),
        }
        Ok::<_, JsonError>(())
    })?;
    found.covers_head = last_system.or(last_tool).unwrap_or(false);
    Ok(())
}

/// The markers on the elements of a list; whether the last one carries a marker.
fn read_list(
    cursor: &mut Cursor<'_>,
    key: &str,
    found: &mut Markers,
) -> Result<Option<bool>, JsonError> {
    let body = cursor.body();
    let mut last = None;
    cursor.array(|cursor, _| {
        let element = cursor.skip()?.of(body);
        let marker = members(element, key)
            .first()
            .and_then(|value| life(value.of(element)));
        found.head.extend(marker);
        last = Some(marker.is_some());
        Ok::<_, JsonError>(())
    })?;
    Ok(last)
}

/// The markers on blocks of turns. `places` ascend.
fn read_turns(
    view: &View<'_>,
    key: &str,
    places: impl Iterator<Item = usize>,
    found: &mut Markers,
) {
    let mut places = places.peekable();
    for part in view.part_ids() {
        let Some(block) = view.seat(part).map(|seat| seat.span) else {
            continue;
        };
        if view.part(part).turn.is_none() {
            continue;
        }
        let mut is_in_block = false;
        while let Some(at) = places.next_if(|&at| at < block.end as usize) {
            is_in_block |= at >= block.start as usize;
        }
        if is_in_block {
            read_block(view, part, block, key, found);
        }
    }
}

/// The markers on a block and, for a result, on the blocks inside it: they stand for the block as a whole.
fn read_block(view: &View<'_>, part: PartId, block: Span, key: &str, found: &mut Markers) {
    let text = block.of(view.body());
    let mut values = members(text, key);
    for content in ["content", "output"] {
        for inner in members(text, content) {
            let mut cursor = Cursor::over(inner.of(text), ANY_DEPTH);
            if cursor.peek() != Ok(Kind::Array) {
                continue;
            }
            let _ = cursor.array(|cursor, _| {
                let element = cursor.skip()?;
                let start = inner.start + element.start;
                let inside = members(element.of(inner.of(text)), key);
                values.extend(inside.iter().map(|value| value.shifted(start)));
                Ok::<_, JsonError>(())
            });
        }
    }
    let mut is_first = true;
    for value in values {
        let Some(life) = life(value.of(text)) else {
            continue;
        };
        if is_first {
            let value = value.shifted(block.start);
            found.turns.push(Marker { part, life, value });
        } else {
            found.elsewhere += 1;
        }
        is_first = false;
    }
}

/// The values of an object's members of that name. None where the text is no object.
fn members(object: &str, name: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut cursor = Cursor::over(object, ANY_DEPTH);
    if cursor.peek() == Ok(Kind::Object) {
        let _ = cursor.object(|cursor, key| {
            cursor.peek()?;
            let value = cursor.skip()?;
            if key.is(object, name) {
                found.push(value);
            }
            Ok::<_, JsonError>(())
        });
    }
    found
}

fn string_member(object: &str, name: &str) -> Option<String> {
    let value = members(object, name).first()?.of(object);
    let text = value.strip_prefix('"')?.strip_suffix('"')?;
    Some(text.to_owned())
}

/// What a marker's value asks for; `None` if it is no marker.
pub(super) fn life(value: &str) -> Option<Life> {
    if value == "null" {
        return None;
    }
    if string_member(value, "mode").as_deref() == Some("explicit") {
        return Some(Life::Usual);
    }
    if string_member(value, "type").as_deref() != Some("ephemeral") {
        return Some(Life::Unknown);
    }
    let ttl = members(value, "ttl");
    Some(match ttl.first().map(|ttl| ttl.of(value)) {
        None | Some("\"5m\"" | "null") => Life::Usual,
        Some("\"1h\"") => Life::Long,
        Some(_) => Life::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{DialectId, read};
    use crate::json::Limits;

    fn found(body: &str) -> Markers {
        let dialect = DialectId::AnthropicMessages;
        let view = read(body.as_bytes(), dialect, &Limits::default()).unwrap();
        markers(&view, CacheKind::Marked)
    }

    const MARK: &str = r#""cache_control":{"type":"ephemeral"}"#;

    #[test]
    fn finds_markers_on_tools_instructions_blocks_and_the_body() {
        let body = format!(
            r#"{{"messages":[{{"role":"user","content":[{{"type":"text","text":"a"}},{{"type":"text","text":"b",{MARK}}}]}}],
            "tools":[{{"name":"x"}},{{"name":"y",{MARK}}}],"system":[{{"type":"text","text":"s",{MARK}}}],{MARK}}}"#
        );
        let markers = found(&body);
        assert_eq!(markers.head, [Life::Usual, Life::Usual]);
        assert!(markers.covers_head);
        assert_eq!(markers.turns.len(), 1);
        assert_eq!(markers.turns[0].part, PartId(1));
        assert_eq!(markers.turns[0].value.of(&body), r#"{"type":"ephemeral"}"#);
        assert!(markers.top_level.is_some());
        assert_eq!(markers.count(), 4);
    }

    #[test]
    fn a_marker_inside_a_result_stands_for_the_result() {
        let body = format!(
            r#"{{"messages":[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":[{{"type":"text","text":"a",{MARK}}},{{"type":"text","text":"b",{MARK}}}]}}]}}]}}"#
        );
        let markers = found(&body);
        assert_eq!(markers.turns.len(), 1);
        assert_eq!(markers.turns[0].value.of(&body), r#"{"type":"ephemeral"}"#);
        assert_eq!(markers.count(), 2);
    }

    #[test]
    fn words_and_arguments_of_that_name_are_no_markers() {
        for body in [
            r#"{"messages":[{"role":"user","content":"\"cache_control\""}]}"#,
            r#"{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{"cache_control":{"type":"ephemeral"}}}]}]}"#,
            r#"{"tools":[{"name":"x","input_schema":{"properties":{"cache_control":{"type":"string"}}}}],"messages":[{"role":"user","content":"a"}]}"#,
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":null}]}],"cache_control":null}"#,
        ] {
            assert_eq!(found(body), Markers::default(), "{body}");
        }
    }

    #[test]
    fn a_lifetime_that_nobody_knows_is_said_to_be_unknown() {
        let life = |value: &str| {
            let body = format!(
                r#"{{"messages":[{{"role":"user","content":[{{"type":"text","text":"a","cache_control":{value}}}]}}]}}"#
            );
            found(&body).turns[0].life
        };
        assert_eq!(life(r#"{"type":"ephemeral","ttl":"1h"}"#), Life::Long);
        assert_eq!(life(r#"{"type":"ephemeral","ttl":"5m"}"#), Life::Usual);
        assert_eq!(life(r#"{"type":"ephemeral","ttl":"2d"}"#), Life::Unknown);
        assert_eq!(life(r#"{"type":"for-ever"}"#), Life::Unknown);
        assert_eq!(life("true"), Life::Unknown);
    }

    #[test]
    fn breakpoints_are_markers_of_models_that_have_them() {
        let body = r#"{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]}],"prompt_cache_options":{"mode":"explicit"}}"#;
        let dialect = DialectId::OpenaiResponses;
        let view = read(body.as_bytes(), dialect, &Limits::default()).unwrap();
        let markers = markers(&view, CacheKind::Breakpoints);
        assert_eq!(markers.turns.len(), 1);
        assert!(markers.only_explicit);
        let of_old_models = super::markers(&view, CacheKind::Automatic);
        assert_eq!(of_old_models, Markers::default());
    }
}
