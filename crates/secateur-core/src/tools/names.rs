//! Which tools a strategy may touch: patterns with `*`, whatever the case.

use crate::options::options;

options! {
    /// Tools by name. `*` stands for any run of characters; case does not matter; `deny` wins; an
    /// empty `allow` allows all.
    pub struct ToolNames {
        /// Tools that may be touched; none listed: all.
        allow: Vec<String> = Vec::new(),
        /// Tools that are never touched.
        deny: Vec<String> = Vec::new(),
    }
}

impl ToolNames {
    /// The lists, ready for matching.
    pub(crate) fn compile(&self) -> ToolFilter {
        ToolFilter {
            allow: Patterns::new(&self.allow),
            deny: Patterns::new(&self.deny),
        }
    }
}

/// Compiled [`ToolNames`].
#[derive(Debug)]
pub(crate) struct ToolFilter {
    allow: Patterns,
    deny: Patterns,
}

impl ToolFilter {
    pub(crate) fn lets_through(&self, name: &str) -> bool {
        !self.deny.match_any(name) && (self.allow.is_empty() || self.allow.match_any(name))
    }
}

/// Patterns in lower case. Blank ones count as not there.
#[derive(Debug)]
pub(crate) struct Patterns(Vec<String>);

impl Patterns {
    pub(crate) fn new(patterns: &[String]) -> Self {
        let patterns = patterns.iter().map(|pattern| pattern.trim().to_lowercase());
        Self(patterns.filter(|pattern| !pattern.is_empty()).collect())
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn match_any(&self, name: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let name = name.trim().to_lowercase();
        self.0.iter().any(|pattern| matches(pattern, &name))
    }
}

/// Whether the pattern covers the whole name. The pieces between the stars are found leftmost
/// first, so the cost is bounded by the name's length times the pattern's.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for piece in middle.split('*').filter(|piece| !piece.is_empty()) {
        match name.find(piece) {
            Some(at) => name = &name[at + piece.len()..],
            None => return false,
        }
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(allow: &[&str], deny: &[&str]) -> ToolFilter {
        let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        ToolNames {
            allow: list(allow),
            deny: list(deny),
        }
        .compile()
    }

    #[test]
    fn stars_stand_for_any_run_of_characters() {
        for (pattern, name, expected) in [
            ("read", "read", true),
            ("read", "reads", false),
            ("*", "", true),
            ("*", "anything", true),
            ("mcp__*", "mcp__browser__click", true),
            ("mcp__*", "xmcp__browser", false),
            ("*edit", "multiedit", true),
            ("*edit", "editor", false),
            ("*image*", "get_image_url", true),
            ("gr*p", "grep", true),
            ("gr*p", "grp", true),
            ("gr*p", "gr", false),
            ("a*a", "a", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxcyyb", false),
            ("a**c", "abc", true),
            ("*ab*ab", "ab", false),
            ("*ab*ab", "abab", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} on {name}");
        }
    }

    #[test]
    fn case_does_not_matter_and_deny_wins() {
        let tools = filter(&["BASH", "Gr*p"], &["bash_output"]);
        assert!(tools.lets_through("Bash") && tools.lets_through("GREP"));
        assert!(!tools.lets_through("Read") && !tools.lets_through("Bash_Output"));
        let tools = filter(&["*"], &["*Edit"]);
        assert!(tools.lets_through("read") && !tools.lets_through("MultiEDIT"));
    }

    #[test]
    fn an_empty_allow_list_allows_all() {
        assert!(filter(&[], &[]).lets_through(""));
        assert!(filter(&["  "], &[]).lets_through("read"));
        assert!(!filter(&[], &["read"]).lets_through("Read"));
    }
}
