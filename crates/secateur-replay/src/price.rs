//! What a request costs, in units of the input price of one token.
//!
//! The longest prefix shared with the previous request's output (by message, then by part, then by
//! character inside the first part that differs) is read from the cache; all behind it is written. The
//! fixed prefix (system prompt and tool schemas) is written once and read from the second request on.

/// Price of a token read from the cache.
pub const CACHE_READ: f64 = 0.1;
/// Price of a token written to the cache.
pub const CACHE_WRITE: f64 = 1.25;
/// Characters of a token, measured against billed Claude requests.
pub const CHARS_PER_TOKEN: f64 = 2.6;

/// Characters to tokens.
pub fn chars_to_tokens(chars: usize) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "bodies are far below 2^52 characters"
    )]
    let chars = chars as f64;
    chars / CHARS_PER_TOKEN
}

/// The running cost of one session.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    /// Cost so far.
    pub cost: f64,
    /// Tokens sent so far.
    pub tokens: f64,
    /// Tokens read from the cache so far.
    pub cache_read: f64,
    requests: usize,
}

impl Meter {
    /// Adds a request of `total_chars` whose first `shared_chars` the previous request also began with.
    pub fn add(&mut self, fixed_tokens: f64, shared_chars: usize, total_chars: usize) {
        let shared = chars_to_tokens(shared_chars);
        let fresh = chars_to_tokens(total_chars - shared_chars.min(total_chars));
        let (read, written) = if self.requests == 0 {
            (0.0, fixed_tokens + shared + fresh)
        } else {
            (fixed_tokens + shared, fresh)
        };
        self.cost += read * CACHE_READ + written * CACHE_WRITE;
        self.tokens += read + written;
        self.cache_read += read;
        self.requests += 1;
    }
}
