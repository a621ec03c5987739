//! Which ledger is meant: the one named, else the configuration's, else the one in the data folder.

use super::args::LedgerArgs;
use crate::Failure;
use crate::proxy::failure;

pub(crate) fn url(args: &LedgerArgs) -> Result<String, Failure> {
    match &args.ledger {
        Some(url) => Ok(url.clone()),
        None => secateur_proxy::cli::ledger_url(args.config.clone()).map_err(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secateur_proxy::folders::data_folder;

    #[test]
    fn the_ledger_is_the_one_named_or_the_configurations_or_in_the_data_folder() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("my.toml");
        let args = |ledger: Option<&str>| LedgerArgs {
            ledger: ledger.map(str::to_owned),
            config: Some(config.clone()),
        };
        assert_eq!(url(&args(Some("sqlite:x"))).unwrap(), "sqlite:x");
        assert!(url(&args(None)).unwrap_err().message.contains("my.toml"));
        std::fs::write(&config, "listen = \"127.0.0.1:1\"\n").unwrap();
        let env = |name: &str| std::env::var(name).ok();
        let data = data_folder(&env).unwrap_or_else(|| folder.path().to_owned());
        let usual = format!("sqlite:{}", data.join("secateur-ledger.db").display());
        assert_eq!(url(&args(None)).unwrap(), usual);
        std::fs::write(&config, "[ledger]\nurl = \"postgres://h/d\"\n").unwrap();
        assert_eq!(url(&args(None)).unwrap(), "postgres://h/d");
        // As the proxy reads it: beside the configuration, wherever the command is run.
        std::fs::write(&config, "[ledger]\nurl = \"sqlite:rows.db\"\n").unwrap();
        let rows = format!("sqlite:{}", folder.path().join("rows.db").display());
        assert_eq!(url(&args(None)).unwrap(), rows);
    }
}
