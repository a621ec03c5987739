//! What is known of the models: windows, prices, and how their thinking is signed.

mod prices;
mod table;

pub use prices::Prices;

/// When the table was last checked against the providers' lists.
pub const TABLE_DATE: &str = "2026-11";

/// The window that is assumed when nothing is known, in tokens.
pub const DEFAULT_WINDOW_TOKENS: usize = 200_000;

/// Who serves a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// Anthropic.
    Anthropic,
    /// Google.
    Gemini,
    /// OpenAI.
    Openai,
}

/// One line of the table. Prices in US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// Who serves it.
    pub provider: Provider,
    /// Its name on the wire.
    pub name: &'static str,
    /// Context window in tokens; 0 is unknown.
    pub window_tokens: usize,
    /// Longest answer in tokens; 0 is unknown.
    pub max_output_tokens: usize,
    /// Input that was not cached.
    pub input_usd: f64,
    /// Input that is written to the cache; `None`: automatic caching without surcharge.
    pub cache_write_usd: Option<f64>,
    /// Input that is read from the cache; `None`: no cache.
    pub cache_read_usd: Option<f64>,
    /// Output.
    pub output_usd: f64,
}

impl Entry {
    #[expect(clippy::too_many_arguments, reason = "one line of a table")]
    const fn new(
        provider: Provider,
        name: &'static str,
        window_tokens: usize,
        max_output_tokens: usize,
        input_usd: f64,
        cache_write_usd: Option<f64>,
        cache_read_usd: Option<f64>,
        output_usd: f64,
    ) -> Self {
        Self {
            provider,
            name,
            window_tokens,
            max_output_tokens,
            input_usd,
            cache_write_usd,
            cache_read_usd,
            output_usd,
        }
    }
}

/// All models of the table, sorted by name.
#[must_use]
pub fn all() -> &'static [Entry] {
    table::TABLE
}

/// The table's entry for a model: its exact name, or that name without a routing prefix
/// (`anthropic/claude-…`, `models/gemini-…`), or the longest entry that is a prefix of it up to a
/// dash (`gpt-5-2025-08-07-custom` is a `gpt-5-2025-08-07`).
#[must_use]
pub fn find(model: &str) -> Option<&'static Entry> {
    let bare = model.rsplit('/').next().unwrap_or(model);
    let mut name = bare;
    loop {
        if let Ok(at) = table::TABLE.binary_search_by(|entry| entry.name.cmp(name)) {
            return table::TABLE.get(at);
        }
        name = &name[..name.rfind(['-', ':', '@'])?];
    }
}

/// The prices of a model of the table.
#[must_use]
pub fn prices(model: Option<&str>) -> Option<Prices> {
    model.and_then(find).map(Prices::of)
}

/// Characters of a request to one of its tokens, on coding sessions.
///
/// Claude: measured against billed requests. The others follow from the ratio of their vocabularies to
/// Claude's (`secateur-tokens`): 1.31 for `o200k_base`, 1.26 for Gemini.
#[must_use]
pub fn chars_per_token(model: Option<&str>) -> f64 {
    let bare = model.map(|name| name.rsplit('/').next().unwrap_or(name));
    match bare {
        Some(name) if name.starts_with("gemini") || name.starts_with("gemma") => 3.3,
        Some(name) if !name.contains("claude") => 3.4,
        _ => 2.6,
    }
}

/// Whether a model's thinking blocks are bound to everything before them, so that an edit there
/// makes them invalid.
///
/// Known September 2026: Claude Fable 5.1 and later, and the 5.5 models. Claude models up to 5.0
/// sign each block alone. A Claude that is newer than that, or whose version cannot be read, counts
/// as bound.
#[must_use]
pub fn thinking_is_bound(model: &str) -> bool {
    let Some((_, after)) = model.rsplit_once("claude") else {
        return false;
    };
    match claude_version(after) {
        Some(version) => version > (5, 0),
        None => true,
    }
}

/// The version in `-opus-4-8-20260416`, `-3-7-sonnet`, `-2.1`: the first number of at most two
/// digits, and the one right after it.
fn claude_version(name: &str) -> Option<(u32, u32)> {
    let is_version = |word: &&str| {
        !word.is_empty() && word.len() <= 2 && word.bytes().all(|b| b.is_ascii_digit())
    };
    let words: Vec<&str> = name.split(['-', '.', '@', ':']).collect();
    let at = words.iter().position(is_version)?;
    let minor = words.get(at + 1).filter(|word| is_version(word));
    Some((
        words[at].parse().ok()?,
        minor.map_or(Ok(0), |minor| minor.parse()).ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_it_can_be_searched() {
        assert!(all().windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn finds_a_model_by_name_prefix_and_route() {
        let name = |model| find(model).map(|entry| entry.name);
        assert_eq!(name("gpt-5"), Some("gpt-5"));
        assert_eq!(name("gpt-5-2025-08-07"), Some("gpt-5-2025-08-07"));
        assert_eq!(name("gpt-5-2099-01-01"), Some("gpt-5"));
        assert_eq!(name("anthropic/claude-opus-4-6"), Some("claude-opus-4-6"));
        assert_eq!(name("models/gemini-2.5-pro"), Some("gemini-2.5-pro"));
        assert_eq!(name("llama-70b"), None);
        assert_eq!(name(""), None);
    }

    #[test]
    fn only_newer_claude_models_bind_their_thinking() {
        for model in [
            "claude-3-7-sonnet-20250219",
            "claude-opus-4-20250514",
            "claude-opus-4-8",
            "claude-fable-5",
            "claude-opus-5",
            "claude-2.1",
            "us.anthropic.claude-sonnet-4-5-v1:0",
            "gpt-5",
            "gemini-3-pro-preview",
        ] {
            assert!(!thinking_is_bound(model), "{model}");
        }
        for model in [
            "claude-fable-5-1",
            "claude-fable-5.1",
            "claude-opus-5-5",
            "claude-sonnet-5-5-20260901",
            "claude-opus-6",
            "claude-next",
            "anthropic/claude-fable-5-2",
        ] {
            assert!(thinking_is_bound(model), "{model}");
        }
    }
}
