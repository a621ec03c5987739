//! `secateur serve`: runs until it is stopped.

mod embedded;
mod ledger;
mod library_log;
mod reload;
mod signals;
mod start_page;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) use self::embedded::Embedded;
pub(crate) use self::ledger::attach;
use self::ledger::set_limits;
use self::reload::{Changes, reload};
use self::signals::Signal;
pub(crate) use self::signals::Signals;
use crate::args::{LogArg, ServeArgs};
use crate::command_error::CommandError;
use crate::config_file::{built_in_config, find_config, load_config};
use crate::failure::Failure;
use secateur_proxy::Log;
use secateur_proxy::config::{Config, LogFormat};
use secateur_proxy::{Proxy, ProxyParts};

/// A proxy that has just started.
#[derive(Clone, Debug)]
struct Started {
    /// Its base URL.
    url: String,
    /// What it does.
    config: Arc<Config>,
    /// The configuration file; `None`: what is built in.
    file: Option<PathBuf>,
    /// Why there is no portal; `None`: there is one.
    no_portal: Option<String>,
}

/// The configuration with what the command line says in its place.
fn read(args: &ServeArgs, path: Option<&PathBuf>) -> Result<Config, CommandError> {
    let mut config = match path {
        Some(path) => load_config(path)?,
        None => built_in_config()?,
    };
    if let Some(listen) = args.listen {
        config.listen = listen;
    }
    if let Some(log) = args.log {
        config.log = Some(match log {
            LogArg::Json => LogFormat::Json,
            LogArg::Pretty => LogFormat::Pretty,
            LogArg::Off => LogFormat::Off,
        });
    }
    Ok(config)
}

/// Runs the proxy until SIGINT or SIGTERM, then lets streams finish.
///
/// # Errors
/// The configuration is wrong, or the proxy cannot start.
pub(crate) fn run(args: &ServeArgs) -> Result<(), Failure> {
    Ok(serve(args)?)
}

fn serve(args: &ServeArgs) -> Result<(), CommandError> {
    let path = find_config(args.config.clone());
    let config = read(args, path.as_ref())?;
    let log = Log::to_stderr(config.log.unwrap_or_else(usual_format));
    quiet_panics(log.clone());
    library_log::write_to(log.clone());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let grace = config.timeouts.shutdown;
    let result = runtime.block_on(serve_until_stopped(args, path, config, log));
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

/// A page for people on a terminal, a log line for programs.
fn announce(log: &Log, started: &Started) {
    if log.is_pretty() && std::io::stderr().is_terminal() {
        return start_page::show(started);
    }
    let file = started.file.as_ref();
    let source = file.map_or("built-in".to_owned(), |path| path.display().to_string());
    let fields = [
        ("url", started.url.as_str().into()),
        ("config", source.into()),
    ];
    log.line("info", "listening", &fields);
}

async fn serve_until_stopped(
    args: &ServeArgs,
    path: Option<PathBuf>,
    config: Config,
    log: Log,
) -> Result<(), CommandError> {
    let mut changes = path.as_ref().map(|path| Changes::watch(path, &config));
    let mut parts = ProxyParts::new(config);
    parts.open = args.open;
    parts.log = log.clone();
    let ledger = attach(&mut parts, &log).await?;
    let no_portal = parts.pages.is_none().then(|| parts.no_pages.clone());
    let proxy = Proxy::start(parts).await?;
    let started = Started {
        url: proxy.url(),
        config: proxy.config(),
        file: path.clone(),
        no_portal,
    };
    announce(&log, &started);
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
            reload(&proxy, || read(args, Some(path)), path, &log, &mut changes).await;
            if let Some(ledger) = &ledger {
                set_limits(ledger, &proxy.config());
            }
        }
    }
    log.line(
        "info",
        "stopping",
        &[("in_flight", proxy.in_flight().into())],
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
    use secateur_proxy::Captured;

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
            out.text().contains("serve/mod.rs:") && !out.text().contains("prompt"),
            "{}",
            out.text()
        );
    }
}
