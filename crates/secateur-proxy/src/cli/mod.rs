//! What the commands do, without their arguments: plain options in, plain errors out.

mod canary;
mod config_file;
mod embedded;
mod keeping;
mod reach;
mod reload;
mod serve;
mod signals;

pub use crate::demo::{DemoOptions, demo};
pub use crate::recall::{McpOptions, mcp};
pub use canary::{ResumeOptions, canary_list, canary_resume};
pub use config_file::{
    CONFIG_NAME, built_in_config, config_check, config_init, find_config, ledger_url, load_config,
    user_config,
};
pub use embedded::Embedded;
pub(crate) use keeping::attach;
pub use reach::{Reached, reach};
pub use serve::{Announce, ServeOptions, Started, serve};
pub(crate) use signals::Signals;

use std::path::PathBuf;

use crate::config::ConfigError;
use crate::server::ServeError;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The configuration is wrong.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The proxy did not start.
    #[error("{0}")]
    Serve(#[from] ServeError),
    /// A file could not be read or written.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file is there already.
    #[error("{} is there already; name another file, or say --force", .0.display())]
    Exists(PathBuf),
    /// The ledger cannot be used.
    #[error("{0}")]
    Ledger(#[from] secateur_ledger::LedgerError),
    /// A workload's answers are to be compared by a program that is not there.
    #[error(
        "workload.{workload}: canary: scorer: there is no program `{program}` that could be run"
    )]
    NoScorer {
        /// The workload.
        workload: String,
        /// The program.
        program: String,
    },
    /// There is nothing to resume.
    #[error("{stack} of {workload} is not off")]
    NotRetired {
        /// The workload.
        workload: String,
        /// The stack.
        stack: String,
    },
    /// Output could not be written, or the system refused something.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// Something did not go as the demonstration expects.
    #[error("the demonstration failed: {0}")]
    Demo(String),
}
