//! The Secateur engine.

pub mod condense;
