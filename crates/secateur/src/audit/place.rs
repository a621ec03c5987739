//! Which ledger is meant: the one named, else the configuration's, else the default beside it.

use std::path::Path;

use super::args::LedgerArgs;
use crate::Failure;

pub(crate) fn url(args: &LedgerArgs) -> Result<String, Failure> {
    if let Some(url) = &args.ledger {
        return Ok(url.clone());
    }
    let default = Path::new(secateur_proxy::cli::CONFIG_NAME);
    let config = args.config.as_deref().unwrap_or(default);
    let text = match std::fs::read_to_string(config) {
        Ok(text) => text,
        Err(_) if args.config.is_none() => String::new(),
        Err(error) => return Err(Failure::bad_usage(format!("{}: {error}", config.display()))),
    };
    let file: toml::Table = toml::from_str(&text)
        .map_err(|error| Failure::bad_usage(format!("{}: {error}", config.display())))?;
    let ledger = file.get("ledger");
    let named = |key: &str| ledger?.get(key)?.as_str();
    let folder = config.parent().unwrap_or(Path::new(""));
    match (named("url"), named("url_env")) {
        (Some(url), _) => Ok(secateur_ledger::url_beside(folder, url)),
        (None, Some(variable)) => std::env::var(variable).map_err(|_| {
            Failure::bad_usage(format!("the environment variable `{variable}` is not set"))
        }),
        (None, None) => Ok(secateur_ledger::default_url(folder)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_is_the_one_named_or_the_configurations_or_the_one_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("my.toml");
        let args = |ledger: Option<&str>| LedgerArgs {
            ledger: ledger.map(str::to_owned),
            config: Some(config.clone()),
        };
        assert_eq!(url(&args(Some("sqlite:x"))).unwrap(), "sqlite:x");
        assert!(url(&args(None)).unwrap_err().message.contains("my.toml"));
        std::fs::write(&config, "listen = \"127.0.0.1:1\"\n").unwrap();
        let beside = format!(
            "sqlite:{}",
            folder.path().join("secateur-ledger.db").display()
        );
        assert_eq!(url(&args(None)).unwrap(), beside);
        std::fs::write(&config, "[ledger]\nurl = \"postgres://h/d\"\n").unwrap();
        assert_eq!(url(&args(None)).unwrap(), "postgres://h/d");
        // As the proxy reads it: beside the configuration, wherever the command is run.
        std::fs::write(&config, "[ledger]\nurl = \"sqlite:rows.db\"\n").unwrap();
        let rows = format!("sqlite:{}", folder.path().join("rows.db").display());
        assert_eq!(url(&args(None)).unwrap(), rows);
    }
}
