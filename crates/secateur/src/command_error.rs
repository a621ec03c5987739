//! Why a command of the proxy failed.

use std::path::PathBuf;

use secateur_proxy::{ConfigError, ServeError};

use crate::failure::Failure;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
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

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Io(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                Self::quiet_end()
            }
            CommandError::Io(error) => Self::bad_input(format!("input or output failed: {error}")),
            CommandError::Config(_) | CommandError::Exists(_) => Self::bad_usage(error.to_string()),
            other => Self::bad_input(other.to_string()),
        }
    }
}
