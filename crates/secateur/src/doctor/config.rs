//! The configuration, the proxy that runs with it, and keys.

use std::path::PathBuf;

use crate::config_file;
use secateur_proxy::Config;

use super::finding::Finding;
use crate::run::place::Machine;
use crate::running::status;
use crate::table::counted;

/// Whether the configuration can be read and prunes anything.
pub(super) fn findings(file: Option<&PathBuf>) -> (Vec<Finding>, Option<Config>) {
    let read = match file {
        Some(file) => config_file::load_config(file),
        None => config_file::built_in_config(),
    };
    let config = match read {
        Ok(config) => config,
        Err(error) => {
            let found = Finding::error(
                "config",
                error.to_string(),
                "mend the file; `secateur config check` checks it again",
            );
            return (vec![found], None);
        }
    };
    let source = file.map_or("built in".to_owned(), |file| file.display().to_string());
    let changing: Vec<&str> = config.changing_workloads().collect();
    let found = if changing.is_empty() {
        let todo = "give a workload a preset: [workload.agent] preset = \"steady\"";
        Finding::warning(
            "config",
            format!("{source}: no workload changes requests"),
            todo,
        )
    } else {
        Finding::ok("config", format!("{source}: {} on", changing.join(", ")))
    };
    (vec![found], Some(config))
}

/// Whether a proxy runs with it.
pub(super) fn proxy(config: &Config) -> Vec<Finding> {
    let listen = config.listen;
    let Some(status) = status(listen) else {
        let is_taken =
            std::net::TcpStream::connect_timeout(&listen, std::time::Duration::from_millis(500))
                .is_ok();
        if is_taken {
            let found = format!("another program listens on {listen}");
            let todo = "choose another port: secateur serve --listen 127.0.0.1:8788, or listen in the configuration";
            return vec![Finding::warning("proxy", found, todo)];
        }
        let found = format!("none runs on {listen}; `secateur run AGENT` starts one for itself");
        return vec![Finding::ok("proxy", found)];
    };
    let version = status["secateur"].as_str().unwrap_or_default();
    let own = env!("CARGO_PKG_VERSION");
    if version != own {
        let found = format!("version {version} runs on {listen}, this program is {own}");
        return vec![Finding::warning("proxy", found, "restart the proxy")];
    }
    let running: Vec<&str> = status["workloads"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|workload| workload["changes"] == true)
        .filter_map(|workload| workload["name"].as_str())
        .collect();
    let configured: Vec<&str> = config.changing_workloads().collect();
    if running != configured {
        let found = format!(
            "runs on {listen} with workloads {running:?} on; the configuration has {configured:?}"
        );
        let todo = "restart it with this configuration, or look at another one with --config";
        return vec![Finding::warning("proxy", found, todo)];
    }
    vec![Finding::ok(
        "proxy",
        format!("version {version} runs on {listen}"),
    )]
}

/// Client keys, and the providers' keys in the environment. Values are not read.
pub(super) fn keys(config: &Config, machine: &Machine) -> Vec<Finding> {
    let mut all = Vec::new();
    if !config.keys.is_empty() {
        let keys = counted(config.keys.len() as u64, "client key");
        all.push(Finding::ok("keys", keys));
    } else if config.is_loopback() {
        all.push(Finding::ok(
            "keys",
            "no client keys: everybody on this machine may use the proxy",
        ));
    } else {
        let found = format!(
            "no client keys, and {} is reachable from other machines",
            config.listen
        );
        let todo = "secateur keys create NAME --workload agent, or listen = \"127.0.0.1:8787\"";
        all.push(Finding::error("keys", found, todo));
    }
    let names = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"];
    let set: Vec<&str> = names
        .into_iter()
        .filter(|name| machine.var(name).is_some())
        .collect();
    let found = match set.is_empty() {
        true => "no provider's key in the environment: agents use their own logins".to_owned(),
        false => format!("in the environment: {}", set.join(", ")),
    };
    all.push(Finding::ok("keys", found));
    all
}
