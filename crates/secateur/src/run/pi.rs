//! pi: an extension for this run, by `-e`, that gives its providers other base URLs.

use std::ffi::OsString;

use secateur_proxy::config::Provider;

use super::place::{Machine, read_json};
use super::setup::{BASE, FILES, Setup, Text};
use crate::failure::Failure;

/// pi's providers that have an API of ours, and what their libraries want after the base URL.
const PROVIDERS: [(&str, Provider, &str); 3] = [
    ("anthropic", Provider::Anthropic, ""),
    ("openai", Provider::Openai, "/v1"),
    ("google", Provider::Gemini, "/v1beta"),
];

/// Commands of pi that ask no model, and take no extension.
const COMMANDS: [&str; 6] = ["install", "remove", "uninstall", "update", "list", "config"];

const EXTENSION: &str = "secateur.js";

pub(super) fn setup(machine: &Machine, given: &[OsString]) -> Result<Setup, Failure> {
    let mut setup = Setup::default();
    if given
        .first()
        .is_some_and(|first| COMMANDS.iter().any(|command| first == command))
    {
        return Ok(setup);
    }
    let folder = machine.folder_of("PI_CODING_AGENT_DIR", ".pi/agent");
    let models = read_json(folder.map(|folder| folder.join("models.json"))).unwrap_or_default();
    let mut lines = String::new();
    for (name, provider, path) in PROVIDERS {
        if let Some(url) = models["providers"][name]["baseUrl"].as_str() {
            setup.send_to(
                provider,
                url,
                &format!("pi's provider `{name}` in models.json"),
            )?;
        }
        lines += &format!("  pi.registerProvider(\"{name}\", {{ baseUrl: \"{BASE}{path}\" }});\n");
    }
    let is_ours = |name: &String| PROVIDERS.iter().any(|(ours, ..)| ours == name);
    let own = models["providers"].as_object();
    let others: Vec<&str> = own
        .into_iter()
        .flat_map(|providers| providers.keys())
        .filter(|name| !is_ours(name))
        .map(String::as_str)
        .collect();
    if !others.is_empty() {
        setup.notes.push(format!(
            "providers of your own in pi's models.json do not go through the proxy: {}",
            others.join(", ")
        ));
    }
    let extension = format!("export default function (pi) {{\n{lines}}}\n");
    setup.files.push((EXTENSION, Text(extension)));
    setup.argue(&["-e", &format!("{FILES}/{EXTENSION}")]);
    Ok(setup)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_extension_aims_each_provider_and_commands_without_a_model_get_none() {
        let machine = Machine::with(Path::new("/"), &[]);
        let setup_of = |given: &[&str]| {
            let given: Vec<OsString> = given.iter().map(OsString::from).collect();
            setup(&machine, &given).unwrap()
        };
        let session = setup_of(&["-p", "hello"]);
        let text = session.files[0].1.fill("http://h/w/agent", "");
        assert!(
            text.contains("registerProvider(\"openai\", { baseUrl: \"http://h/w/agent/v1\" });"),
            "{text}"
        );
        assert_eq!(
            session.arguments[1].fill("", "/tmp/x"),
            "/tmp/x/secateur.js"
        );
        assert!(setup_of(&["update"]).files.is_empty());
    }
}
