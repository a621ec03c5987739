//! What a request is going to cost, pruned and unpruned, at the provider's prices and cache rules.
//!
//! `cargo run -p secateur-core --example receipt`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use secateur_core::models::chars_per_token;
use secateur_core::receipt::{Cache, Counts, Receipt};
use secateur_core::{Policy, Request, prune};
use serde_json::json;

const MODEL: &str = "claude-sonnet-4-5";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::preset("tessera")?;
    let body = serde_json::to_vec(&conversation())?;
    let outcome = prune(&body, &Request::default(), &policy);

    // An estimate from characters. `secateur-tokens` counts with OpenAI's vocabularies; see `Counts::of`.
    let counts = Counts::by_ratio(&outcome.report, chars_per_token(Some(MODEL)));
    // Five minutes after the last request Anthropic's cache is cold, and only the caller has a clock.
    for cache in [Cache::Warm, Cache::Cold] {
        let receipt = Receipt::of(&outcome.report, &counts, cache);
        let without = receipt.predicted_usd_without.ok_or("no price")?;
        let with = receipt.predicted_usd_with.ok_or("no price")?;
        println!(
            "{:?} cache: {} tokens for ${without:.4}, pruned {} for ${with:.4} (prices of {})",
            receipt.cache,
            receipt.predicted_input_tokens_before,
            receipt.predicted_input_tokens_after,
            receipt.price_date,
        );
        assert!(receipt.predicted_input_tokens_after < receipt.predicted_input_tokens_before);
        assert!(with < without);
    }
    Ok(())
}

/// 30 turns. The client marks nothing, so nothing of it is cached.
fn conversation() -> serde_json::Value {
    let turn = |at: usize| {
        let role = if at.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        json!({"role": role, "content": format!("Turn {at}. {}", "Some words about it. ".repeat(60))})
    };
    let messages: Vec<_> = (0..31).map(turn).collect();
    json!({"model": MODEL, "max_tokens": 1000, "messages": messages})
}
