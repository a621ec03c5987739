//! Secateur as people run it: the command `serve` of the built program, with and without what it keeps and says.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::Outcome;
use crate::peers::free_port;
use crate::process::Server;
use crate::wire::Shot;

/// What a run of it keeps and says.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keeps {
    /// Neither rows nor log lines.
    Nothing,
    /// A row for each request in an SQLite ledger.
    Ledger,
    /// The ledger, and log lines as JSON.
    LedgerAndLog,
}

/// Where it sends requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Upstream<'a> {
    pub(crate) url: &'a str,
    /// The authority to trust, if it is behind TLS.
    pub(crate) ca_file: Option<&'a Path>,
    /// Another build of Secateur than the one beside this program.
    pub(crate) program: Option<&'a Path>,
}

/// Starts it in a folder of its own and waits until it answers. The workload `pruned` has M7 on.
pub(crate) async fn start(
    keeps: Keeps,
    upstream: &Upstream<'_>,
    folder: &Path,
    shot: &Shot,
) -> Outcome<Server> {
    std::fs::create_dir_all(folder)?;
    let port = free_port()?;
    let (ledger, log) = match keeps {
        Keeps::Nothing => (false, "off"),
        Keeps::Ledger => (true, "off"),
        Keeps::LedgerAndLog => (true, "json"),
    };
    let ca_file = upstream.ca_file.map_or(String::new(), |file| {
        format!("ca_file = \"{}\"\n", file.display())
    });
    let url = upstream.url;
    let config = folder.join("secateur.toml");
    std::fs::write(
        &config,
        format!(
            "listen = \"127.0.0.1:{port}\"\nlog = \"{log}\"\n[upstream]\nopenai = \"{url}\"\n{ca_file}\
             [ledger]\nenabled = {ledger}\nurl = \"sqlite:ledger.db\"\nspool_dir = \"spool\"\n[workload.pruned]\npreset = \"tessera\"\nbudget_ms = 1000\n"
        ),
    )?;
    let program = match upstream.program {
        Some(program) => program.to_owned(),
        None => std::env::current_exe()?.with_file_name("secateur"),
    };
    let child = Command::new(&program)
        .args(["serve", "--config"])
        .arg(&config)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("{}: {error} (build it with --release)", program.display()))?;
    let server = Server {
        url: format!("http://127.0.0.1:{port}"),
        child,
    };
    let shot = shot.through(&server.url, &[]);
    for _ in 0..100 {
        if shot.is_answered().await {
            return Ok(server);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(format!("{} does not answer", program.display()).into())
}
