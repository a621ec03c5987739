//! The provider's side: what it is sent, what it reads from its cache, and what it bills.

use secateur_core::Dialect;
use secateur_core::cost::Terms;
use secateur_core::cost::cache::{BlockList, BlockPlace, CacheKind, SimulatedCache};
use serde_json::value::RawValue;
use std::collections::HashMap;

use super::client::list;

/// Bytes of a token, so that the smallest prefixes are what they are for real requests.
const BYTES_PER_TOKEN: f64 = 3.0;

pub(crate) struct Provider {
    cache: SimulatedCache,
    terms: Terms,
    model: String,
    dialect: Dialect,
    seconds: f64,
    /// Between two requests.
    step_seconds: f64,
    /// What all requests cost so far, in the price of a token of input.
    pub(crate) cost: f64,
}

/// What a request read.
pub(crate) struct Read {
    /// The byte of the body at which the cached prefix ends; 0 if nothing was read.
    pub(crate) end: usize,
}

impl Provider {
    pub(crate) fn new(model: &str, dialect: Dialect, step_seconds: f64) -> Self {
        Self {
            cache: SimulatedCache::default(),
            terms: Terms::of(Some(model), Some(dialect)),
            model: model.to_owned(),
            dialect,
            seconds: 0.0,
            step_seconds,
            cost: 0.0,
        }
    }

    pub(crate) fn kind(&self) -> CacheKind {
        self.terms.rules.kind
    }

    pub(crate) fn min_bytes(&self) -> usize {
        (self.terms.rules.min_tokens.unwrap_or(0) as f64 * BYTES_PER_TOKEN) as usize
    }

    pub(crate) fn expire(&mut self) {
        self.cache.expire();
    }

    pub(crate) fn send(&mut self, body: &[u8]) -> Read {
        let rules = &self.terms.rules;
        let mut prompt = BlockList::of(body, self.dialect, rules.kind).unwrap();
        if self.dialect == Dialect::AnthropicMessages {
            // Thinking of earlier turns is not billed.
            for thinking in prompt
                .blocks
                .iter_mut()
                .filter(|block| !block.may_be_marked)
            {
                thinking.bytes = 0;
            }
        }
        assert!(
            rules.kind != CacheKind::Marked || prompt.marker_count() <= 4,
            "the provider rejects {} markers",
            prompt.marker_count()
        );
        self.seconds += self.step_seconds;
        let tokens = |bytes: usize| bytes as f64 / BYTES_PER_TOKEN;
        let cache = &mut self.cache;
        let billed = cache.request(rules, &self.model, &prompt, self.seconds, tokens);
        let prices = self.terms.cache;
        let dearer = rules.long_write.unwrap_or(prices.write) - prices.write;
        self.cost += billed.bill.cost(prices) + dearer * billed.long_written;
        let end = billed
            .hit
            .map_or(0, |at| end_of(body, self.dialect, prompt.blocks[at].place));
        Read { end }
    }
}

/// Where a block ends in the body. Tools and instructions end where the messages begin.
fn end_of(body: &[u8], dialect: Dialect, place: BlockPlace) -> usize {
    let text = std::str::from_utf8(body).unwrap();
    let members: HashMap<&str, &RawValue> = serde_json::from_str(text).unwrap();
    let items_text = members[list(dialect)].get();
    let BlockPlace::Message(message, block) = place else {
        return offset(text, items_text);
    };
    let items: Vec<&RawValue> = serde_json::from_str(items_text).unwrap();
    let item = items[message as usize].get();
    let members: HashMap<&str, &RawValue> = serde_json::from_str(item).unwrap();
    let content = members.get("content").or(members.get("parts"));
    let blocks =
        content.and_then(|content| serde_json::from_str::<Vec<&RawValue>>(content.get()).ok());
    let found = match (&blocks, content) {
        (Some(blocks), _) => blocks.get(block as usize).map_or(item, |block| block.get()),
        (None, Some(content)) => content.get(),
        (None, None) => item,
    };
    offset(text, found) + found.len()
}

fn offset(whole: &str, part: &str) -> usize {
    part.as_ptr() as usize - whole.as_ptr() as usize
}
