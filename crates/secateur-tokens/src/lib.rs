//! Token counts: exact for OpenAI vocabularies, calibrated estimates for the others.
//!
//! | models | counted with | result |
//! | --- | --- | --- |
//! | `gpt-4o`, `gpt-4.1`, `gpt-5…`, `o1`… `o4`, `chatgpt-4o…`, `codex…` | `o200k_base` | exact |
//! | `gpt-4`, `gpt-4-turbo`, `gpt-3.5…` | `cl100k_base` | exact |
//! | Claude | `o200k_base` × 1.31 | estimate |
//! | Gemini | `o200k_base` × 1.04 | estimate |
//! | anything else | `o200k_base` | estimate |
//!
//! Exact means: the provider's own token ids for the text. The few tokens that a provider adds per
//! message are not text and not counted.
//!
//! No tokenizer of Claude 3 or later is public. Its factor is the ratio between tokens billed and
//! `o200k_base` tokens, measured on 120 coding sessions (November 2026). Gemini's factor comes from
//! the `usageMetadata` of recorded requests; `cargo run -p secateur-tokens --example calibrate`
//! prints how it was found.

#![deny(missing_docs)]

use std::sync::OnceLock;

use tiktoken::CoreBpe;

/// Whether a count is the provider's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The provider's own vocabulary.
    Exact,
    /// Another vocabulary, scaled by a measured factor.
    Estimate,
}

/// Counts the tokens of texts for one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    vocabulary: Vocabulary,
    /// Hundredths, so that counts are the same on every machine.
    factor_percent: usize,
    basis: Basis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vocabulary {
    O200k,
    Cl100k,
}

/// Billed Claude tokens per hundred `o200k_base` tokens.
const CLAUDE_PERCENT: usize = 131;
/// Billed Gemini tokens per hundred `o200k_base` tokens.
const GEMINI_PERCENT: usize = 104;

/// Longer texts are counted in pieces: a run of characters that the vocabulary's splitter leaves
/// whole would make byte pair encoding slow. Pieces end where no token can reach across, as long as
/// the text has such a place.
const PIECE_BYTES: usize = 4 * 1024;

impl Counter {
    /// The counter for a model's name. Without a name: an estimate.
    #[must_use]
    pub fn for_model(model: Option<&str>) -> Self {
        use Basis::{Estimate, Exact};
        let bare = model.unwrap_or_default();
        let bare = bare.rsplit('/').next().unwrap_or(bare);
        let starts = |names: &[&str]| names.iter().any(|name| bare.starts_with(name));
        let (vocabulary, factor_percent, basis) = if bare.contains("claude") {
            (Vocabulary::O200k, CLAUDE_PERCENT, Estimate)
        } else if starts(&["gemini", "gemma", "learnlm"]) {
            (Vocabulary::O200k, GEMINI_PERCENT, Estimate)
        } else if starts(&[
            "gpt-4o", "gpt-4.", "gpt-5", "chatgpt", "codex", "o1", "o3", "o4",
        ]) {
            (Vocabulary::O200k, 100, Exact)
        } else if starts(&["gpt-4", "gpt-3.5"]) {
            (Vocabulary::Cl100k, 100, Exact)
        } else {
            (Vocabulary::O200k, 100, Estimate)
        };
        Self {
            vocabulary,
            factor_percent,
            basis,
        }
    }

    /// Whether the counts are the provider's own.
    #[must_use]
    pub fn basis(self) -> Basis {
        self.basis
    }

    /// What it counts with, for people; an estimate says so.
    #[must_use]
    pub fn name(self) -> String {
        let vocabulary = match self.vocabulary {
            Vocabulary::O200k => "o200k_base",
            Vocabulary::Cl100k => "cl100k_base",
        };
        match (self.basis, self.factor_percent) {
            (Basis::Exact, _) => format!("{vocabulary}, exact"),
            (Basis::Estimate, 100) => format!("{vocabulary}, estimate"),
            (Basis::Estimate, percent) => {
                format!(
                    "{vocabulary} × {}.{:02}, estimate",
                    percent / 100,
                    percent % 100
                )
            }
        }
    }

    /// Tokens of one text.
    #[must_use]
    pub fn count(self, text: &str) -> usize {
        self.scale(self.count_vocabulary(text))
    }

