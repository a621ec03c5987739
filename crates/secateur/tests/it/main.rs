//! The commands as a user runs them.

#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

mod audit_cli;
#[cfg(unix)]
mod audit_edges;
mod demo;
mod figures;
#[cfg(unix)]
mod first_use;
mod mcp;
mod process;
mod receipts;
mod replay;
mod replay_logs;
mod served;
mod show;
#[cfg(unix)]
mod snapshots;

/// The program.
pub(crate) const SECATEUR: &str = env!("CARGO_BIN_EXE_secateur");
