//! When cuts are made: at every request from scratch, or in rounds that keep the provider's cache.

pub(crate) mod cache_use;
pub(crate) mod candidates;
pub(crate) mod compose;
pub mod rounds;
pub(crate) mod versions;
mod work_budget;
