//! Names with `*` in them.

/// Texts in which `*` stands for any characters, also none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamePatterns(Vec<String>);

impl NamePatterns {
    pub(super) fn new(patterns: impl IntoIterator<Item = String>) -> Self {
        Self(patterns.into_iter().collect())
    }

    /// Whether one of them stands for this name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| matches(pattern, name))
    }
}

/// Each piece between two `*` is taken where it is found first, so nothing is tried twice.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(start) else {
        return false;
    };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match name.find(piece) {
            Some(at) => name = &name[at + piece.len()..],
            None => return false,
        }
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, is_match) in [
            ("gpt-5", "gpt-5", true),
            ("gpt-5", "gpt-5-mini", false),
            ("gpt-5*", "gpt-5-mini", true),
            ("gpt-5*", "gpt-5", true),
            ("*sonnet*", "us.anthropic.claude-sonnet-4-5", true),
            ("claude-*-4-5", "claude-sonnet-4-5", true),
            ("claude-*-4-5", "claude-4-5", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*bc", "abcb", false),
            ("*", "", true),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
        }
    }
}
