//! The proxy of a run: one that listens already and is ours, or one inside this program.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use secateur_ledger::moment::now;
use secateur_ledger::{Filter, GroupBy, Ledger, Millis};
use secateur_proxy::Config;
use secateur_proxy::cli::{self, Embedded};
use secateur_proxy::config::{Provider, Workload};
use serde_json::Value;

use super::setup::Setup;
use super::sums::{Cost, Sums};
use crate::Failure;
use crate::portal::make_pages;
use crate::proxy::failure;
use crate::running::status;

/// The configuration of a run.
#[derive(Debug)]
pub(super) struct Configured {
    config: Config,
    file: Option<PathBuf>,
}

/// Reads the configuration: the named one, else the user's own, else what is built in.
pub(super) fn config(named: Option<PathBuf>, workload: &str) -> Result<Configured, Failure> {
    let users = || cli::user_config().filter(|path| path.exists());
    let file = named.or_else(users);
    let config = match &file {
        Some(file) => cli::load_config(file),
        None => cli::built_in_config(),
    };
    let config = config.map_err(failure)?;
    if !config.workloads.contains_key(workload) {
        let names: Vec<&str> = config.workloads.keys().map(String::as_str).collect();
        return Err(Failure::bad_usage(format!(
            "there is no workload `{workload}` in {}; there are: {}",
            file.map_or("the built-in configuration".to_owned(), |file| file
                .display()
                .to_string()),
            names.join(", ")
        )));
    }
    Ok(Configured { config, file })
}

/// The proxy of a run.
pub(super) struct Running {
    pub(super) url: String,
    kind: Kind,
}

enum Kind {
    /// It ends with the run.
    Own(Box<Embedded>),
    /// It was there before. What it records is in its ledger.
    Found {
        file: Option<PathBuf>,
        since: Millis,
        has_portal: bool,
    },
}

/// Takes the proxy that listens where the configuration says, if it does what this run needs; else starts one.
pub(super) async fn find_or_start(
    configured: Configured,
    setup: &Setup,
    workload: &str,
    sums: &Arc<Sums>,
) -> Result<Running, Failure> {
    let Configured { config, file } = configured;
    let listen = config.listen;
    let found = tokio::task::spawn_blocking(move || status(listen)).await;
    if let Some(status) = found.ok().flatten()
        && suits(&status, setup, workload)
    {
        let url = format!("http://{}", reachable(listen));
        anstream::eprintln!("secateur: through the proxy at {url}");
        let kind = Kind::Found {
            file,
            since: now(),
            has_portal: status["portal"] == true,
        };
        return Ok(Running { url, kind });
    }
    let own = start(config, setup, workload, sums).await?;
    Ok(Running {
        url: own.url(),
        kind: Kind::Own(Box::new(own)),
    })
}

/// An address that a client can connect to.
fn reachable(listen: SocketAddr) -> SocketAddr {
    if listen.ip().is_unspecified() {
        return SocketAddr::from((Ipv4Addr::LOCALHOST, listen.port()));
    }
    listen
}

/// Whether a proxy that listens does what a run needs.
fn suits(status: &Value, setup: &Setup, workload: &str) -> bool {
    let is_it = |one: &&Value| one["name"] == workload;
    let mut workloads = status["workloads"].as_array().into_iter().flatten();
    let Some(workload) = workloads.find(is_it) else {
        return false;
    };
    let goes_there = |(provider, uri): (&Provider, &http::Uri)| {
        let upstream = workload["upstream"][provider.name()].as_str();
        upstream
            .is_some_and(|url| url.trim_end_matches('/') == uri.to_string().trim_end_matches('/'))
    };
    status["needs_key"] == false
        && workload["changes"] == true
        && setup.upstreams.iter().all(goes_there)
}

async fn start(
    config: Config,
    setup: &Setup,
    workload: &str,
    sums: &Arc<Sums>,
) -> Result<Embedded, Failure> {
    let config = for_this_run(config, setup, workload);
    let sink = || Arc::<Sums>::clone(sums);
    match Embedded::start(config.clone(), sink(), &make_pages()).await {
        Ok(proxy) => Ok(proxy),
        Err(error) if config.ledger.is_some() => {
            anstream::eprintln!("secateur: this run is not in the ledger: {error}");
            let mut config = config;
            config.ledger = None;
            Embedded::start(config, sink(), &make_pages())
                .await
                .map_err(failure)
        }
        Err(error) => Err(failure(error)),
    }
}

/// On a free port of this machine, for the agent's own credentials, with the upstreams that it needs.
fn for_this_run(mut config: Config, setup: &Setup, workload: &str) -> Config {
    config.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    config.keys.clear();
    if let Some(found) = config.workloads.get_mut(workload) {
        let mut changed = Workload::clone(found);
        for (provider, uri) in &setup.upstreams {
            changed.upstreams.set(*provider, uri.clone());
        }
        *found = Arc::new(changed);
    }
    config
}

impl Running {
    /// Ends what belongs to the run. What it cost, and where to look.
    pub(super) async fn end(self, sums: &Sums, workload: &str) -> (Cost, String) {
        let commands = "More: secateur savings, secateur audit tail";
        match self.kind {
            Kind::Own(proxy) => {
                proxy.stop().await;
                let look =
                    format!("{commands}; pages: secateur serve, then http://127.0.0.1:8787/portal");
                (sums.cost(), look)
            }
            Kind::Found {
                file,
                since,
                has_portal,
            } => {
                let look = match has_portal {
                    true => format!("{commands}, {}/portal", self.url),
                    false => commands.to_owned(),
                };
                let cost = from_ledger(file, workload, since).await;
                (cost.unwrap_or_default(), look)
            }
        }
    }
}

/// What the workload's requests since then cost. The proxy writes its rows a moment after the answers.
async fn from_ledger(file: Option<PathBuf>, workload: &str, since: Millis) -> Option<Cost> {
    let url = cli::ledger_url(file).ok()?;
    let filter = Filter {
        workload: Some(workload.to_owned()),
        since: Some(since),
        ..Filter::default()
    };
    let mut last = None;
    for _ in 0..20 {
        let ledger = Ledger::open_for_reading(&url, None).await.ok()?;
        let totals = ledger.totals(&filter, GroupBy::All).await.ok()?;
        let totals = totals.into_iter().next().unwrap_or_default();
        if totals.requests > 0 && last == Some(totals.requests) {
            return Some(Cost::from(&totals));
        }
        last = Some(totals.requests);
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_proxy_that_listens_is_taken_only_if_it_does_what_the_run_needs() {
        let status = |needs_key: bool, changes: bool| {
            let upstream = json!({ "openai": "https://api.openai.com/" });
            let workload = json!({ "name": "agent", "changes": changes, "upstream": upstream });
            json!({ "needs_key": needs_key, "workloads": [workload] })
        };
        let plain = Setup::default();
        assert!(suits(&status(false, true), &plain, "agent"));
        assert!(!suits(&status(false, true), &plain, "other"));
        assert!(!suits(&status(true, true), &plain, "agent"));
        assert!(!suits(&status(false, false), &plain, "agent"));
        assert!(!suits(&json!({}), &plain, "agent"));
        let mut aimed = Setup::default();
        aimed
            .send_to(Provider::Openai, "https://api.openai.com", "x")
            .unwrap();
        assert!(suits(&status(false, true), &aimed, "agent"));
        aimed
            .send_to(
                Provider::Openai,
                "https://chatgpt.com/backend-api/codex",
                "x",
            )
            .unwrap();
        assert!(!suits(&status(false, true), &aimed, "agent"));
    }
}
