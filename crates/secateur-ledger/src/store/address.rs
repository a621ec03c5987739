//! Where the ledger is.

use std::path::PathBuf;
use std::str::FromStr;

use super::Store;
use super::postgres::Postgres;
use super::sqlite::Sqlite;
use crate::error::LedgerError;
use crate::options::without_password;

#[derive(Clone, Debug)]
pub(crate) enum Address {
    Sqlite(PathBuf),
    Postgres(Box<postgres::Config>),
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
            let config = postgres::Config::from_str(url).map_err(|_| wrong())?;
            if config.get_ssl_mode() == postgres::config::SslMode::Require {
                return Err(LedgerError::Tls {
                    url: without_password(url),
                });
            }
            return Ok(Self::Postgres(Box::new(config)));
        }
        Err(wrong())
    }

    pub(crate) fn connect(&self, read_only: bool) -> Result<Box<dyn Store>, LedgerError> {
        match self {
            Self::Sqlite(path) => Ok(Box::new(Sqlite::open(path, read_only)?)),
            Self::Postgres(config) => Ok(Box::new(Postgres::open(config)?)),
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
            Ok(Address::Postgres(_))
        ));
        let error = Address::parse("mysql://u:secret@h/d")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("sqlite:PATH") && !error.contains("secret"),
            "{error}"
        );
        assert!(Address::parse("sqlite:").is_err());
        let tls = Address::parse("postgres://u:secret@h/d?sslmode=require");
        assert!(matches!(tls, Err(LedgerError::Tls { .. })), "{tls:?}");
    }
}
