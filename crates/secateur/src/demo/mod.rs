//! `secateur demo`: one command, no key. Sessions that the project generates go through a proxy in
//! front of the strict provider, with and without pruning, and the difference is printed.

mod play;
mod sessions;
mod tally;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use secateur_mock::{Mock, MockOptions};

use crate::args::DemoArgs;
use crate::command_error::CommandError;
use crate::failure::Failure;
use crate::serve::{Signals, attach};
use play::play;
use secateur_proxy::Log;
use secateur_proxy::config::Config;
use secateur_proxy::{Proxy, ProxyParts};
use sessions::Session;
use tally::{Tallies, Tally};

/// The workload that passes through.
const PLAIN: &str = "plain";

/// Runs the demonstration; with `keep` until interrupted.
///
/// # Errors
/// A port could not be bound, a request failed, or the output could not be written.
pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    Ok(demo(args, &mut std::io::stdout().lock())?)
}

fn demo(args: &DemoArgs, out: &mut dyn Write) -> Result<(), CommandError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(play_and_print(args, out))
}

async fn play_and_print(args: &DemoArgs, out: &mut dyn Write) -> Result<(), CommandError> {
    let chosen = args.preset.as_deref();
    let sessions = Session::all();
    let presets: BTreeSet<&str> = sessions
        .iter()
        .map(|session| chosen.unwrap_or(session.preset))
        .collect();
    // One provider each, so that neither warms the other's cache.
    let plain = Mock::start(MockOptions::default()).await?;
    let pruned = Mock::start(MockOptions::default()).await?;
    let tallies = Arc::new(Tallies::default());
    let folder = Folder::new()?;
    let config = config(&presets, &plain.url(), &pruned.url(), &folder.0)?;
    let mut parts = ProxyParts::new(config);
    parts.sink = Arc::<Tallies>::clone(&tallies);
    let ledger = attach(&mut parts, &Log::off()).await?;
    let has_portal = parts.pages.is_some();
    let proxy = Proxy::start(parts).await?;
    writeln!(
        out,
        "A proxy at {} in front of a strict provider.",
        proxy.url()
    )?;
    // Whatever ends it, the folder goes with it.
    let (url, mut signals) = (proxy.url(), Signals::new()?);
    let played = tokio::select! {
        rows = play_all(&url, sessions, chosen, &tallies, out) => Some(rows?),
        _ = signals.next() => None,
    };
    let rejected = plain.rejected() + pruned.rejected();
    if let Some(rows) = &played {
        print(out, rows, rejected)?;
        let workloads: Vec<&str> = [PLAIN].into_iter().chain(presets).collect();
        print_places(out, &url, has_portal, &workloads, args.keep)?;
        if args.keep {
            out.flush()?;
            signals.next().await;
        }
    }
    proxy.shutdown().await;
    if let Some(ledger) = ledger {
        ledger.close().await;
    }
    if rejected > 0 {
        return Err(CommandError::Demo(format!(
            "the provider rejected {rejected} requests"
        )));
    }
    Ok(())
}

/// A session's name, and what each workload made of it.
type Played = (&'static str, Vec<(String, Tally)>);

async fn play_all(
    url: &str,
    sessions: Vec<Session>,
    chosen: Option<&str>,
    tallies: &Tallies,
    out: &mut dyn Write,
) -> Result<Vec<Played>, CommandError> {
    let mut rows = Vec::new();
    for session in sessions {
        let preset = chosen.unwrap_or(session.preset);
        writeln!(
            out,
            "Playing {} ({} requests, streaming; plain, then with preset `{preset}`) …",
            session.name,
            session.requests.len()
        )?;
        out.flush()?;
        let mut pair = Vec::new();
        for workload in [PLAIN, preset] {
            play(url, workload, &session).await?;
            let tally = tallies.take(session.requests.len()).await?;
            pair.push((workload.to_owned(), tally));
        }
        rows.push((session.name, pair));
    }
    Ok(rows)
}

/// Addresses to try. They end with the demonstration.
fn print_places(
    out: &mut dyn Write,
    url: &str,
    has_portal: bool,
    workloads: &[&str],
    stays: bool,
) -> Result<(), CommandError> {
    if !stays {
        writeln!(
            out,
            "\nTo try the portal, metrics and requests of your own: secateur demo --keep"
        )?;
        return Ok(());
    }
    writeln!(out, "\nWhere to look:")?;
    if has_portal {
        writeln!(out, "  portal    {url}/portal")?;
    }
    writeln!(out, "  metrics   {url}/metrics")?;
    for workload in workloads {
        writeln!(out, "  base URL  {url}/w/{workload}")?;
    }
    writeln!(
        out,
        "Staying up until interrupted; any key works, the provider is not real."
    )?;
    Ok(())
}

/// Holds the demonstration's ledger, and goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Self> {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        let (process, number) = (std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("secateur-demo-{process}-{number}"));
        secateur_ledger::private::create_folder(&path, |_| true)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that is not removed is in the system's folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A key for the text that the demonstration cuts, which goes with its ledger.
fn capture_key() -> Result<String, CommandError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| CommandError::Demo(format!("no random key: {error}")))?;
    Ok(hex::encode(bytes))
}

