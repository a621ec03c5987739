//! codex: a provider for this run, by `-c`, that speaks the Responses API over plain HTTP.
//!
//! Checked November 2026 with 0.169: with a ChatGPT login the requests of a provider with `requires_openai_auth` go to the
//! provider's base URL, so the upstream is ChatGPT's own.

use secateur_proxy::config::Provider;
use serde_json::Value;

use super::place::{Machine, read_json, read_toml};
use super::setup::{BASE, Setup};
use crate::Failure;

/// Where requests with a ChatGPT login go.
const CHATGPT: &str = "https://chatgpt.com/backend-api/codex";

/// How codex is logged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Login {
    /// A key in this variable.
    Variable(&'static str),
    /// A key that codex keeps.
    Key,
    /// A ChatGPT account.
    ChatGpt,
    /// Nothing that can be seen from outside.
    Unknown,
}

/// How codex is logged in, by its own files and the environment.
pub(crate) fn login(machine: &Machine) -> Login {
    if machine.var("CODEX_API_KEY").is_some() {
        return Login::Variable("CODEX_API_KEY");
    }
    let folder = machine.folder_of("CODEX_HOME", ".codex");
    let auth = read_json(folder.map(|folder| folder.join("auth.json")));
    let has = |name: &str| {
        let value = auth.as_ref().and_then(|auth| auth.get(name));
        value.is_some_and(|value| !value.is_null())
    };
    let mode = auth.as_ref().and_then(|auth| auth.get("auth_mode"));
    let is_key = mode.and_then(Value::as_str) == Some("apikey");
    if has("tokens") && !is_key {
        return Login::ChatGpt;
    }
    if has("OPENAI_API_KEY") {
        return Login::Key;
    }
    if machine.var("OPENAI_API_KEY").is_some() {
        return Login::Variable("OPENAI_API_KEY");
    }
    Login::Unknown
}

pub(super) fn setup(machine: &Machine) -> Result<Setup, Failure> {
    let folder = machine.folder_of("CODEX_HOME", ".codex");
    let config = read_toml(folder.map(|folder| folder.join("config.toml"))).unwrap_or_default();
    let mut setup = Setup::default();
    let chosen = config.get("model_provider").and_then(toml::Value::as_str);
    if let Some(name) = chosen.filter(|name| *name != "openai") {
        own_provider(&mut setup, &config, name)?;
        return Ok(setup);
    }
    let login = login(machine);
    let elsewhere = config.get("openai_base_url").and_then(toml::Value::as_str);
    let base = match (elsewhere, login) {
        (Some(url), _) => {
            setup.send_to(
                Provider::Openai,
                url,
                "openai_base_url in codex's config.toml",
            )?;
            BASE.to_owned()
        }
        (None, Login::ChatGpt) => {
            setup.send_to(Provider::Openai, CHATGPT, "codex's ChatGPT login")?;
            BASE.to_owned()
        }
        (None, _) => format!("{BASE}/v1"),
    };
    let auth = match login {
        Login::Variable(name) => format!("env_key=\"{name}\""),
        Login::Key | Login::ChatGpt => "requires_openai_auth=true".to_owned(),
        Login::Unknown => {
            let note = "codex is not logged in with a file that could be read: an API key works; with a ChatGPT login kept in a keyring, requests would be refused";
            setup.notes.push(note.to_owned());
            "requires_openai_auth=true".to_owned()
        }
    };
    let provider = format!(
        "model_providers.secateur={{name=\"OpenAI\",base_url=\"{base}\",wire_api=\"responses\",supports_websockets=false,{auth}}}"
    );
    setup.argue(&["-c", &provider, "-c", "model_provider=\"secateur\""]);
    Ok(setup)
}

/// A provider that the user has set up stays what it is, but for its address.
fn own_provider(setup: &mut Setup, config: &toml::Table, name: &str) -> Result<(), Failure> {
    let of = |key: &str| config.get("model_providers")?.get(name)?.get(key)?.as_str();
    let Some(url) = of("base_url") else {
        return Err(Failure::bad_usage(format!(
            "codex's config.toml uses the provider `{name}` without a base_url of its own: its requests cannot go through the proxy. Choose another with: secateur run codex -c 'model_provider=\"openai\"'"
        )));
    };
    let said_by = format!("model_providers.{name}.base_url in codex's config.toml");
    setup.send_to(Provider::Openai, url, &said_by)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if !name.bytes().all(is_plain) {
        return Err(Failure::bad_usage(format!(
            "codex's provider `{name}` has a name that cannot be given on a command line"
        )));
    }
    setup.argue(&["-c", &format!("model_providers.{name}.base_url=\"{BASE}\"")]);
    setup.argue(&[
        "-c",
        &format!("model_providers.{name}.supports_websockets=false"),
    ]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn arguments(setup: &Setup) -> String {
        let all: Vec<&str> = setup.arguments.iter().map(|text| text.0.as_str()).collect();
        all.join(" ")
    }

    #[test]
    fn each_login_has_its_own_upstream_and_credential() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path().display().to_string();
        let machine = Machine::with(
            Path::new("/"),
            &[("CODEX_HOME", &at), ("OPENAI_API_KEY", "k")],
        );
        let keyed = arguments(&setup(&machine).unwrap());
        assert!(
            keyed.contains("{base}/v1") && keyed.contains("env_key=\"OPENAI_API_KEY\""),
            "{keyed}"
        );
        assert!(keyed.contains("supports_websockets=false"), "{keyed}");
        let auth = r#"{"OPENAI_API_KEY":null,"tokens":{"access_token":"x"}}"#;
        std::fs::write(home.path().join("auth.json"), auth).unwrap();
        let chatgpt = setup(&machine).unwrap();
        assert_eq!(chatgpt.upstreams[&Provider::Openai].to_string(), CHATGPT);
        assert!(arguments(&chatgpt).contains("requires_openai_auth=true"));
        assert!(!arguments(&chatgpt).contains("/v1"));
    }

    #[test]
    fn a_provider_of_the_users_keeps_all_but_its_address() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path().display().to_string();
        let machine = Machine::with(Path::new("/"), &[("CODEX_HOME", &at)]);
        let config = home.path().join("config.toml");
        let text = "model_provider = \"corp\"\n[model_providers.corp]\nbase_url = \"https://corp.example/v1\"\n";
        std::fs::write(&config, text).unwrap();
        let corp = setup(&machine).unwrap();
        assert_eq!(
            corp.upstreams[&Provider::Openai].to_string(),
            "https://corp.example/v1"
        );
        assert!(arguments(&corp).starts_with("-c model_providers.corp.base_url=\"{base}\""));
        std::fs::write(&config, "model_provider = \"ollama\"\n").unwrap();
        assert!(setup(&machine).unwrap_err().message.contains("ollama"));
    }
}
