//! The engine as its callers use it. Every module is run by its name: `cargo test -p secateur-core --test it docs::`.

mod agreement;
mod bad_input;
mod cache_rules;
mod conformance;
mod data;
mod docs;
mod fuzz_targets;
mod in_every_dialect;
mod invariants;
mod linear;
mod module_order;
mod prune_smoke;
mod real_traffic;
mod rounds;
