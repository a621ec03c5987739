//! Cuts a body into the blocks that a prompt cache compares, in the order in which a model reads them.
//!
//! Content given as a string and as one text block is the same block, and a marker is no part of a block's content.

use std::hash::{DefaultHasher, Hasher};

use super::markers::{life, marker_key};
use super::members::{elements, for_each_member, member};
use crate::cost::cache::{Block, BlockList, BlockPlace, CacheKind, Life};
use crate::read::dialect::Dialect;
use secateur_json::{Cursor, JsonError, Limits};

/// The members that hold instructions and messages, and the member that holds a message's blocks.
struct Keys {
    instructions: Option<&'static str>,
    messages: &'static str,
    content: &'static str,
}

/// The member that holds the instructions, where they are outside the messages.
pub(super) fn instructions_key(dialect: Dialect) -> Option<&'static str> {
    keys(dialect).instructions
}

fn keys(dialect: Dialect) -> Keys {
    let (instructions, messages, content) = match dialect {
        Dialect::AnthropicMessages => (Some("system"), "messages", "content"),
        Dialect::OpenaiChat => (None, "messages", "content"),
        Dialect::OpenaiResponses => (Some("instructions"), "input", "content"),
        Dialect::GeminiGenerateContent => (Some("systemInstruction"), "contents", "parts"),
    };
    Keys {
        instructions,
        messages,
        content,
    }
}

impl BlockList {
    /// The blocks of a body, with the markers that this kind of cache knows.
    ///
    /// # Errors
    /// The body is no JSON object.
    pub fn of(body: &[u8], dialect: Dialect, kind: CacheKind) -> Result<Self, JsonError> {
        let keys = keys(dialect);
        let marker = marker_key(kind);
        let mut cursor = Cursor::new(body, &Limits::default())?;
        let text = cursor.body();
        let mut list = Self::default();
        let (mut tools, mut system, mut messages) = (Vec::new(), Vec::new(), Vec::new());
        cursor.object(|cursor, key| {
            cursor.peek()?;
            let name = key.decode(text);
            let value = cursor.skip()?.of(text);
            if name == "tools" {
                for (at, tool) in (0..).zip(elements(value)) {
                    tools.push(block(BlockPlace::Tool(at), "", tool, marker, &mut list));
                }
            } else if Some(name.as_ref()) == keys.instructions {
                for (at, one) in (0..).zip(elements(value)) {
                    let place = BlockPlace::Instructions(at);
                    system.push(block(place, "", one, marker, &mut list));
                }
            } else if name == keys.messages {
                for (at, message) in (0..).zip(elements(value)) {
                    message_blocks(at, message, &keys, marker, &mut list, &mut messages);
                }
            } else if Some(name.as_ref()) == marker {
                let life = life(value);
                list.more_markers += usize::from(life.is_some() && list.top_level.is_some());
                list.top_level = list.top_level.or(life);
            } else if name == "prompt_cache_options" {
                list.only_explicit = member(value, "mode") == Some("\"explicit\"");
            }
            Ok::<_, JsonError>(())
        })?;
        list.blocks = [tools, system, messages].concat();
        Ok(list)
    }
}

/// A message: a block for each element of its content. What else it says belongs to the last one.
fn message_blocks(
    at: u32,
    message: &str,
    keys: &Keys,
    marker: Option<&str>,
    list: &mut BlockList,
    out: &mut Vec<Block>,
) {
    let role = member(message, "role").unwrap_or_default();
    // A result names its call beside its content, and is one block with it.
    let call = member(message, "tool_call_id").unwrap_or_default();
    let role = &format!("{role}{call}");
    let Some(content) = member(message, keys.content) else {
        let place = BlockPlace::Message(at, 0);
        out.push(block(place, role, message, marker, list));
        return;
    };
    let mut number = 0;
    for element in elements(content) {
        let place = BlockPlace::Message(at, number);
        out.push(block(place, role, element, marker, list));
        number += 1;
    }
    let mut rest = DefaultHasher::new();
    let mut bytes = 0;
    for_each_member(message, |name, value| {
        let is_counted = matches!(name, "role" | "tool_call_id")
            || name == keys.content
            || (name == "type" && value == "\"message\"");
        if Some(name) == marker {
            list.more_markers += usize::from(life(value).is_some());
        } else if name == "tool_calls" && value.starts_with('[') {
            let mut found = Vec::new();
            for call in elements(value) {
                bytes += hash_content(call, marker, &mut rest, &mut found) + 1;
            }
            list.more_markers += found.len();
        } else if !is_counted && value != "null" {
            rest.write(name.as_bytes());
            rest.write(value.as_bytes());
            bytes += name.len() + value.len() + 4;
        }
    });
    if bytes == 0 {
        return;
    }
    // Members beside the content belong to its last block.
    if let Some(last) = out.last_mut().filter(|_| number > 0) {
        rest.write_u64(last.key);
        last.key = rest.finish();
        last.bytes += bytes;
    } else {
        out.push(Block {
            place: BlockPlace::Message(at, number),
            key: rest.finish(),
            bytes,
            marker: None,
            may_be_marked: false,
        });
    }
}

/// One block. `role` is part of its content.
fn block(
    place: BlockPlace,
    role: &str,
    text: &str,
    marker: Option<&str>,
    list: &mut BlockList,
) -> Block {
    let mut hasher = DefaultHasher::new();
    hasher.write(role.as_bytes());
    let mut found = Vec::new();
    let bytes = hash_content(text, marker, &mut hasher, &mut found);
    list.more_markers += found.len().saturating_sub(1);
    let is_thinking = matches!(
        member(text, "type"),
        Some("\"thinking\"" | "\"redacted_thinking\"")
    );
    Block {
        place,
        key: hasher.finish(),
        bytes,
        marker: found.first().copied(),
        may_be_marked: !is_thinking,
    }
}

