//! The ways to cut a log that are compared.

use secateur_condense::{Budget, condense};

/// A name and a way to cut a text to so many characters.
pub(crate) type Method = (&'static str, fn(&str, usize) -> String);

pub(crate) const METHODS: &[Method] = &[
    ("head+tail", head_and_tail),
    ("tail-200", tail_200),
    ("keyword grep", keyword_grep),
    ("condense", ours),
];

/// The first and the last half of the budget.
fn head_and_tail(text: &str, max_chars: usize) -> String {
    let half = max_chars / 2;
    let head: String = text.chars().take(half).collect();
    format!("{head}{}", last_chars(text, max_chars - half))
}

/// The last 200 lines, and of those the last that fit.
fn tail_200(text: &str, max_chars: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let tail = lines[lines.len().saturating_sub(200)..].join("\n");
    last_chars(&tail, max_chars)
}

/// Lines with the usual words, the last that fit.
pub(crate) fn keyword_grep(text: &str, max_chars: usize) -> String {
    const WORDS: &[&str] = &[
        "error",
        "fail",
        "fatal",
        "exception",
        "panic",
        "traceback",
        "exit code",
        "warning",
    ];
    let hits: Vec<&str> = text
        .lines()
        .filter(|line| {
            let lower = line.to_lowercase();
            WORDS.iter().any(|word| lower.contains(word))
        })
        .collect();
    last_chars(&hits.join("\n"), max_chars)
}

fn ours(text: &str, max_chars: usize) -> String {
    condense(text, &Budget::chars(max_chars))
        .map_or_else(|| text.to_owned(), |condensed| condensed.render(text))
}

fn last_chars(text: &str, max_chars: usize) -> String {
    let skip = text.chars().count().saturating_sub(max_chars);
    text.chars().skip(skip).collect()
}

/// Removes colour codes, real and printed, as a terminal would.
pub(crate) fn without_colours(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\u{1b}', '^']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let code = from
            .strip_prefix("\u{1b}[")
            .or_else(|| from.strip_prefix("^[["));
        let after =
            code.map(|code| code.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';'));
        match after.and_then(|after| after.strip_prefix(|c: char| c.is_ascii_alphabetic())) {
            Some(after) => rest = after,
            None => {
                let mut chars = from.chars();
                out.extend(chars.next());
                rest = chars.as_str();
            }
        }
    }
    out.push_str(rest);
    out
}
