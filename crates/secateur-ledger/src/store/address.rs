//! Where the ledger is.

use std::error::Error;
use std::path::PathBuf;
use std::str::FromStr;

use postgres::config::SslMode;

use super::Store;
use super::postgres::Postgres;
use super::sqlite::Sqlite;
use super::tls::{Asked, Tls};
use crate::error::LedgerError;
use crate::options::without_password;

#[derive(Clone, Debug)]
pub(crate) enum Address {
    Sqlite(PathBuf),
    Postgres(Box<postgres::Config>, Option<Tls>),
}

impl Address {
    pub(crate) fn parse(url: &str) -> Result<Self, LedgerError> {
        let wrong = || LedgerError::Url {
            url: without_password(url),
        };
        if let Some(path) = url.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() || path == ":memory:" {
                return Err(wrong());
            }
            return Ok(Self::Sqlite(path.into()));
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            let asked = Asked::of(url).map_err(|reason| LedgerError::Parameter {
                url: without_password(url),
                reason,
            })?;
            let config = postgres::Config::from_str(&asked.url);
            let mut config = config.map_err(|error| match error.source() {
                // It names what is wrong, and quotes no value.
                Some(reason) => LedgerError::Parameter {
                    url: without_password(url),
                    reason: reason.to_string(),
                },
                None => wrong(),
            })?;
            config.ssl_mode(match asked.tls {
                Some(_) => SslMode::Require,
                None => SslMode::Disable,
            });
            return Ok(Self::Postgres(Box::new(config), asked.tls));
        }
        Err(wrong())
    }

    pub(crate) fn connect(&self, read_only: bool) -> Result<Box<dyn Store>, LedgerError> {
        match self {
            Self::Sqlite(path) => Ok(Box::new(Sqlite::open(path, read_only)?)),
            Self::Postgres(config, tls) => Ok(Box::new(Postgres::open(config, tls.as_ref())?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_understood_and_wrong_ones_told_without_their_password() {
        for (url, path) in [
            ("sqlite:a.db", "a.db"),
            ("sqlite:///x/a.db", "/x/a.db"),
            ("sqlite:/x/a.db", "/x/a.db"),
        ] {
            let Address::Sqlite(found) = Address::parse(url).unwrap() else {
                panic!("{url}")
            };
            assert_eq!(found, PathBuf::from(path));
        }
        assert!(matches!(
            Address::parse("postgres://u:p@h:1/d"),
            Ok(Address::Postgres(_, None))
        ));
        let error = Address::parse("mysql://u:secret@h/d")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("sqlite:PATH") && !error.contains("secret"),
            "{error}"
        );
        assert!(Address::parse("sqlite:").is_err());
        let error = Address::parse("postgres://u:secret@h/d?foo=secret")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("foo") && !error.contains("secret"),
            "{error}"
        );
        let error = Address::parse("postgres://u:secret@h/d?sslmode=prefer")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("prefer") && !error.contains("secret"),
            "{error}"
        );
    }
}
