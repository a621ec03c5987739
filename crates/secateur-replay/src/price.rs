//! What a request costs, in units of the input price of one token: by the rules of the provider's own cache.
//!
//! The client marks the end of its instructions and the last block of its last message, as coding agents do, where
//! the provider wants markers. The fixed prefix (system prompt and tool schemas) is the first block.

use secateur_core::cost::Terms;
use secateur_core::cost::cache::{
    Block, BlockList, BlockPlace, CacheKind, CachePrices, CacheRules, Life, SimulatedCache,
};
use secateur_core::models;

use crate::session::Session;

/// Characters of a token, measured against billed Claude requests.
pub const CHARS_PER_TOKEN: f64 = 2.6;

/// Characters to tokens of Claude.
pub fn chars_to_tokens(chars: usize) -> f64 {
    tokens_of(chars, CHARS_PER_TOKEN)
}

/// Characters to tokens, at so many characters each.
pub(crate) fn tokens_of(chars: usize, chars_per_token: f64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "bodies are far below 2^52 characters"
    )]
    let chars = chars as f64;
    chars / chars_per_token
}

/// Which cache a replay assumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheAssumption {
    /// The one that the session's provider keeps.
    #[default]
    Provider,
    /// One that finds the longest common prefix, at the provider's prices. For comparison.
    PlainPrefix,
    /// The provider's, with markers that reach any distance back. For comparison.
    UnlimitedReach,
}

/// How requests are priced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pricing {
    /// The cache.
    pub cache: CacheAssumption,
    /// Whether nothing is left in the cache at requests that really followed a long pause.
    pub with_pauses: bool,
}

impl Default for Pricing {
    fn default() -> Self {
        Self {
            cache: CacheAssumption::Provider,
            with_pauses: true,
        }
    }
}

impl Pricing {
    fn rules(self, provider: &CacheRules) -> CacheRules {
        let mut rules = *provider;
        match self.cache {
            CacheAssumption::Provider => {}
            CacheAssumption::PlainPrefix => rules.kind = CacheKind::Automatic,
            CacheAssumption::UnlimitedReach => rules.look_back_blocks = usize::MAX,
        }
        rules
    }
}

/// One block of a request: what it says, and how long that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Priced {
    /// Equal for equal content.
    pub key: u64,
    /// Its characters.
    pub chars: usize,
    /// Whether it carries a marker.
    pub is_marked: bool,
}

/// What one request costs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Charge {
    /// Its cost.
    pub cost: f64,
    /// Tokens sent.
    pub tokens: f64,
    /// Of these, tokens read from the cache.
    pub cache_read: f64,
}

/// The running cost of one session.
#[derive(Debug, Clone)]
pub struct Meter {
    /// All requests so far.
    pub sum: Charge,
    /// Requests with more markers than the provider takes.
    pub rejected: usize,
    cache: SimulatedCache,
    rules: CacheRules,
    prices: CachePrices,
    chars_per_token: f64,
    head_chars: usize,
    pricing: Pricing,
}

impl Meter {
    /// Nothing was sent yet.
    pub fn new(session: &Session, pricing: Pricing) -> Self {
        let terms = Terms::of(session.model.as_deref(), Some(session.dialect));
        let chars_per_token = models::chars_per_token(session.model.as_deref());
        let mut prices = terms.cache;
        if let Some(write) = terms.rules.long_write.filter(|_| session.has_long_cache) {
            prices.write = write;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count of characters"
        )]
        let head_chars = (session.fixed_tokens * chars_per_token) as usize;
        Self {
            sum: Charge::default(),
            rejected: 0,
            cache: SimulatedCache::default(),
            rules: pricing.rules(&terms.rules),
            prices,
            chars_per_token,
            head_chars,
            pricing,
        }
    }

    /// Adds a request. `is_cold`: it followed a long pause.
    pub fn add(&mut self, blocks: impl Iterator<Item = Priced>, is_cold: bool) -> Charge {
        if is_cold && self.pricing.with_pauses {
            self.cache.expire();
        }
        let head = Priced {
            key: u64::MAX,
            chars: self.head_chars,
            is_marked: true,
        };
        let blocks = std::iter::once(head).chain(blocks).map(|block| Block {
            place: BlockPlace::Message(0, 0),
            key: block.key,
            bytes: block.chars,
            marker: block.is_marked.then_some(Life::Usual),
            may_be_marked: true,
        });
        let prompt = BlockList {
            blocks: blocks.collect(),
            ..BlockList::default()
        };
        let has_markers = self.rules.kind == CacheKind::Marked;
        let is_rejected = has_markers && prompt.marker_count() > self.rules.max_markers;
        self.rejected += usize::from(is_rejected);
        let billed = self.cache.request(&self.rules, "", &prompt, 0.0, |chars| {
            tokens_of(chars, self.chars_per_token)
        });
        let charge = Charge {
            cost: billed.bill.cost(self.prices),
            tokens: billed.bill.read + billed.bill.written + billed.bill.plain,
            cache_read: billed.bill.read,
        };
        self.sum.cost += charge.cost;
        self.sum.tokens += charge.tokens;
        self.sum.cache_read += charge.cache_read;
        charge
    }
}