/// Hashes a block without its markers, which are put in `found`. Returns its bytes without them.
fn hash_content(
    text: &str,
    marker: Option<&str>,
    hasher: &mut DefaultHasher,
    found: &mut Vec<Life>,
) -> usize {
    if !text.starts_with('{') {
        return hash_text(text, hasher);
    }
    let mut only_text = None;
    let mut is_plain_text = true;
    for_each_member(text, |name, value| match name {
        "type" => is_plain_text &= value == "\"text\"",
        "text" => only_text = Some(value),
        name => is_plain_text &= Some(name) == marker,
    });
    let mut bytes = 2;
    if let (true, Some(text)) = (is_plain_text, only_text) {
        bytes = hash_text(text, hasher);
    }
    let is_hashed = is_plain_text && only_text.is_some();
    for_each_member(text, |name, value| {
        if Some(name) == marker {
            found.extend(life(value));
        } else if !is_hashed {
            hasher.write(name.as_bytes());
            bytes += name.len() + 4;
            if matches!(name, "content" | "output") && value.starts_with('[') {
                for element in elements(value) {
                    bytes += hash_content(element, marker, hasher, found) + 1;
                }
            } else {
                hasher.write(value.as_bytes());
                bytes += value.len();
            }
        }
    });
    bytes
}

fn hash_text(literal: &str, hasher: &mut DefaultHasher) -> usize {
    hasher.write(literal.as_bytes());
    literal.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(body: &str) -> BlockList {
        BlockList::of(
            body.as_bytes(),
            Dialect::AnthropicMessages,
            CacheKind::Marked,
        )
        .unwrap()
    }

    const MARK: &str = r#""cache_control":{"type":"ephemeral"}"#;

    #[test]
    fn tools_and_instructions_come_before_messages_wherever_the_body_has_them() {
        let list = blocks(
            r#"{"messages":[{"role":"user","content":"a"}],"tools":[{"name":"t"}],"system":"s"}"#,
        );
        let places: Vec<String> = list
            .blocks
            .iter()
            .map(|one| one.place.to_string())
            .collect();
        assert_eq!(places, ["tools[0]", "system[0]", "messages[0].content[0]"]);
    }

    #[test]
    fn a_marker_is_no_content_and_a_string_is_a_text_block() {
        let as_string = blocks(r#"{"messages":[{"role":"user","content":"a"}]}"#);
        let marked = blocks(&format!(
            r#"{{"messages":[{{"role":"user","content":[{{"type":"text", {MARK}, "text":"a"}}]}}]}}"#
        ));
        assert_eq!(as_string.blocks[0].key, marked.blocks[0].key);
        assert_eq!(marked.blocks[0].marker, Some(Life::Usual));
        assert_eq!(as_string.blocks[0].marker, None);
        let other_role = blocks(r#"{"messages":[{"role":"assistant","content":"a"}]}"#);
        assert_ne!(as_string.blocks[0].key, other_role.blocks[0].key);
    }

    #[test]
    fn a_marker_inside_a_result_is_no_content_either() {
        let result = |mark: &str| {
            blocks(&format!(
                r#"{{"messages":[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":[{{"type":"text","text":"a"{mark}}}]}}]}}]}}"#
            ))
        };
        let (plain, marked) = (result(""), result(&format!(",{MARK}")));
        assert_eq!(plain.blocks[0].key, marked.blocks[0].key);
        assert_eq!(marked.blocks[0].marker, Some(Life::Usual));
        assert_eq!(plain.blocks[0].bytes, marked.blocks[0].bytes);
    }

    #[test]
    fn the_first_block_that_differs_is_named() {
        let body = |system: &str, more: &str| {
            blocks(&format!(
                r#"{{"system":[{{"type":"text","text":"a"}},{{"type":"text","text":"{system}"}}],"messages":[{{"role":"user","content":"x"}}{more}]}}"#
            ))
        };
        let first = body("b", "");
        let grown = body("b", r#",{"role":"assistant","content":"y"}"#);
        assert_eq!(grown.first_difference(&first.keys()), None, "it only grew");
        let changed = body("c", r#",{"role":"assistant","content":"y"}"#);
        let at = changed.first_difference(&first.keys()).unwrap();
        assert_eq!(changed.blocks[at].place.to_string(), "system[1]");
        assert_eq!(
            first.first_difference(&grown.keys()),
            None,
            "it was cut short, and its start is still cached"
        );
    }

    #[test]
    fn calls_and_items_of_other_wire_formats_are_blocks() {
        let of = |body: &str, dialect| {
            BlockList::of(body.as_bytes(), dialect, CacheKind::Automatic)
                .unwrap()
                .blocks
                .len()
        };
        assert_eq!(
            of(
                r#"{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"a"}]},{"role":"tool","tool_call_id":"a","content":"r"}]}"#,
                Dialect::OpenaiChat
            ),
            2
        );
        assert_eq!(
            of(
                r#"{"instructions":"i","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"function_call","call_id":"c","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"r"}]}"#,
                Dialect::OpenaiResponses
            ),
            4
        );
        assert_eq!(
            of(
                r#"{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[{"text":"a"},{"text":"b"}]}]}"#,
                Dialect::GeminiGenerateContent
            ),
            3
        );
    }
}
