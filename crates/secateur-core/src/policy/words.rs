//! What a TOML reader finds wrong, in words for people: no types of this program, and the key that was probably meant.

use super::nearest::nearest;

/// `expected a whole number, found the text "x"` instead of `invalid type: string "x", expected u64`.
#[must_use]
pub fn plain_words(message: &str) -> String {
    if let Some((found, expected)) = mismatch(message) {
        return format!(
            "expected {}, found {}",
            plain_type(expected),
            plain_value(found)
        );
    }
    let quoted = message.split('`').nth(1);
    match quoted {
        Some(word) if message.starts_with("unknown field") => format!("unknown key `{word}`"),
        Some(word) if message.starts_with("unknown variant") => format!("unknown value `{word}`"),
        Some(word) if message.starts_with("missing field") => {
            format!("the key `{word}` is missing")
        }
        _ => message.to_owned(),
    }
}

/// What an unknown key or value probably was meant to be, or all that there are.
#[must_use]
pub fn meant(message: &str) -> Option<String> {
    if !message.starts_with("unknown field") && !message.starts_with("unknown variant") {
        return None;
    }
    // The unknown word comes first, then the known ones, each in backquotes.
    let mut quoted = message.split('`').skip(1).step_by(2);
    let word = quoted.next()?;
    let known: Vec<&str> = quoted.collect();
    Some(did_you_mean(word, known.into_iter()))
}

/// The candidate that a word was probably meant to be, or all of them.
pub fn did_you_mean<'c>(word: &str, candidates: impl Iterator<Item = &'c str> + Clone) -> String {
    match nearest(word, candidates.clone()) {
        Some(found) => format!("did you mean `{found}`?"),
        None => format!("known: {}", candidates.collect::<Vec<_>>().join(", ")),
    }
}

/// What was found and what was expected.
fn mismatch(message: &str) -> Option<(&str, &str)> {
    let rest = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))?;
    rest.rsplit_once(", expected ")
}

fn plain_type(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" | "bool" => "true or false",
        "a string" => "a text in quotes",
        "a sequence" => "a list",
        "a map" => "a table",
        name if name.starts_with("struct ") => "a table",
        "string or table" => "a text in quotes or a table",
        name if name.starts_with("path ") => "a path in quotes",
        other => other,
    }
}

fn plain_value(found: &str) -> String {
    let value = || found.split('`').nth(1).unwrap_or_default();
    match found.split(' ').next().unwrap_or_default() {
        "string" => found.replacen("string", "the text", 1),
        "integer" | "boolean" => value().to_owned(),
        "floating" => value().to_owned(),
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        _ => found.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_no_types_of_this_program() {
        for (message, words) in [
            (
                "invalid type: string \"x, expected y\", expected u64",
                "expected a whole number, 0 or more, found the text \"x, expected y\"",
            ),
            (
                "invalid value: integer `-1`, expected usize",
                "expected a whole number, 0 or more, found -1",
            ),
            (
                "invalid type: floating point `1.5`, expected u32",
                "expected a whole number, 0 or more, found 1.5",
            ),
            (
                "invalid type: integer `3`, expected a string",
                "expected a text in quotes, found 3",
            ),
            (
                "invalid type: boolean `true`, expected struct RawWorkload",
                "expected a table, found true",
            ),
            (
                "invalid type: sequence, expected f64",
                "expected a number, found a list",
            ),
            (
                "unknown field `presett`, expected one of `preset`, `policy`",
                "unknown key `presett`",
            ),
            ("missing field `sha256`", "the key `sha256` is missing"),
            ("duplicate key", "duplicate key"),
        ] {
            assert_eq!(plain_words(message), words);
        }
    }

    #[test]
    fn what_was_probably_meant_is_named() {
        let unknown = "unknown field `presett`, expected one of `preset`, `policy`";
        assert_eq!(meant(unknown).unwrap(), "did you mean `preset`?");
        let far = "unknown variant `colour`, expected `json` or `off`";
        assert_eq!(meant(far).unwrap(), "known: json, off");
        assert_eq!(meant("missing field `a`"), None);
    }
}
