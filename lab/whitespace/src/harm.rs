//! What must be the same before and after, found without the engine's scanner: whole lines and
//! plain searches, no state machine shared with it.

use serde_json::Value;

/// A difference that must not be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Harm {
    pub(crate) what: &'static str,
    pub(crate) before: String,
    pub(crate) after: String,
}

/// Everything that is wrong with `after`.
pub(crate) fn harms(before: &str, after: &str) -> Vec<Harm> {
    let mut found = Vec::new();
    let mut same = |what, before: Vec<String>, after: Vec<String>| {
        if before.len() != after.len() {
            found.push(Harm {
                what,
                before: format!("{} of them", before.len()),
                after: format!("{} of them", after.len()),
            });
        }
        let differing = before
            .into_iter()
            .zip(after)
            .find(|(one, other)| one != other);
        if let Some((before, after)) = differing {
            found.push(Harm {
                what,
                before,
                after,
            });
        }
    };
    same("words", words(before), words(after));
    same("indentation", indents(before), indents(after));
    same("fenced blocks", fenced(before), fenced(after));
    same("numbered lines", numbered(before), numbered(after));
    same("indentation behind a marker", marked(before), marked(after));
    same("JSON lines", json_lines(before), json_lines(after));
    if is_json(before) && before != after {
        same(
            "a JSON payload",
            vec![before.to_owned()],
            vec![after.to_owned()],
        );
    }
    same("embedded JSON", embedded(before), embedded(after));
    found
}

fn is_json(text: &str) -> bool {
    let text = text.trim();
    text.starts_with(['{', '[']) && serde_json::from_str::<Value>(text).is_ok()
}

fn words(text: &str) -> Vec<String> {
    text.split([' ', '\t', '\r', '\n'])
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn solid_lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line));
    lines.filter(|line| !line.trim_matches([' ', '\t']).is_empty())
}

/// The white space before each line that has something in it, with its first word.
fn indents(text: &str) -> Vec<String> {
    let indent = |line: &str| {
        let rest = line.trim_start_matches([' ', '\t']);
        let first = rest.split([' ', '\t']).next().unwrap_or_default();
        line[..line.len() - rest.len() + first.len()].to_owned()
    };
    solid_lines(text).map(indent).collect()
}

/// Blocks between fences, as CommonMark pairs them, indented or not.
fn fenced(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut fence: Option<String> = None;
    for line in text.split('\n') {
        let bare = line.trim();
        let mark: String = match bare.chars().next() {
            Some(first @ ('`' | '~')) => bare.chars().take_while(|&next| next == first).collect(),
            _ => String::new(),
        };
        let rest = &bare[mark.len()..];
        match &fence {
            Some(open) => {
                if let Some(block) = blocks.last_mut() {
                    block.push('\n');
                    block.push_str(line);
                }
                if rest.is_empty() && mark.starts_with(open.as_str()) {
                    fence = None;
                }
            }
            None if mark.len() >= 3 && !(mark.starts_with('`') && rest.contains('`')) => {
                blocks.push(line.to_owned());
                fence = Some(mark);
            }
            None => {}
        }
    }
    blocks
}

/// Lines that begin with a number and a separator, whole.
fn numbered(text: &str) -> Vec<String> {
    let is_numbered = |line: &&str| {
        let bare = line.trim_start_matches([' ', '\t']);
        let rest = bare.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < bare.len() && rest.starts_with(['→', '|', ':', '\t'])
    };
    solid_lines(text)
        .filter(is_numbered)
        .map(str::to_owned)
        .collect()
}

/// Lines with code behind a marker (`+`, `-`, `>`, `path:12:`, `path-12-`): up to the code.
fn marked(text: &str) -> Vec<String> {
    let up_to_code = |line: &str| -> Option<String> {
        let marker = match line.chars().next()? {
            '+' | '-' | '>' | '<' => 1,
            _ => {
                let first = line.split([' ', '\t']).next()?;
                let bare = first
                    .strip_suffix(':')
                    .or_else(|| first.strip_suffix('-'))?;
                let number = bare.rsplit([':', '-']).next()?;
                let is_number =
                    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
                (is_number && number.len() < bare.len()).then_some(first.len())?
            }
        };
        let rest = &line[marker..];
        let code = rest.trim_start_matches([' ', '\t']);
        (!code.is_empty()).then(|| line[..line.len() - code.len()].to_owned())
    };
    solid_lines(text).filter_map(up_to_code).collect()
}

/// Lines that are a JSON object or list of their own.
fn json_lines(text: &str) -> Vec<String> {
    let lines = solid_lines(text).map(str::trim);
    lines
        .filter(|line| is_json(line))
        .map(str::to_owned)
        .collect()
}

/// JSON values over several lines that begin a line, by a real parser.
fn embedded(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(line) = text.get(at..).and_then(|rest| rest.split('\n').next()) {
        let start = at + (line.len() - line.trim_start_matches([' ', '\t']).len());
        at += line.len() + 1;
        let rest = text.get(start..).unwrap_or_default();
        if rest.starts_with(['{', '[']) {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            if let Some(Ok(_)) = values.next() {
                let end = start + values.byte_offset();
                found.push(text[start..end].to_owned());
                if end >= at {
                    at = end + text[end..].find('\n').map_or(text.len(), |to| to + 1);
                }
            }
        }
        if at > text.len() {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_harm_is_seen() {
        for (before, after) in [
            ("a b", "ab"),
            ("    x", "  x"),
            ("```\na  b\n```", "```\na b\n```"),
            ("12→    x", "12→ x"),
            ("+    x", "+ x"),
            ("a.rs:12:    x", "a.rs:12: x"),
            ("{\"a\":  1}", "{\"a\": 1}"),
            ("so:\n{\"a\":\n  [1,  2]}", "so:\n{\"a\":\n  [1, 2]}"),
        ] {
            assert!(!harms(before, after).is_empty(), "{before:?}");
            assert!(harms(before, before).is_empty(), "{before:?}");
        }
        assert!(harms("a   b  \n\n\n\nc", "a b\n\nc").is_empty());
    }
}
