//! Other gateways as peers, where they are installed: nginx, LiteLLM's proxy, Portkey's gateway.
//!
//! Each runs as a process group of its own and is ended by that group's id.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};

use crate::Outcome;
use crate::wire::Shot;

/// A running peer.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) url: String,
    pub(crate) version: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    group: Option<u32>,
    child: Child,
}

impl Peer {
    /// Ends the peer and everything that it started.
    pub(crate) async fn end(mut self) {
        for signal in ["-TERM", "-KILL"] {
            if let Some(group) = self.group {
                let status = Command::new("kill")
                    .args([signal, "--", &format!("-{group}")])
                    .stderr(Stdio::null())
                    .status();
                // A group that is gone cannot be signalled.
                let _ = status.await;
            }
            if tokio::time::timeout(Duration::from_secs(4), self.child.wait())
                .await
                .is_ok()
            {
                return;
            }
        }
    }
}

/// The folder that `lab/proxy/run` installs peers to.
fn folder() -> PathBuf {
    match std::env::var_os("SECATEUR_PEERS") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join(".peers"),
    }
}

pub(crate) fn free_port() -> Outcome<u16> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.port())
}

fn spawn(command: &mut Command, log: &Path) -> Outcome<(Child, Option<u32>)> {
    let log = std::fs::File::create(log)?;
    let child = command
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()?;
    let group = child.id();
    Ok((child, group))
}

async fn version(program: &Path, flag: &str) -> String {
    let output = Command::new(program).arg(flag).output().await;
    let text = output.map_or(String::new(), |output| {
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&text).into_owned()
    });
    let digits = text
        .split(|c: char| c.is_whitespace() || c == '/' || c == '=')
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
    digits.unwrap_or("unknown").trim().to_owned()
}

/// Starts every peer that is installed, and waits until it answers `shot` through it.
pub(crate) async fn start(upstream: &str, work: &Path, shot: &Shot) -> (Vec<Peer>, Vec<String>) {
    let (mut peers, mut missing) = (Vec::new(), Vec::new());
    for (name, started, patience) in [
        ("nginx", nginx(upstream, work).await, 5),
        ("litellm", litellm(upstream, work).await, 120),
        ("portkey", portkey(upstream, work).await, 30),
    ] {
        match started {
            Ok(Some(peer)) => {
                if answers(&peer, shot, Duration::from_secs(patience)).await {
                    peers.push(peer);
                } else {
                    peer.end().await;
                    missing.push(format!("{name} did not answer: left out"));
                }
            }
            Ok(None) => missing.push(format!("{name} is not installed: left out")),
            Err(error) => missing.push(format!("{name} did not start ({error}): left out")),
        }
    }
    (peers, missing)
}

async fn answers(peer: &Peer, shot: &Shot, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    while Instant::now() < until {
        if shot.through(&peer.url, &peer.headers).is_answered().await {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    false
}

async fn nginx(upstream: &str, work: &Path) -> Outcome<Option<Peer>> {
    let unpacked = folder().join("nginx/usr/sbin/nginx");
    let program = match unpacked.exists() {
        true => unpacked,
        false => PathBuf::from("nginx"),
    };
    if Command::new(&program).arg("-v").output().await.is_err() {
        return Ok(None);
    }
    let (port, place) = (free_port()?, work.display());
    let host = upstream.trim_start_matches("http://");
    let config = work.join("nginx.conf");
    std::fs::write(
        &config,
        format!(
            "daemon off; worker_processes auto; pid {place}/pid; error_log {place}/error.log;\n\
             events {{ worker_connections 1024; }}\n\
             http {{ access_log off; client_body_temp_path {place}/b; proxy_temp_path {place}/p;\n\
             fastcgi_temp_path {place}/f; uwsgi_temp_path {place}/u; scgi_temp_path {place}/s;\n\
             client_max_body_size 64m; client_body_buffer_size 1m; keepalive_requests 1000000;\n\
             upstream u {{ server {host}; keepalive 64; keepalive_requests 1000000; }}\n\
             server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://u;\n\
             proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_buffering off;\n\
             proxy_request_buffering off; }} }} }}\n"
        ),
    )?;
    let mut command = Command::new(&program);
    command.arg("-e").arg(work.join("error.log"));
    command.arg("-c").arg(&config);
    let (child, group) = spawn(&mut command, &work.join("nginx.log"))?;
    Ok(Some(Peer {
        name: "nginx",
        url: format!("http://127.0.0.1:{port}"),
        version: version(&program, "-v").await,
        headers: Vec::new(),
        group,
        child,
    }))
}

async fn litellm(upstream: &str, work: &Path) -> Outcome<Option<Peer>> {
    let program = folder().join("litellm/bin/litellm");
    if !program.exists() {
        return Ok(None);
    }
    let (port, config) = (free_port()?, work.join("litellm.yaml"));
    std::fs::write(
        &config,
        format!(
            "model_list:\n  - model_name: gpt-5\n    litellm_params:\n      model: openai/gpt-5\n      \
             api_base: {upstream}/v1\n      api_key: sk-lab\n\
             litellm_settings:\n  telemetry: false\n  drop_params: true\n\
             general_settings:\n  master_key: sk-lab\n"
        ),
    )?;
    let mut command = Command::new(&program);
    command.arg("--config").arg(&config);
    command.args(["--host", "127.0.0.1", "--port", &port.to_string()]);
    // One worker to a core, as its documentation advises; under gunicorn, because its own supervisor ends
    // workers that take longer than five seconds to start.
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    command.args(["--run_gunicorn", "--num_workers", &cores.to_string()]);
    command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
    command.env("LITELLM_LOG", "ERROR");
    let (child, group) = spawn(&mut command, &work.join("litellm.log"))?;
    let python = folder().join("litellm/bin/python");
    let asks = "import importlib.metadata as m; print(m.version('litellm'))";
    let output = Command::new(python).args(["-c", asks]).output().await?;
    Ok(Some(Peer {
        name: "litellm",
        url: format!("http://127.0.0.1:{port}"),
        version: String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        headers: Vec::new(),
        group,
        child,
    }))
}

async fn portkey(upstream: &str, work: &Path) -> Outcome<Option<Peer>> {
    let package = folder().join("portkey/node_modules/@portkey-ai/gateway");
    let program = package.join("build/start-server.js");
    if !program.exists() {
        return Ok(None);
    }
    let port = free_port()?;
    let mut command = Command::new("node");
    command
        .arg(&program)
        .arg(format!("--port={port}"))
        .arg("--headless");
    command.env("NODE_ENV", "production");
    let host = upstream.trim_start_matches("http://");
    let name = host.split(':').next().unwrap_or(host);
    command.env("TRUSTED_CUSTOM_HOSTS", format!("{name},{host}"));
    let (child, group) = spawn(&mut command, &work.join("portkey.log"))?;
    let about = std::fs::read_to_string(package.join("package.json")).unwrap_or_default();
    let version = about
        .split_once("\"version\":")
        .and_then(|(_, rest)| rest.split('"').nth(1))
        .unwrap_or("unknown");
    Ok(Some(Peer {
        name: "portkey",
        url: format!("http://127.0.0.1:{port}"),
        version: version.to_owned(),
        headers: vec![
            ("x-portkey-provider", "openai".to_owned()),
            ("x-portkey-custom-host", format!("{upstream}/v1")),
        ],
        group,
        child,
    }))
}
