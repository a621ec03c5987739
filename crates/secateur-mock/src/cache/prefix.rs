//! Automatic caching: any prefix that was sent before is read.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use secateur_core::models::chars_per_token;

use super::blocks::Block;
use super::{Usage, tokens_of};

/// Granularity of providers that do not round, in characters.
const FINE_CHARS: usize = 64;

/// Prefixes kept at most; then the store starts over, as if everything had expired.
const MAX_PREFIXES: usize = 1 << 20;

/// How long a prefix is kept after its last use: the shortest time that OpenAI documents.
const LIFETIME: Duration = Duration::from_secs(5 * 60);

#[derive(Debug, Default)]
pub(super) struct SeenPrefixes {
    /// When each prefix was last sent.
    last_use: HashMap<u64, Duration>,
}

impl SeenPrefixes {
    pub(super) fn count(
        &mut self,
        model: &str,
        blocks: &[Block],
        min_tokens: usize,
        step_tokens: Option<usize>,
        now: Duration,
    ) -> Usage {
        if self.last_use.len() > MAX_PREFIXES {
            self.last_use.clear();
        }
        let prompt: Vec<char> = blocks.iter().flat_map(|block| block.text.chars()).collect();
        let step_chars = step_tokens.map_or(FINE_CHARS, |tokens| {
            (tokens as f64 * chars_per_token(Some(model))) as usize
        });
        let mut hasher = DefaultHasher::new();
        model.hash(&mut hasher);
        let mut cached_steps = 0;
        let mut is_prefix = true;
        for step in prompt.chunks_exact(step_chars) {
            step.hash(&mut hasher);
            let before = self.last_use.insert(hasher.finish(), now);
            is_prefix &= before.is_some_and(|before| now < before + LIFETIME);
            cached_steps += usize::from(is_prefix);
        }
        let cached = match step_tokens {
            Some(step) => cached_steps * step,
            None => tokens_of(model, cached_steps * FINE_CHARS),
        };
        Usage {
            input_tokens: tokens_of(model, prompt.len()),
            cache_read_tokens: if cached < min_tokens { 0 } else { cached },
            ..Usage::default()
        }
    }
}
