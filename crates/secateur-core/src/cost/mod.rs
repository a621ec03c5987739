//! What requests cost: how providers cache the start of a prompt, and what that makes of the price.

pub mod cache;
pub mod models;
mod terms;

pub use terms::{PriceSource, Terms};
