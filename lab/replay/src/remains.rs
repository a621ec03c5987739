//! What remains of a part that is cleared: a note, with an extract that says what it was.

use secateur_core::condense::{Budget, condense};
use secateur_replay::Part;
use serde_json::Value;

use crate::tools::Class;

/// How much an extract may hold, in characters; 0: none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extracts {
    /// Of a file: its declarations, each with the first line of its comment.
    pub read: usize,
    /// The most of a file that its declarations may take, in percent.
    pub read_percent: usize,
    /// Of a command's output.
    pub command: usize,
    /// Of a search: the files, with their hits counted.
    pub search: usize,
    /// Of other results.
    pub other: usize,
}

fn note(part: &Part) -> String {
    format!(
        "[Result cleared: {} characters. Call the tool again if it is needed.]",
        part.text.chars().count()
    )
}

/// The text that stands in the place of a cleared result; `sent` is what was sent of it.
pub fn of_result(part: &Part, class: Class, sent: &str, extracts: &Extracts) -> String {
    let note = note(part);
    let extract = match class {
        Class::Read => outline(
            sent,
            extracts.read.min(sent.len() * extracts.read_percent / 100),
        ),
        Class::Command | Class::Edit => squeeze(sent, extracts.command),
        Class::Search => files(sent, extracts.search),
        Class::Task | Class::Other => squeeze(sent, extracts.other),
        Class::Kept => None,
    };
    match extract {
        Some(extract) => format!("{note}\n{extract}"),
        None => note,
    }
}

fn squeeze(text: &str, chars: usize) -> Option<String> {
    Some(condense(text, &Budget::chars(chars))?.render(text))
}

fn files(text: &str, chars: usize) -> Option<String> {
    if chars == 0 {
        return None;
    }
    let mut out = String::new();
    for line in text.lines() {
        let path = line.split(':').next().unwrap_or_default();
        let is_path = path.contains('/') && !path.contains(char::is_whitespace);
        if is_path && !out.ends_with(&format!("{path}\n")) {
            out.push_str(path);
            out.push('\n');
        }
        if out.len() > chars {
            break;
        }
    }
    (!out.is_empty()).then_some(out)
}

const OPENERS: [&str; 26] = [
    "func ",
    "type ",
    "class ",
    "def ",
    "fn ",
    "pub ",
    "impl ",
    "struct ",
    "enum ",
    "interface ",
    "export ",
    "const ",
    "var ",
    "trait ",
    "async ",
    "function ",
    "public ",
    "private ",
    "protected ",
    "static ",
    "let ",
    "mod ",
    "package ",
    "# ",
    "## ",
    "### ",
];

fn code(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.strip_prefix('\u{2192}')
        .unwrap_or(if rest.len() < line.len() { line } else { rest })
}

fn outline(text: &str, chars: usize) -> Option<String> {
    if chars < 100 {
        return None;
    }
    let lines: Vec<&str> = text.lines().map(code).collect();
    let mut out = String::new();
    let mut comment = None;
    for line in &lines {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        let is_comment = indent == 0 && (bare.starts_with("//") || bare.starts_with("/*"));
        if is_comment {
            comment = comment.or(Some(bare));
            continue;
        }
        let opens = indent <= 1 && OPENERS.iter().any(|o| bare.starts_with(o))
            || indent <= 4
                && (bare.starts_with("def ")
                    || bare.starts_with("fn ")
                    || bare.starts_with("pub fn "));
        if opens {
            for line in [
                comment.unwrap_or_default(),
                bare.trim_end().trim_end_matches('{'),
            ] {
                if !line.is_empty() {
                    out.push_str(line);
                    out.push('\n');
                }
            }
            if out.len() > chars {
                break;
            }
        }
        comment = None;
    }
    (!out.is_empty()).then_some(out)
}

/// A call's input with the long strings under `keys` cut to their first line; `None` if nothing is long.
pub fn of_call(part: &Part, keys: &[&str], keep: usize) -> Option<String> {
    let call = part.call.as_ref()?;
    let mut input = call.input.clone();
    let mut is_cut = false;
    for key in keys {
        if let Some(Value::String(text)) = input.get_mut(key) {
            let chars = text.chars().count();
            if chars > keep + 60 {
                let head: String = text.chars().take(keep).collect();
                *text = format!("{head}[... {} more characters ...]", chars - keep);
                is_cut = true;
            }
        }
    }
    is_cut.then(|| input.to_string())
}
