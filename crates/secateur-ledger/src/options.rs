//! How a ledger is opened.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is kept of a request that no mechanic touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PassThrough {
    /// A row, like every other.
    #[default]
    Rows,
    /// Its share of the sums, without a row.
    Sums,
}

/// Where a ledger is, and how it is kept.
#[derive(Clone)]
pub struct LedgerOptions {
    /// `sqlite:PATH` or `postgres://…`.
    pub url: String,
    /// Where rows wait while the database is slow or gone. Several processes may share it.
    pub spool_dir: PathBuf,
    /// Rows that may wait in memory. Default 20,000.
    pub queue_rows: usize,
    /// How often rows are written, at most one second. Default 250 ms.
    pub flush_every: Duration,
    /// Days after which rows go; 0 keeps them. Daily sums stay. Default 90.
    pub keep_days: u32,
    /// Whether this process clears away what is past `keep_days` and past the limits of captured text. Default true. One
    /// that comes for a single decision knows neither as the proxy's configuration has them.
    pub clears: bool,
    /// What is kept of requests that no mechanic touched. Default rows.
    pub pass_through: PassThrough,
    /// The key for captured text; without it nothing is captured.
    pub capture_key: Option<[u8; 32]>,
}

impl LedgerOptions {
    /// Defaults for everything but the place.
    #[must_use]
    pub fn new(url: impl Into<String>, spool_dir: impl Into<PathBuf>) -> Self {
        Self {
            url: url.into(),
            spool_dir: spool_dir.into(),
            queue_rows: 20_000,
            flush_every: Duration::from_millis(250),
            keep_days: 90,
            clears: true,
            pass_through: PassThrough::Rows,
            capture_key: None,
        }
    }
}

/// Where the ledger is if nobody says otherwise: a file in this folder.
#[must_use]
pub fn default_url(folder: &Path) -> String {
    url_beside(folder, "sqlite:secateur-ledger.db")
}

/// An address as a configuration in `folder` writes it: a file stands relative to the configuration.
#[must_use]
pub fn url_beside(folder: &Path, url: &str) -> String {
    match url.strip_prefix("sqlite:") {
        Some(path) => {
            let path = path.strip_prefix("//").unwrap_or(path);
            format!("sqlite:{}", folder.join(path).display())
        }
        None => url.to_owned(),
    }
}

/// Neither the key nor a password in the address is shown.
impl std::fmt::Debug for LedgerOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LedgerOptions")
            .field("url", &without_password(&self.url))
            .field("spool_dir", &self.spool_dir)
            .field("queue_rows", &self.queue_rows)
            .field("flush_every", &self.flush_every)
            .field("keep_days", &self.keep_days)
            .field("clears", &self.clears)
            .field("pass_through", &self.pass_through)
            .field("captures", &self.capture_key.is_some())
            .finish()
    }
}

/// An address fit for messages: `postgres://user:…@host/db`.
#[must_use]
pub(crate) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let authority_end = rest.find('/').unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(authority_end);
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => {
            let name = user.split(':').next().unwrap_or_default();
            format!("{name}:…@{host}")
        }
        None => authority.to_owned(),
    };
    // Query parameters may hold a password as well.
    let tail = tail.split('?').next().unwrap_or_default();
    format!("{scheme}://{authority}{tail}")
}

/// How much captured text a workload may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureLimits {
    /// Bytes of all its texts together; the oldest go first. Default 256 MiB.
    pub max_bytes: u64,
    /// How long a text is kept. Default 7 days.
    pub max_age: Duration,
}

impl Default for CaptureLimits {
    fn default() -> Self {
        Self {
            max_bytes: 256 << 20,
            max_age: Duration::from_secs(7 * 24 * 3600),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_show_no_password() {
        assert_eq!(
            without_password("postgres://a:secret@h:5432/db?password=secret"),
            "postgres://a:…@h:5432/db"
        );
        assert_eq!(without_password("sqlite:/x.db"), "sqlite:/x.db");
        let mut options = LedgerOptions::new("postgres://a:secret@h/db", "/spool");
        options.capture_key = Some([7; 32]);
        let shown = format!("{options:?}");
        assert!(
            !shown.contains("secret") && !shown.contains("7, 7"),
            "{shown}"
        );
    }
}