/// A workload that passes through, and one for each preset, which keeps what it cuts so that the pages show it.
fn config(
    presets: &BTreeSet<&str>,
    plain: &str,
    pruned: &str,
    folder: &Path,
) -> Result<Config, CommandError> {
    let upstream = |url: &str| {
        format!("upstream = {{ openai = \"{url}\", anthropic = \"{url}\", gemini = \"{url}\" }}\n")
    };
    let mut text = format!(
        "listen = \"127.0.0.1:0\"\nlog = \"off\"\n[workload.{PLAIN}]\n{}",
        upstream(plain)
    );
    for preset in presets {
        // Ids in the notes would make the figures those of another policy.
        text += &format!(
            "[workload.{preset}]\npreset = \"{preset}\"\nbudget_ms = 1000\n{}[workload.{preset}.capture]\nrecall = false\n",
            upstream(pruned)
        );
    }
    text += "[ledger]\ncapture_key_env = \"CAPTURE_KEY\"\n";
    let key = capture_key()?;
    Ok(Config::read("demo", &text, folder, &|_| Some(key.clone()))?)
}

fn print(out: &mut dyn Write, rows: &[Played], rejected: usize) -> Result<(), CommandError> {
    writeln!(
        out,
        "\n{:<22} {:<12} {:>9} {:>12} {:>12} {:>9} {:>10} {:>8}",
        "session", "", "requests", "chars sent", "tokens in", "cached", "cost USD", "of plain"
    )?;
    for (session, pair) in rows {
        let base = pair.first().map_or(0.0, |(_, plain)| plain.cost_usd);
        for (workload, tally) in pair {
            let share = if base > 0.0 {
                tally.cost_usd * 100.0 / base
            } else {
                100.0
            };
            let cached = tally.cache_read_tokens as f64 * 100.0 / tally.input_tokens.max(1) as f64;
            writeln!(
                out,
                "{:<22} {:<12} {:>9} {:>12} {:>12} {:>8.1}% {:>10.4} {:>7.1}%",
                session,
                workload,
                tally.requests,
                tally.chars_sent,
                tally.input_tokens,
                cached,
                tally.cost_usd,
                share
            )?;
        }
    }
    for (session, pair) in rows {
        if let [(_, plain), (preset, pruned)] = &pair[..]
            && plain.chars_sent == pruned.chars_sent
        {
            writeln!(
                out,
                "\nThe {session} holds nothing that `{preset}` cuts: it was passed on unchanged."
            )?;
        }
    }
    let added: Vec<u128> = rows
        .iter()
        .flat_map(|(_, pair)| pair.iter().map(|(_, tally)| tally.added_us_max))
        .collect();
    writeln!(
        out,
        "\nCosts are list prices at the cache tiers, by the provider's simulated cache, which follows its real rules (tokens by characters, as they are predicted)."
    )?;
    writeln!(
        out,
        "The provider rejected {rejected} requests. The slowest request spent {:.1} ms in the proxy.",
        added.into_iter().max().unwrap_or(0) as f64 / 1000.0
    )?;
    Ok(())
}
