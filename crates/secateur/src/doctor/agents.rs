//! Which agents are installed, and how each is set up on its own, without `secateur run`.

use std::ffi::OsStr;
use std::net::SocketAddr;

use super::finding::Finding;
use crate::run::agent::Agent;
use crate::run::codex::{Login, login};
use crate::run::place::{Machine, is_yes, read_json, read_toml};
use crate::run::{claude, gemini, opencode};

pub(super) fn findings(machine: &Machine, listen: Option<SocketAddr>) -> Vec<Finding> {
    let mut all = Vec::new();
    let mut missing = Vec::new();
    for agent in Agent::KNOWN {
        if machine.find_program(OsStr::new(agent.program())).is_none() {
            missing.push(agent.program());
            continue;
        }
        let way = Way { machine, listen };
        match agent {
            Agent::Claude => all.extend(way.claude()),
            Agent::Codex => all.extend(way.codex()),
            Agent::Opencode => all.extend(way.opencode()),
            Agent::Gemini => all.extend(way.gemini()),
            Agent::Pi => all.extend(way.pi()),
            Agent::Other => {}
        }
    }
    if !missing.is_empty() {
        all.push(Finding::ok(
            "agents",
            format!("not installed: {}", missing.join(", ")),
        ));
    }
    all
}

/// Where an agent's requests go.
struct Way<'m> {
    machine: &'m Machine,
    listen: Option<SocketAddr>,
}

impl Way<'_> {
    /// What a base URL of an agent means.
    fn judge(&self, agent: Agent, url: Option<&str>) -> Finding {
        let name = agent.program();
        let run = format!("secateur run {name}");
        let Some(url) = url else {
            return Finding::ok(
                name,
                format!("goes to its provider directly; through the proxy with `{run}`"),
            );
        };
        let Some(listen) = self.listen.filter(|listen| is_at(url, *listen)) else {
            return Finding::ok(
                name,
                format!("goes to {url}; through the proxy and then there with `{run}`"),
            );
        };
        if !url.contains("/w/") {
            let todo = format!("use http://{listen}/w/agent, or `{run}`");
            return Finding::warning(
                name,
                format!("goes to {url}, which prunes nothing: it names no workload"),
                todo,
            );
        }
        Finding::ok(name, format!("goes through the proxy: {url}"))
    }

    fn claude(&self) -> Vec<Finding> {
        let settings = read_json(claude::user_settings(self.machine));
        let set =
            |name: &str| claude::set_by(settings.as_ref(), name).or_else(|| self.machine.var(name));
        let url = set("ANTHROPIC_BASE_URL");
        let mut all = vec![self.judge(Agent::Claude, url.as_deref())];
        let is_on = set(claude::TOOL_SEARCH).is_some_and(|value| is_yes(&value));
        if url.is_some() && is_on {
            all.push(Finding::ok("claude", "tool search is on"));
        } else if url.is_some() {
            let words = "tool search is off: Claude Code switches it off for a base URL of another host, and sends all tools with every request";
            let todo = "set ENABLE_TOOL_SEARCH=true; `secateur run claude` does";
            all.push(Finding::warning("claude", words, todo));
        }
        all
    }

    fn codex(&self) -> Vec<Finding> {
        let folder = self.machine.folder_of("CODEX_HOME", ".codex");
        let config = read_toml(folder.map(|folder| folder.join("config.toml"))).unwrap_or_default();
        let text =
            |value: Option<&toml::Value>| value.and_then(|value| value.as_str().map(str::to_owned));
        let chosen = text(config.get("model_provider")).filter(|name| name != "openai");
        let provider = chosen.and_then(|name| config.get("model_providers")?.get(&name).cloned());
        let url = match &provider {
            Some(provider) => text(provider.get("base_url")),
            None => text(config.get("openai_base_url")),
        };
        let mut all = vec![self.judge(Agent::Codex, url.as_deref())];
        let sockets = provider
            .as_ref()
            .and_then(|provider| provider.get("supports_websockets"));
        let uses_sockets = match &provider {
            Some(_) => sockets.and_then(toml::Value::as_bool) == Some(true),
            None => true,
        };
        let is_ours = self
            .listen
            .zip(url.as_deref())
            .is_some_and(|(listen, url)| is_at(url, listen));
        if is_ours && uses_sockets {
            let words = "tries a WebSocket first; the proxy answers 426 and codex falls back to plain requests at once";
            all.push(Finding::ok("codex", words));
        }
        let words = match login(self.machine) {
            Login::Variable(name) => format!("uses the key in {name}"),
            Login::Key => "is logged in with a key".to_owned(),
            Login::ChatGpt => {
                "is logged in with ChatGPT; `secateur run codex` sends its requests on to ChatGPT"
                    .to_owned()
            }
            Login::Unknown => "is not logged in with a file that could be read".to_owned(),
        };
        all.push(Finding::ok("codex", words));
        all
    }

    fn opencode(&self) -> Vec<Finding> {
        let folder = self.machine.folder_of("XDG_CONFIG_HOME", ".config");
        let config = read_json(folder.map(|folder| folder.join("opencode/opencode.json")))
            .unwrap_or_default();
        let url = |name: &str| {
            config["provider"][name]["options"]["baseURL"]
                .as_str()
                .map(str::to_owned)
        };
        let url = ["anthropic", "openai", "google"].into_iter().find_map(url);
        let mut all = vec![self.judge(Agent::Opencode, url.as_deref())];
        if let Some(note) = opencode::chatgpt_note(self.machine) {
            all.push(Finding::warning("opencode", note, "log in with an API key"));
        }
        all
    }

    fn gemini(&self) -> Vec<Finding> {
        if let Some(obstacle) = gemini::obstacle(self.machine) {
            return vec![Finding::warning("gemini", obstacle, "")];
        }
        let url = self.machine.var("GOOGLE_GEMINI_BASE_URL");
        vec![self.judge(Agent::Gemini, url.as_deref())]
    }

    fn pi(&self) -> Vec<Finding> {
        let folder = self.machine.folder_of("PI_CODING_AGENT_DIR", ".pi/agent");
        let models = read_json(folder.map(|folder| folder.join("models.json"))).unwrap_or_default();
        let url = |name: &str| {
            models["providers"][name]["baseUrl"]
                .as_str()
                .map(str::to_owned)
        };
        let url = ["anthropic", "openai", "google"].into_iter().find_map(url);
        vec![self.judge(Agent::Pi, url.as_deref())]
    }
}

