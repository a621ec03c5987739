//! Where a body carries cache markers: `cache_control`, and `prompt_cache_breakpoint` for models that have it.

use memchr::memmem;

use super::markers::{Life, Marker, Markers, life, marker_key};
use super::members::{ANY_DEPTH, elements, members, string_member};
use super::read_blocks::instructions_key;
use super::rules::CacheKind;
use crate::read::dialect::Dialect;
use crate::read::view::{PartId, PartKind, Placement, View};
use secateur_json::{Cursor, JsonError, Kind, Span};

/// All markers of a body. One search where there is none; otherwise the members of the body and the marked blocks
/// are read once more.
#[must_use]
pub fn markers(view: &View<'_>, kind: CacheKind) -> Markers {
    let mut found = Markers::default();
    let Some(key) = marker_key(kind) else {
        return found;
    };
    let body = view.body();
    // Inside a text the quotes would be escaped.
    let quoted = format!("\"{key}\"");
    let finder = memmem::Finder::new(quoted.as_bytes());
    let may_be_escaped = has_escaped_letters(body);
    let is_marked = may_be_escaped || finder.find(body.as_bytes()).is_some();
    if !is_marked && kind == CacheKind::Marked {
        return found;
    }
    // A body that was read has no faults that this walk could meet.
    let _ = read_head(body, view.dialect(), key, &mut found);
    if let Some(list) = view.list().filter(|_| is_marked) {
        let mut places = finder
            .find_iter(list.of(body).as_bytes())
            .map(|at| list.start as usize + at)
            .peekable();
        let has_member = |item: Span| {
            let mut is_inside = may_be_escaped;
            while let Some(at) = places.next_if(|&at| at < item.end as usize) {
                is_inside |= at >= item.start as usize;
            }
            is_inside
        };
        read_turns(view, key, has_member, &mut found);
    }
    found
}

