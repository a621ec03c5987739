//! A stretch of a long text, so that one answer does not fill a model's window again.

use serde::{Deserialize, Serialize};

/// Characters in an answer unless the caller says otherwise.
const DEFAULT_CHARS: usize = 20_000;

/// Characters in an answer at most.
const MAX_CHARS: usize = 200_000;

/// What is asked for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// The id in the placeholder.
    pub(crate) id: String,
    /// The first character wanted, counted from 0.
    #[serde(default)]
    pub(crate) offset: usize,
    /// How many characters at most.
    #[serde(default)]
    pub(crate) max_chars: Option<usize>,
}

impl Asked {
    /// The id alone, however it was written: `k3…`, `recall:k3…` or `[recall:k3…]`.
    pub(crate) fn bare_id(&self) -> &str {
        let id = self.id.trim().trim_start_matches('[').trim_end_matches(']');
        id.strip_prefix("recall:").unwrap_or(id)
    }
}

/// A stretch of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The text.
    pub text: String,
    /// Its first character, counted from 0.
    pub offset: usize,
    /// Characters of the whole text.
    pub total_chars: usize,
    /// Where to go on; `None`: this was the end.
    pub next_offset: Option<usize>,
}

impl Page {
    pub(crate) fn of(text: &str, asked: &Asked) -> Self {
        let total_chars = text.chars().count();
        let offset = asked.offset.min(total_chars);
        let wanted = asked.max_chars.unwrap_or(DEFAULT_CHARS).clamp(1, MAX_CHARS);
        let end = (offset + wanted).min(total_chars);
        Self {
            text: text.chars().skip(offset).take(end - offset).collect(),
            offset,
            total_chars,
            next_offset: (end < total_chars).then_some(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_put_together_are_the_text() {
        let text = "aé漢\u{1f600}".repeat(100);
        let (mut whole, mut next) = (String::new(), Some(0));
        while let Some(offset) = next {
            let asked = Asked {
                offset,
                max_chars: Some(7),
                ..Asked::default()
            };
            let page = Page::of(&text, &asked);
            assert!(page.text.chars().count() <= 7 && page.total_chars == 400);
            whole += &page.text;
            next = page.next_offset;
        }
        assert_eq!(whole, text);
    }

    #[test]
    fn an_offset_behind_the_end_is_an_empty_last_page() {
        let asked = Asked {
            offset: 9,
            ..Asked::default()
        };
        let page = Page::of("abc", &asked);
        assert_eq!((page.text.as_str(), page.next_offset), ("", None));
    }

    #[test]
    fn ids_are_taken_as_a_model_writes_them() {
        for id in ["k3", " k3 ", "recall:k3", "[recall:k3]"] {
            let asked = Asked {
                id: id.to_owned(),
                ..Asked::default()
            };
            assert_eq!(asked.bare_id(), "k3");
        }
    }
}
