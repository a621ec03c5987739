//! Where rows, text and pages go.

use std::path::PathBuf;
use std::time::Duration;

use hex::FromHex;
use secateur_ledger::{CaptureLimits, PassThrough};
use toml::Spanned;

use super::Reader;
use crate::config::error::ConfigError;
use crate::config::folders::data_folder;
use crate::config::storage::{RawCapture, RawLedger, RawPassThrough, RawPortal};
use crate::config::{
    CaptureConfig, CaptureKey, LedgerConfig, MIN_TOKEN_CHARS, PortalConfig, Secret,
};

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