/// Whether a key could spell the letters of a marker's name as escapes.
fn has_escaped_letters(body: &str) -> bool {
    let is_letter = |at: usize| matches!(body.as_bytes().get(at + 4), Some(b'5'..=b'7'));
    memmem::find_iter(body.as_bytes(), "\\u00").any(is_letter)
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
fn read_head(
    body: &str,
    dialect: Dialect,
    key: &str,
    found: &mut Markers,
) -> Result<(), JsonError> {
    let instructions = instructions_key(dialect);
    let (mut last_tool, mut last_system) = (None, None);
    Cursor::over(body, ANY_DEPTH).object(|cursor, name| {
        cursor.peek()?;
        let value = cursor.skip()?;
        match name.decode(body).as_ref() {
            "tools" => last_tool = read_list(value.of(body), key, found).or(last_tool),
            name if Some(name) == instructions => {
                last_system = read_list(value.of(body), key, found).or(last_system);
            }
            "prompt_cache_options" => {
                let mode = string_member(value.of(body), "mode");
                found.only_explicit = mode.as_deref() == Some("explicit");
            }
            other if other == key => {
                let (first, _) = found.read(body, vec![value]);
                found.elsewhere += usize::from(first.is_some() && found.top_level.is_some());
                found.top_level = found.top_level.or(first);
            }
            _ => {}
        }
        Ok::<_, JsonError>(())
    })?;
    found.covers_head = last_system.or(last_tool).unwrap_or(false);
    Ok(())
}

/// The markers on the elements of a list; whether the last one carries a marker of a known lifetime.
fn read_list(list: &str, key: &str, found: &mut Markers) -> Option<bool> {
    let mut last = None;
    for element in elements(list) {
        let (first, _) = found.read(element, marker_values(element, key));
        let life = first.map(|(life, _)| life);
        found.head.extend(life);
        last = Some(life.is_some_and(|life| life != Life::Unknown));
    }
    last
}

/// The markers on blocks of turns. `has_member` is asked for each element of the list, in order.
fn read_turns(
    view: &View<'_>,
    key: &str,
    mut has_member: impl FnMut(Span) -> bool,
    found: &mut Markers,
) {
    let body = view.body();
    let start = |part: PartId| {
        let turn = view.part(part).turn.map(|turn| view.turn_span(turn).start);
        let element = view.element(part).map(|element| element.span.start);
        element.or(turn).unwrap_or_default()
    };
    let is_in_turn = |part: &PartId| view.part(*part).turn.is_some();
    let mut parts = view.part_ids().filter(is_in_turn).peekable();
    for item in view.items() {
        let is_read = has_member(item.span);
        let mut is_block = false;
        while let Some(part) = parts.next_if(|&part| start(part) < item.span.end) {
            if !is_read {
                continue;
            }
            let is_call = view.part(part).kind == PartKind::Call;
            let block = view.element(part).map_or(item.span, |element| element.span);
            let text = block.of(body);
            match view.part(part).placement {
                // Calls of the chat format are no content blocks.
                Placement::Nested(_) if is_call && view.dialect() == Dialect::OpenaiChat => {
                    found.read_elsewhere(text, marker_values(text, key));
                }
                Placement::Nested(_) => {
                    found.read_block(view, part, block, marker_values(text, key));
                }
                Placement::Item(_) => {
                    is_block = true;
                    found.read_block(view, part, block, marker_values(text, key));
                }
                Placement::Fixed if view.part(part).kind == PartKind::Result => {
                    found.read_block(view, part, block, values_inside(text, key));
                }
                Placement::Fixed => {}
            }
        }
        if is_read && !is_block {
            let message = item.span.of(body);
            found.read_elsewhere(message, members(message, key));
        }
    }
}

impl Markers {
    /// What the values of markers on one object ask for: the first marker, and whether there is any value at all.
    /// Further markers take places too.
    fn read(&mut self, text: &str, values: Vec<Span>) -> (Option<(Life, Span)>, bool) {
        let has_member = !values.is_empty();
        let count = values.len();
        let mut lives = values
            .into_iter()
            .filter_map(|value| Some((life(value.of(text))?, value)));
        let first = lives.next();
        let more = lives.count();
        self.elsewhere += more;
        self.nulls += count - more - usize::from(first.is_some());
        (first, has_member)
    }

    /// Markers in a place that this version does not know.
    fn read_elsewhere(&mut self, text: &str, values: Vec<Span>) {
        let (first, _) = self.read(text, values);
        self.elsewhere += usize::from(first.is_some());
    }

    fn read_block(&mut self, view: &View<'_>, part: PartId, block: Span, values: Vec<Span>) {
        let (first, has_member) = self.read(block.of(view.body()), values);
        if has_member {
            self.blocks_with_member.push(part);
        }
        if let Some((life, value)) = first {
            let value = value.shifted(block.start);
            self.turns.push(Marker { part, life, value });
        }
    }
}

/// The values of markers on a block and, for a result, on the blocks inside it: they stand for the block as a whole.
fn marker_values(block: &str, key: &str) -> Vec<Span> {
    let mut values = members(block, key);
    values.extend(values_inside(block, key));
    values
}

/// The values of markers on the blocks inside a block.
fn values_inside(block: &str, key: &str) -> Vec<Span> {
    let mut values = Vec::new();
    for content in ["content", "output"] {
        for inner in members(block, content) {
            let mut cursor = Cursor::over(inner.of(block), ANY_DEPTH);
            if cursor.peek() != Ok(Kind::Array) {
                continue;
            }
            let _ = cursor.array(|cursor, _| {
                let element = cursor.skip()?;
                let start = inner.start + element.start;
                let inside = marker_values(element.of(inner.of(block)), key);
                values.extend(inside.iter().map(|value| value.shifted(start)));
                Ok::<_, JsonError>(())
            });
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::wire::read;
    use secateur_json::Limits;

    fn found(body: &str) -> Markers {
        let dialect = Dialect::AnthropicMessages;
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
        ] {
            assert_eq!(found(body), Markers::default(), "{body}");
        }
    }

    #[test]
    fn null_is_no_marker_but_occupies_its_block() {
        let body = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":null}]}],"cache_control":null}"#;
        let markers = found(body);
        assert_eq!((markers.count(), markers.nulls), (0, 2));
        assert_eq!(markers.blocks_with_member, [PartId(0)]);
        assert!(markers.has_member());
    }

    #[test]
    fn a_name_written_with_escapes_is_the_same_name() {
        let body = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a","cache\u005fcontrol":{"type":"ephemeral"}}]}]}"#;
        assert_eq!(found(body).turns.len(), 1);
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
        let dialect = Dialect::OpenaiResponses;
        let view = read(body.as_bytes(), dialect, &Limits::default()).unwrap();
        let markers = markers(&view, CacheKind::Breakpoints);
        assert_eq!(markers.turns.len(), 1);
        assert!(markers.only_explicit);
        let of_old_models = super::markers(&view, CacheKind::Automatic);
        assert_eq!(of_old_models, Markers::default());
    }
}
