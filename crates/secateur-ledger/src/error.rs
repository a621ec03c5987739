//! What can go wrong when the ledger is asked. Recording has no errors.

use std::path::PathBuf;

/// Why a question has no answer, or a ledger cannot be opened.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The address is not one that the ledger knows.
    #[error(
        "`{url}` is not a ledger address: write sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE"
    )]
    Url {
        /// The address, without its password.
        url: String,
    },
    /// What an address says behind its question mark cannot be done.
    #[error("`{url}`: {reason}")]
    Parameter {
        /// The address, without its password.
        url: String,
        /// Why not.
        reason: String,
    },
    /// The file of the ledger cannot be used.
    #[error("the ledger file {path} cannot be used: {reason}")]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file of the ledger cannot be used as it is: the disk is full, read-only or broken, or the file is no database.
    #[error("the ledger file {path} cannot be used at the moment: {reason}")]
    FileAway {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The database does not answer.
    #[error("the ledger's database does not answer: {0}")]
    Unreachable(String),
    /// The database said no.
    #[error("the ledger's database refused: {0}")]
    Refused(String),
    /// The database cannot hold a value.
    #[error("the ledger's database cannot hold a value: {0}")]
    BadValue(String),
    /// A newer version of this program has been here.
    #[error(
        "the ledger has schema version {found}, this program knows up to {known}: use a program at least as new as the one that wrote it"
    )]
    NewerSchema {
        /// What the database says.
        found: i64,
        /// What this program knows.
        known: i64,
    },
    /// A development version of this program wrote it, with another schema.
    #[error(
        "the ledger has schema version {found} of a development version, and this program reads version {known} alone: {remedy}; a new ledger is made at the next start"
    )]
    OlderSchema {
        /// What the database says.
        found: i64,
        /// What this program knows.
        known: i64,
        /// How to move it aside.
        remedy: &'static str,
    },
    /// The file is a database of another program.
    #[error(
        "the file is a database of another program (it has a table `{table}` and no ledger): name another file in the ledger's address"
    )]
    Foreign {
        /// One of its tables.
        table: String,
    },
    /// A value in the database is not what was written.
    #[error("the ledger holds something unreadable: {0}")]
    Unreadable(String),
    /// Capture was asked for without a key.
    #[error("captured text is only kept encrypted, and no capture key is set")]
    NoCaptureKey,
    /// The text was captured with another key, or was altered.
    #[error(
        "the captured text `{id}` does not open with this key: it was captured with another one, or altered"
    )]
    WrongCaptureKey {
        /// Which text.
        id: String,
    },
    /// This ledger was opened for reading.
    #[error("this ledger was opened for reading only")]
    ReadOnly,
    /// The ledger was closed.
    #[error("the ledger is closed")]
    Closed,
}

impl LedgerError {
    /// Whether the same call may succeed later without anybody changing anything.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::FileAway { .. })
    }

    /// Whether a ledger is not even opened: the address is wrong, or a person has to decide what becomes of what is there.
    /// Every other trouble may end while requests are served.
    #[must_use]
    pub fn stops_the_start(&self) -> bool {
        matches!(
            self,
            Self::Url { .. }
                | Self::Parameter { .. }
                | Self::File { .. }
                | Self::NewerSchema { .. }
                | Self::OlderSchema { .. }
        )
    }
}