/// Whether a base URL leads to the proxy on this machine.
fn is_at(url: &str, listen: SocketAddr) -> bool {
    let Ok(uri) = url.parse::<http::Uri>() else {
        return false;
    };
    let is_here = matches!(uri.host(), Some("127.0.0.1" | "localhost" | "[::1]"));
    is_here && uri.port_u16() == Some(listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Grade;
    use std::path::Path;

    #[test]
    fn a_base_url_without_a_workload_and_tool_search_that_is_off_are_warnings() {
        let listen: SocketAddr = "127.0.0.1:8787".parse().unwrap();
        let graded = |variables: &[(&str, &str)]| {
            let machine = Machine::with(Path::new("/"), variables);
            let way = Way {
                machine: &machine,
                listen: Some(listen),
            };
            way.claude()
                .iter()
                .map(|finding| finding.grade)
                .collect::<Vec<_>>()
        };
        let url = "ANTHROPIC_BASE_URL";
        assert_eq!(graded(&[]), [Grade::Ok]);
        let good = [
            (url, "http://127.0.0.1:8787/w/agent"),
            ("ENABLE_TOOL_SEARCH", "true"),
        ];
        assert_eq!(graded(&good), [Grade::Ok, Grade::Ok]);
        let bare = [(url, "http://localhost:8787")];
        assert_eq!(graded(&bare), [Grade::Warning, Grade::Warning]);
        let elsewhere = [
            (url, "https://gateway.example"),
            ("ENABLE_TOOL_SEARCH", "1"),
        ];
        assert_eq!(graded(&elsewhere), [Grade::Ok, Grade::Ok]);
    }
}
