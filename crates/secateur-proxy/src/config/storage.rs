//! `[ledger]`, `[portal]` and `[workload.NAME.capture]`: what is kept, and who may look at it.

use std::net::IpAddr;
use std::path::PathBuf;

use secateur_ledger::{CaptureLimits, PassThrough};
use serde::Deserialize;
use toml::Spanned;

use super::Secret;

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawLedger {
    pub(super) enabled: bool,
    pub(super) url: Option<Spanned<String>>,
    pub(super) url_env: Option<Spanned<String>>,
    pub(super) spool_dir: Option<PathBuf>,
    pub(super) keep_days: u32,
    pub(super) pass_through: RawPassThrough,
    pub(super) capture_key_env: Option<Spanned<String>>,
}

/// `pass_through = "rows" | "sums"`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawPassThrough {
    #[default]
    Rows,
    Sums,
}

impl Default for RawLedger {
    fn default() -> Self {
        Self {
            enabled: true,
            url: None,
            url_env: None,
            spool_dir: None,
            keep_days: 90,
            pass_through: RawPassThrough::Rows,
            capture_key_env: None,
        }
    }
}

impl RawLedger {
    /// Whether there is nothing to read: no rows are kept, and none of earlier times are pointed at.
    pub(super) fn is_off_without_address(&self) -> bool {
        !self.enabled && self.url.is_none() && self.url_env.is_none()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawPortal {
    pub(super) enabled: Option<bool>,
    pub(super) token_env: Option<Spanned<String>>,
    pub(super) hosts: Vec<String>,
    pub(super) trusted_proxies: Vec<IpAddr>,
    pub(super) session_hours: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawCapture {
    pub(super) max_mb: Spanned<u64>,
    pub(super) max_age_hours: Spanned<u64>,
    pub(super) recall: bool,
}

impl Default for RawCapture {
    fn default() -> Self {
        Self {
            max_mb: Spanned::new(0..0, 256),
            max_age_hours: Spanned::new(0..0, 168),
            recall: true,
        }
    }
}

/// Where rows go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerConfig {
    /// `sqlite:PATH` or `postgres://…`; a password may be in it.
    pub url: Secret,
    /// Where rows wait while the database is slow or gone.
    pub spool_dir: PathBuf,
    /// Days after which rows go; 0 keeps them.
    pub keep_days: u32,
    /// What is kept of requests that no mechanic touched.
    pub pass_through: PassThrough,
    /// The key for captured text, 32 bytes.
    pub capture_key: Option<CaptureKey>,
}

/// A shorter token of the portal could be guessed.
pub const MIN_TOKEN_CHARS: usize = 16;

/// Shown nowhere.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CaptureKey(pub [u8; 32]);

impl std::fmt::Debug for CaptureKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CaptureKey(…)")
    }
}

/// How the portal is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortalConfig {
    /// What opens it; `None`: nothing, on loopback alone.
    pub token: Option<Secret>,
    /// Names that it answers to besides those of this machine.
    pub hosts: Vec<String>,
    /// Reverse proxies that are believed.
    pub trusted_proxies: Vec<IpAddr>,
    /// How long a session lasts.
    pub session_hours: u32,
}

/// What is kept of a workload's cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureConfig {
    /// How much, and how long.
    pub limits: CaptureLimits,
    /// Whether placeholders carry ids by which a model can ask for the text.
    pub recall: bool,
}
