//! The ledger as the proxy and the commands use it, on real databases.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests"
)]

mod burst;
mod clearing;
mod conformance;
mod faults;
mod other_databases;
#[cfg(unix)]
mod private_files;
mod questions;
mod suite;
mod tls;
