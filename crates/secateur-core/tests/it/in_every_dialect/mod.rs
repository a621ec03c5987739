//! Strategies and mechanics on the same conversations in all four dialects.
#![expect(
    clippy::unwrap_used,
    reason = "these are tests, in functions that several of them share"
)]

mod any_conversation;
mod conversation;
mod failed_inputs;
mod loose_whitespace;
mod old_thinking;
mod recall;
mod thinking_binding;