    /// Tokens of several texts, scaled once.
    pub fn count_all<T: AsRef<str>>(self, texts: impl IntoIterator<Item = T>) -> usize {
        let sum = texts
            .into_iter()
            .map(|text| self.count_vocabulary(text.as_ref()))
            .sum();
        self.scale(sum)
    }

    fn scale(self, tokens: usize) -> usize {
        (tokens * self.factor_percent).div_ceil(100)
    }

    fn count_vocabulary(self, text: &str) -> usize {
        let Some(vocabulary) = self.vocabulary.load() else {
            // Not reachable while both vocabularies are compiled in; a rough count beats none.
            return text.len().div_ceil(4);
        };
        let mut rest = text;
        let mut tokens = 0;
        while !rest.is_empty() {
            let piece = &rest[..piece_end(rest)];
            tokens += vocabulary.count(piece);
            rest = &rest[piece.len()..];
        }
        tokens
    }
}

/// Where to cut off the next piece: behind a newline that starts no run of white space, since the
/// splitter never joins a newline with what follows it otherwise.
fn piece_end(text: &str) -> usize {
    if text.len() <= PIECE_BYTES {
        return text.len();
    }
    let end = (0..=PIECE_BYTES)
        .rev()
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(text.len());
    let bytes = text.as_bytes();
    let ends_line = |&at: &usize| {
        bytes[at - 1] == b'\n' && !bytes[at].is_ascii_whitespace() && bytes[at].is_ascii()
    };
    (1..end).rev().find(ends_line).unwrap_or(end)
}

impl Vocabulary {
    fn load(self) -> Option<&'static CoreBpe> {
        static O200K: OnceLock<Option<&'static CoreBpe>> = OnceLock::new();
        static CL100K: OnceLock<Option<&'static CoreBpe>> = OnceLock::new();
        match self {
            Self::O200k => *O200K.get_or_init(|| tiktoken::get_encoding("o200k_base")),
            Self::Cl100k => *CL100K.get_or_init(|| tiktoken::get_encoding("cl100k_base")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openai_counts_are_exact() {
        // Known counts of the published vocabularies.
        let new = Counter::for_model(Some("gpt-4o"));
        let old = Counter::for_model(Some("gpt-4"));
        assert_eq!(new.count("hello world"), 2);
        assert_eq!(old.count("hello world"), 2);
        assert_eq!(new.count("안녕하세요"), 2);
        assert_eq!(old.count("안녕하세요"), 5);
        assert_eq!(new.count(""), 0);
        assert_eq!(new.basis(), Basis::Exact);
    }

    #[test]
    fn estimates_are_named_as_such() {
        for model in [
            "claude-opus-4-6",
            "anthropic/claude-sonnet-5",
            "gemini-2.5-pro",
            "llama-3",
        ] {
            let counter = Counter::for_model(Some(model));
            assert_eq!(counter.basis(), Basis::Estimate, "{model}");
            assert!(counter.name().contains("estimate"), "{model}");
        }
        assert_eq!(Counter::for_model(None).basis(), Basis::Estimate);
        assert!(Counter::for_model(Some("o3-mini")).name().contains("exact"));
    }

    #[test]
    fn claude_counts_more_than_its_vocabulary_does() {
        let text = "fn main() { println!(\"{}\", 42); }\n".repeat(50);
        let exact = Counter::for_model(Some("gpt-5")).count(&text);
        let claude = Counter::for_model(Some("claude-opus-4-6")).count(&text);
        assert_eq!(claude, (exact * 131).div_ceil(100));
    }

    #[test]
    fn a_megabyte_without_a_break_is_counted_in_bounded_time() {
        let counter = Counter::for_model(Some("gpt-5"));
        assert!(counter.count(&"a".repeat(1 << 20)) > 1000);
        assert!(counter.count(&"漢".repeat(1 << 18)) > 1000);
        assert!(counter.count(&" ".repeat(1 << 20)) > 10);
    }

    #[test]
    fn long_texts_are_cut_at_lines_so_that_counts_stay_exact() {
        let counter = Counter::for_model(Some("gpt-5"));
        let text = "fn sum(a: u8) {\n\n\n    let b = a;\n\t\n  b + 1\n}\n".repeat(400);
        assert!(text.len() > 3 * PIECE_BYTES);
        let whole = Vocabulary::O200k.load().unwrap().count(&text);
        assert_eq!(counter.count(&text), whole);
    }
}
