//! What the assistant went on to use: identifiers and lines of its next message.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::session::{Message, PartKind};

/// Shortest line that counts, in characters after trimming.
pub const MIN_LINE_CHARS: usize = 24;
/// Shortest name that counts, in characters.
pub const MIN_NAME_CHARS: usize = 7;
/// Shortest number that counts, in digits.
pub const MIN_DIGITS: usize = 4;

/// The strings inside a JSON value, joined by newlines: what a tool call says, without its JSON.
pub fn decoded_strings(json: &str) -> String {
    fn walk(value: &Value, out: &mut String) {
        match value {
            Value::String(text) => {
                out.push_str(text);
                out.push('\n');
            }
            Value::Array(items) => items.iter().for_each(|v| walk(v, out)),
            Value::Object(fields) => fields.values().for_each(|v| walk(v, out)),
            Value::Number(number) => {
                out.push_str(&number.to_string());
                out.push('\n');
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
    let mut out = String::with_capacity(json.len());
    match serde_json::from_str::<Value>(json) {
        Ok(value) => walk(&value, &mut out),
        Err(_) => out.push_str(json),
    }
    out
}

/// Identifiers of an assistant message: in its text and in its tool calls, unparsed.
pub fn identifiers_of(message: &Message) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for part in &message.parts {
        if matches!(part.kind, PartKind::Text | PartKind::ToolUse) {
            identifiers_in(&part.text, &mut found);
        }
    }
    found
}

/// Lines that an assistant message's tool calls contain, trimmed, each once.
pub fn lines_of(message: &Message) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for part in message.parts.iter().filter(|p| p.kind == PartKind::ToolUse) {
        for line in decoded_strings(&part.text).lines() {
            let line = line.trim();
            if line.chars().count() >= MIN_LINE_CHARS {
                found.insert(line.to_owned());
            }
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_path(c: char) -> bool {
    is_word(c) || matches!(c, '.' | '/' | '-')
}

/// Paths (with a slash), names and hashes of 7+ characters, numbers of 4+ digits. A path is one identifier:
/// its pieces are not names.
fn identifiers_in(text: &str, found: &mut BTreeSet<String>) {
    for run in text.split(|c| !is_path(c)) {
        let path = run.trim_matches(|c| matches!(c, '.' | '-'));
        if path.len() >= MIN_NAME_CHARS && path.contains('/') {
            found.insert(path.to_owned());
            continue;
        }
        for word in run.split(|c| !is_word(c)) {
            let digits = word.bytes().all(|b| b.is_ascii_digit());
            if (digits && word.len() >= MIN_DIGITS) || (!digits && word.len() >= MIN_NAME_CHARS) {
                found.insert(word.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_identifier_and_words_are_others() {
        let mut found = BTreeSet::new();
        identifiers_in(
            "see src/parser/lexer.rs, token_count is 4096 or 12, abcdef",
            &mut found,
        );
        let expected = ["4096", "src/parser/lexer.rs", "token_count"];
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
    }
}
