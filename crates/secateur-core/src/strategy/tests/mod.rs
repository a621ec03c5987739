//! What holds for every strategy, and the conversations that the strategies' own tests use.

pub(super) mod bodies;
mod properties;
