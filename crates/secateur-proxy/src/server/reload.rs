//! What a new configuration may not take away from a running proxy, and what it cannot change.
//!
//! A file that was cut off while it was written is often valid: without its last tables. Whatever protects others
//! therefore goes only with a restart.

use super::ServeError;
use crate::config::{Config, Provider};

/// Why a new configuration was not taken over. The old one stays.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadError {
    /// Anybody could use the proxy.
    #[error(transparent)]
    Open(#[from] ServeError),
    /// Protections would be gone.
    #[error(
        "it takes away {}, as a file would that was cut off: the old configuration stays in force. If this is meant, restart the proxy", .0.join(", ")
    )]
    TakesAway(Vec<String>),
}

/// The protections that `before` has and `after` does not.
pub(super) fn taken_away(before: &Config, after: &Config) -> Vec<String> {
    let mut gone = Vec::new();
    if !before.keys.is_empty() && after.keys.is_empty() {
        gone.push("all client keys ([[key]])".to_owned());
    }
    let has_token = |config: &Config| {
        let portal = config.portal.as_ref();
        portal.is_some_and(|portal| portal.token.is_some())
    };
    if has_token(before) && !has_token(after) {
        gone.push("the portal's token ([portal] token_env)".to_owned());
    }
    if before.names_workloads() && !after.names_workloads() {
        gone.push("every workload ([workload.NAME])".to_owned());
    }
    gone.extend(upstreams_taken_away(before, after));
    for key in &before.keys {
        let mut keys = after.keys.iter();
        let now = keys.find(|now| now.name == key.name);
        if key.models.is_some() && now.is_some_and(|now| now.models.is_none()) {
            gone.push(format!(
                "the models of the key `{}` (all of them are models = [\"*\"])",
                key.name
            ));
        }
    }
    gone
}

/// Upstreams that would be the built-in ones again, to which requests and credentials would go.
fn upstreams_taken_away(before: &Config, after: &Config) -> Vec<String> {
    let mut gone: Vec<String> = Vec::new();
    for (name, now) in &after.workloads {
        let Some(was) = before.workloads.get(name) else {
            continue;
        };
        let falls_back = |provider: &Provider| {
            now.upstreams.is_built_in(*provider) && !was.upstreams.is_built_in(*provider)
        };
        for provider in Provider::ALL.into_iter().filter(falls_back) {
            gone.push(format!(
                "the upstream `{}` of the workload `{name}`",
                provider.name()
            ));
        }
    }
    gone
}

/// Puts back what only a restart can change, and names it.
pub(super) fn keep_until_restart(before: &Config, after: &mut Config) -> Vec<&'static str> {
    let mut ignored = Vec::new();
    let mut keep = |name, is_same: bool| {
        if !is_same {
            ignored.push(name);
        }
    };
    keep("listen", after.listen == before.listen);
    keep("log", after.log == before.log);
    keep(
        "max_connections",
        after.max_connections == before.max_connections,
    );
    keep(
        "max_connections_per_address",
        after.max_connections_per_address == before.max_connections_per_address,
    );
    keep(
        "timeouts.connect_s",
        after.timeouts.connect == before.timeouts.connect,
    );
    keep("upstream.ca_file", after.extra_roots == before.extra_roots);
    keep(
        "upstream.http2_hosts",
        after.http2_hosts == before.http2_hosts,
    );
    keep("summaries", after.summaries == before.summaries);
    keep("otlp", after.otlp == before.otlp);
    keep("ledger", after.ledger == before.ledger);
    keep("portal", after.portal == before.portal);
    after.listen = before.listen;
    after.log = before.log;
    after.max_connections = before.max_connections;
    after.max_connections_per_address = before.max_connections_per_address;
    after.timeouts.connect = before.timeouts.connect;
    after.extra_roots.clone_from(&before.extra_roots);
    after.http2_hosts.clone_from(&before.http2_hosts);
    after.summaries.clone_from(&before.summaries);
    after.otlp.clone_from(&before.otlp);
    after.ledger.clone_from(&before.ledger);
    after.portal.clone_from(&before.portal);
    ignored
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn read(text: &str) -> Config {
        let env = |name: &str| Some(format!("{name}-0123456789abcdef"));
        Config::read("c.toml", text, Path::new("."), &env).unwrap()
    }

    const FULL: &str = r#"
listen = "127.0.0.1:1"
[upstream]
openai = "http://inside.example"
[portal]
token_env = "TOKEN"
[workload.a]
preset = "tessera"
[[key]]
name = "k"
sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
workload = "a"
models = ["gpt-5"]
"#;

    #[test]
    fn a_file_that_is_cut_off_anywhere_takes_no_protection_away() {
        let whole = read(FULL);
        assert!(taken_away(&whole, &whole).is_empty());
        let env = |name: &str| Some(format!("{name}-0123456789abcdef"));
        let has_all = |text: &str| text.contains("models = [\"gpt-5\"]");
        let mut valid = 0;
        for end in 0..FULL.len() {
            let cut = &FULL[..end];
            let Ok(config) = Config::read("c.toml", cut, Path::new("."), &env) else {
                continue;
            };
            valid += 1;
            let is_refused = !taken_away(&whole, &config).is_empty();
            assert_eq!(is_refused, !has_all(cut), "{cut}");
        }
        assert!(valid > 10, "{valid}");
    }

    #[test]
    fn each_protection_is_named() {
        let whole = read(FULL);
        let gone = taken_away(&whole, &read("")).join("\n");
        for named in ["[[key]]", "token_env", "[workload.NAME]", "`openai`"] {
            assert!(gone.contains(named), "{named} in {gone}");
        }
        let open = FULL.replace("models = [\"gpt-5\"]\n", "");
        let gone = taken_away(&whole, &read(&open)).join("\n");
        assert!(gone.contains("the key `k`"), "{gone}");
        let wide = FULL.replace("gpt-5", "*");
        assert!(taken_away(&whole, &read(&wide)).is_empty());
    }

    #[test]
    fn what_needs_a_restart_is_named_and_stays() {
        let before = read(FULL);
        let text = FULL.replace("127.0.0.1:1", "127.0.0.1:2").replace(
            "[portal]\n",
            "http2_hosts = [\"api.anthropic.com\"]\n[timeouts]\nconnect_s = 3\nrequest_idle_s = 4\n[ledger]\nkeep_days = 1\n[summaries]\nmax_mb = 1\n[otlp]\nendpoint = \"http://o\"\n[portal]\nsession_hours = 1\n",
        );
        let text = format!("log = \"off\"\nmax_connections = 5\n{text}");
        let mut after = read(&text);
        let ignored = keep_until_restart(&before, &mut after);
        assert_eq!(
            ignored,
            [
                "listen",
                "log",
                "max_connections",
                "max_connections_per_address",
                "timeouts.connect_s",
                "upstream.http2_hosts",
                "summaries",
                "otlp",
                "ledger",
                "portal"
            ]
        );
        assert_eq!(after.timeouts.request_idle.as_secs(), 4);
        assert!(keep_until_restart(&before, &mut after).is_empty());
    }
}
