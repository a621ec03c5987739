//! opencode: base URLs by `OPENCODE_CONFIG_CONTENT`, which it merges over the user's files.

use secateur_proxy::config::Provider;
use serde_json::{Value, json};

use super::place::{Machine, read_json};
use super::setup::{BASE, Setup};
use crate::failure::Failure;

const CONTENT: &str = "OPENCODE_CONFIG_CONTENT";

/// opencode's providers that have an API of ours, and what their libraries want after the base URL.
const PROVIDERS: [(&str, Provider, &str); 3] = [
    ("anthropic", Provider::Anthropic, "/v1"),
    ("openai", Provider::Openai, "/v1"),
    ("google", Provider::Gemini, "/v1beta"),
];

pub(super) fn setup(machine: &Machine) -> Result<Setup, Failure> {
    let mut setup = Setup::default();
    let given = machine.var(CONTENT);
    let mut content: Value = match &given {
        Some(text) => serde_json::from_str(text)
            .map_err(|_| Failure::bad_usage(format!("{CONTENT} is set and is not JSON")))?,
        None => json!({}),
    };
    let folder = machine.folder_of("XDG_CONFIG_HOME", ".config");
    let own = read_json(folder.map(|folder| folder.join("opencode/opencode.json")));
    let configured = |name: &str| {
        let url = |config: &Value| {
            let url = &config["provider"][name]["options"]["baseURL"];
            url.as_str().map(str::to_owned)
        };
        url(&content).or_else(|| own.as_ref().and_then(url))
    };
    for (name, provider, _) in PROVIDERS {
        if let Some(url) = configured(name) {
            setup.send_to(provider, &url, &format!("opencode's provider `{name}`"))?;
        }
    }
    for (name, _, path) in PROVIDERS {
        let slot = &mut content["provider"][name]["options"]["baseURL"];
        *slot = format!("{BASE}{path}").into();
    }
    setup.set(CONTENT, &content.to_string());
    setup.notes.extend(chatgpt_note(machine));
    Ok(setup)
}

/// opencode sends requests with a ChatGPT login to ChatGPT's address, whatever the base URL is.
pub(crate) fn chatgpt_note(machine: &Machine) -> Option<String> {
    let folder = machine.folder_of("XDG_DATA_HOME", ".local/share")?;
    let auth = read_json(Some(folder.join("opencode/auth.json")))?;
    (auth["openai"]["type"] == "oauth").then(|| {
        "opencode's ChatGPT login does not go through the proxy; models of Anthropic and Google, and OpenAI with an API key, do".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn what_is_set_already_is_kept_and_its_addresses_become_the_upstream() {
        let given = r#"{"model":"m","provider":{"anthropic":{"options":{"baseURL":"https://gw.example/v1","x":1}}}}"#;
        let machine = Machine::with(Path::new("/"), &[(CONTENT, given)]);
        let setup = setup(&machine).unwrap();
        assert_eq!(
            setup.upstreams[&Provider::Anthropic].to_string(),
            "https://gw.example/v1"
        );
        let content: Value = serde_json::from_str(&setup.variables[0].1.0).unwrap();
        assert_eq!(content["model"], "m");
        let options = &content["provider"]["anthropic"]["options"];
        assert_eq!(
            (&options["baseURL"], &options["x"]),
            (&"{base}/v1".into(), &1.into())
        );
        assert_eq!(
            content["provider"]["google"]["options"]["baseURL"],
            "{base}/v1beta"
        );
    }

    #[test]
    fn a_chatgpt_login_is_reported_before_the_start() {
        let data = tempfile::tempdir().unwrap();
        let at = data.path().display().to_string();
        let machine = Machine::with(Path::new("/"), &[("XDG_DATA_HOME", &at)]);
        assert_eq!(chatgpt_note(&machine), None);
        std::fs::create_dir(data.path().join("opencode")).unwrap();
        let auth = r#"{"openai":{"type":"oauth"}}"#;
        std::fs::write(data.path().join("opencode/auth.json"), auth).unwrap();
        assert!(chatgpt_note(&machine).is_some());
    }
}
