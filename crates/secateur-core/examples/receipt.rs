//! What a request is going to cost, pruned and unpruned, at the provider's prices and cache rules.
//!
//! `cargo run -p secateur-core --example receipt`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use secateur_core::models::chars_per_token;
use secateur_core::receipt::{Cache, Counts, Receipt};
use secateur_core::{Policy, Request, prune};
use serde_json::json;

const MODEL: &str = "gpt-5";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::preset("tessera")?;
    let body = serde_json::to_vec(&conversation())?;
    let outcome = prune(&body, &Request::default(), &policy);

    // An estimate from characters. `secateur-tokens` counts with OpenAI's vocabularies; see `Counts::of`.
    let counts = Counts::by_ratio(&outcome.report, chars_per_token(Some(MODEL)));
    // Only the caller has a clock, and knows whether the provider's cache still holds the request before.
    let cold = print(&Receipt::of(&outcome.report, &counts, Cache::Cold))?;
    assert!(
        cold > 0.0,
        "fewer tokens, and all of them at the full price"
    );
    // If it does, what follows the cut is written again instead of read.
    let warm = Receipt::of(&outcome.report, &counts, Cache::Warm);
    let saved_now = print(&warm)?;
    assert!(saved_now < cold);
    assert!(warm.break_even_turns.is_some_and(|turns| turns > 0.0));
    Ok(())
}

/// Prints a receipt. Returns what the cut saves at this request, in US dollars.
fn print(receipt: &Receipt) -> Result<f64, &'static str> {
    let without = receipt.predicted_usd_without.ok_or("no price")?;
    let with = receipt.predicted_usd_with.ok_or("no price")?;
    println!(
        "{:?} cache: {} tokens for ${without:.4}, pruned {} for ${with:.4}, pays after {:.1} more requests",
        receipt.cache,
        receipt.predicted_input_tokens_before,
        receipt.predicted_input_tokens_after,
        receipt.break_even_turns.unwrap_or_default(),
    );
    Ok(without - with)
}

/// A conversation of 31 turns.
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
