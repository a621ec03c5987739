//! `[ledger]`, `[portal]` and `[workload.NAME.capture]`: what is kept, and who may look at it.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use hex::FromHex;
use secateur_ledger::{CaptureLimits, PassThrough};
use serde::Deserialize;
use toml::Spanned;

use super::Secret;
use super::error::ConfigError;
use super::resolve::Reader;
use crate::config::folders::data_folder;

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawLedger {
    enabled: bool,
    url: Option<Spanned<String>>,
    url_env: Option<Spanned<String>>,
    spool_dir: Option<PathBuf>,
    keep_days: u32,
    pass_through: RawPassThrough,
    capture_key_env: Option<Spanned<String>>,
}

/// `pass_through = "rows" | "sums"`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawPassThrough {
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
    enabled: Option<bool>,
    token_env: Option<Spanned<String>>,
    hosts: Vec<String>,
    trusted_proxies: Vec<IpAddr>,
    session_hours: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawCapture {
    max_mb: Spanned<u64>,
    max_age_hours: Spanned<u64>,
    recall: bool,
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

impl Reader<'_> {
    /// `None`: no ledger is kept.
    pub(super) fn ledger(&self, raw: RawLedger) -> Result<Option<LedgerConfig>, ConfigError> {
        if !raw.enabled {
            return Ok(None);
        }
        let url = self.ledger_url(&raw)?;
        let spool_dir = match raw.spool_dir {
            Some(folder) => self.folder.join(folder),
            None => self.data_folder().join(SPOOL_FOLDER),
        };
        let capture_key = match &raw.capture_key_env {
            Some(variable) => Some(self.capture_key(variable)?),
            None => None,
        };
        Ok(Some(LedgerConfig {
            url,
            spool_dir,
            keep_days: raw.keep_days,
            pass_through: match raw.pass_through {
                RawPassThrough::Rows => PassThrough::Rows,
                RawPassThrough::Sums => PassThrough::Sums,
            },
            capture_key,
        }))
    }

    /// Where rows go, or would go.
    pub(super) fn ledger_url(&self, raw: &RawLedger) -> Result<Secret, ConfigError> {
        match (&raw.url, &raw.url_env) {
            (Some(url), Some(_)) => {
                Err(self.wrong(&url.span(), "ledger: url or url_env, not both"))
            }
            (Some(url), None) => self.written_url(url),
            (None, Some(variable)) => self.secret(variable),
            (None, None) => Ok(Secret::new(&secateur_ledger::default_url(
                &self.data_folder(),
            ))),
        }
    }

    /// Where data goes if the configuration does not say: the platform's folder, or beside the configuration if there is no
    /// such folder.
    fn data_folder(&self) -> PathBuf {
        data_folder(self.env).unwrap_or_else(|| self.folder.to_owned())
    }

    /// Files stand relative to the configuration.
    fn written_url(&self, url: &Spanned<String>) -> Result<Secret, ConfigError> {
        let text = url.get_ref();
        let schemes = ["sqlite:", "postgres://", "postgresql://"];
        if schemes.iter().any(|scheme| text.starts_with(scheme)) {
            return Ok(Secret::new(&secateur_ledger::url_beside(self.folder, text)));
        }
        let words = "ledger.url: expected \"sqlite:FILE\" or \"postgres://user@host/database\"";
        Err(self.wrong(&url.span(), words))
    }

    fn capture_key(&self, variable: &Spanned<String>) -> Result<CaptureKey, ConfigError> {
        let secret = self.secret(variable)?;
        decode_hex(secret.reveal().trim())
            .map(CaptureKey)
            .ok_or_else(|| {
                let words = "the capture key must be 64 hexadecimal digits, like `openssl rand -hex 32` prints";
                self.wrong(&variable.span(), words)
            })
    }

    /// `None`: no pages are served.
    pub(super) fn portal(&self, raw: RawPortal) -> Result<Option<PortalConfig>, ConfigError> {
        if raw.enabled == Some(false) {
            return Ok(None);
        }
        let token = match &raw.token_env {
            Some(variable) => Some(self.portal_token(variable)?),
            None => None,
        };
        Ok(Some(PortalConfig {
            token,
            hosts: raw.hosts,
            trusted_proxies: raw.trusted_proxies,
            session_hours: raw.session_hours.unwrap_or(12).max(1),
        }))
    }

    fn portal_token(&self, variable: &Spanned<String>) -> Result<Secret, ConfigError> {
        let token = self.secret(variable)?;
        if token.reveal().chars().count() < MIN_TOKEN_CHARS {
            let words = format!(
                "the portal's token in `{}` is shorter than {MIN_TOKEN_CHARS} characters: it could be guessed",
                variable.get_ref()
            );
            return Err(self.wrong(&variable.span(), words));
        }
        Ok(token)
    }

    pub(super) fn capture(&self, raw: &RawCapture) -> Result<CaptureConfig, ConfigError> {
        for (name, value) in [
            ("max_mb", &raw.max_mb),
            ("max_age_hours", &raw.max_age_hours),
        ] {
            if !(1..=1 << 20).contains(value.get_ref()) {
                let words = format!("capture.{name}: expected a number from 1 to 1048576");
                return Err(self.wrong(&value.span(), words));
            }
        }
        Ok(CaptureConfig {
            limits: CaptureLimits {
                max_bytes: raw.max_mb.get_ref() << 20,
                max_age: Duration::from_secs(raw.max_age_hours.get_ref() * 3600),
            },
            recall: raw.recall,
        })
    }
}

/// Where rows wait, in the data folder.
const SPOOL_FOLDER: &str = "secateur-spool";

fn decode_hex(text: &str) -> Option<[u8; 32]> {
    <[u8; 32]>::from_hex(text).ok()
}
