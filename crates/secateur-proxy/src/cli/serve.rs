//! `secateur serve`: runs until it is told to stop.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use super::CommandError;
use super::config_file::{built_in_config, find_config, load_config};
use super::keeping::{attach, set_limits};
use super::reload::{Changes, reload};
use super::signals::{Signal, Signals};
use crate::config::{Config, LogFormat};
use crate::pages::MakePages;
use crate::server::{Proxy, ProxyParts};
use crate::surface::Log;

/// What `secateur serve` is given.
#[derive(Clone, Default)]
pub struct ServeOptions {
    /// The configuration file. Default `secateur.toml` in this folder, else the user's own, else what is built in.
    pub config: Option<PathBuf>,
    /// Overrides the file's address.
    pub listen: Option<SocketAddr>,
    /// Overrides the file's log format.
    pub log: Option<LogFormat>,
    /// Whether anybody may use it although it is reachable from other machines.
    pub open: bool,
    /// Makes the pages over the ledger.
    pub pages: Option<MakePages>,
    /// Greets people on a terminal, in place of the line `listening`.
    pub announce: Option<Announce>,
}

/// What people on a terminal are told when the proxy has started.
pub type Announce = Arc<dyn Fn(&Started) + Send + Sync>;

/// A proxy that has just started.
#[derive(Clone, Debug)]
pub struct Started {
    /// Its base URL.
    pub url: String,
    /// What it does.
    pub config: Arc<Config>,
    /// The configuration file; `None`: what is built in.
    pub file: Option<PathBuf>,
    /// Why there is no portal; `None`: there is one.
    pub no_portal: Option<String>,
}

impl std::fmt::Debug for ServeOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServeOptions")
            .field("config", &self.config)
            .field("listen", &self.listen)
            .field("log", &self.log)
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}

impl ServeOptions {
    fn read(&self, path: Option<&PathBuf>) -> Result<Config, CommandError> {
        let mut config = match path {
            Some(path) => load_config(path)?,
            None => built_in_config()?,
        };
        if let Some(listen) = self.listen {
            config.listen = listen;
        }
        if let Some(log) = self.log {
            config.log = Some(log);
        }
        Ok(config)
    }
}

/// Runs the proxy until SIGINT or SIGTERM, then lets streams finish.
///
/// # Errors
/// The configuration is wrong, or the proxy cannot start.
pub fn serve(options: ServeOptions) -> Result<(), CommandError> {
    let path = find_config(options.config.clone());
    let config = options.read(path.as_ref())?;
    let log = Log::to_stderr(config.log.unwrap_or_else(usual_format));
    quiet_panics(log.clone());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let grace = config.timeouts.shutdown;
    let result = runtime.block_on(run(options, path, config, log));
    runtime.shutdown_timeout(grace.min(std::time::Duration::from_secs(1)));
    result
}

/// Lines for people on a terminal, JSON for programs.
fn usual_format() -> LogFormat {
    if std::io::stderr().is_terminal() {
        LogFormat::Pretty
    } else {
        LogFormat::Json
    }
}

fn tell_started(log: &Log, started: &Started, announce: Option<&Announce>) {
    let is_for_people = log.is_pretty() && std::io::stderr().is_terminal();
    if let Some(announce) = announce.filter(|_| is_for_people) {
        return announce(started);
    }
    let file = started.file.as_ref();
    let source = file.map_or("built-in".to_owned(), |path| path.display().to_string());
    let fields = [
        ("url", started.url.as_str().into()),
        ("config", source.into()),
    ];
    log.line("info", "listening", &fields);
}

async fn run(
    options: ServeOptions,
    path: Option<PathBuf>,
    config: Config,
    log: Log,
) -> Result<(), CommandError> {
    let mut changes = path.as_ref().map(|path| Changes::watch(path, &config));
    let mut parts = ProxyParts::new(config);
    parts.open = options.open;
    parts.log = log.clone();
    let ledger = attach(&mut parts, options.pages.as_ref(), &log).await?;
    let no_portal = parts.pages.is_none().then(|| parts.no_pages.clone());
    let proxy = Proxy::start(parts).await?;
    let started = Started {
        url: proxy.url(),
        config: proxy.config(),
        file: path.clone(),
        no_portal,
    };
    tell_started(&log, &started, options.announce.as_ref());
    let mut signals = Signals::new()?;
    loop {
        let changed = async {
            match &mut changes {
                Some(changes) => changes.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = changed => {}
            signal = signals.next() => if signal == Signal::Stop { break },
        }
        if let Some(path) = &path {
            reload(
                &proxy,
                || options.read(Some(path)),
                path,
                &log,
                &mut changes,
            )
            .await;
            if let Some(ledger) = &ledger {
                set_limits(ledger, &proxy.config());
            }
        }
    }
    log.line(
        "info",
        "stopping",
        &[(
            "in_flight",
            proxy.metrics().in_flight().max(0).unsigned_abs().into(),
        )],
    );
    let cut_off = proxy.cut_off();
    let mut stopping = std::pin::pin!(proxy.shutdown());
    tokio::select! {
        () = &mut stopping => {}
        // A second signal ends at once.
        _ = signals.next() => {
            cut_off.now();
            stopping.await;
        }
    }
    let mut left = Vec::new();
    if let Some(ledger) = ledger {
        ledger.clone().close().await;
        let stats = ledger.stats();
        if stats.spooled + stats.lost > 0 {
            left.push(("spooled_rows", stats.spooled.into()));
            left.push(("lost_rows", stats.lost.into()));
        }
    }
    log.line("info", "stopped", &left);
    log.flush();
    Ok(())
}

/// A panic's message can quote the text that it happened on, so only its place is logged.
fn quiet_panics(log: Log) {
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map_or("unknown".to_owned(), |at| {
            format!("{}:{}", at.file(), at.line())
        });
        log.line("error", "panic", &[("at", place.into())]);
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::Captured;

    #[test]
    fn a_panic_is_logged_by_its_place_alone() {
        let out = Captured::default();
        let log = Log::to(LogFormat::Json, out.clone());
        quiet_panics(log.clone());
        let caught = std::panic::catch_unwind(|| panic!("with the words of a prompt"));
        // The hook of the test runner comes back.
        drop(std::panic::take_hook());
        assert!(caught.is_err());
        log.flush();
        assert!(
            out.text().contains("serve.rs:") && !out.text().contains("prompt"),
            "{}",
            out.text()
        );
    }
}
