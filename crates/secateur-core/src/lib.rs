//! The Secateur engine.
