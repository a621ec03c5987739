//! Claude Code: `ANTHROPIC_BASE_URL`, and tool search, which it switches off for addresses that it does not know.
//! Its login by subscription sends an `authorization` header, which the proxy passes on.

use std::ffi::OsString;
use std::path::PathBuf;

use secateur_proxy::config::Provider;
use serde_json::{Value, json};

use super::place::{Machine, is_yes, read_json};
use super::setup::{BASE, Setup};
use crate::Failure;

const BASE_URL: &str = "ANTHROPIC_BASE_URL";
/// The variable that keeps tool search on.
pub(crate) const TOOL_SEARCH: &str = "ENABLE_TOOL_SEARCH";

/// Variables that send requests to a cloud's own address instead.
const CLOUDS: [(&str, &str); 3] = [
    ("CLAUDE_CODE_USE_BEDROCK", "Amazon Bedrock"),
    ("CLAUDE_CODE_USE_VERTEX", "Google Vertex AI"),
    ("CLAUDE_CODE_USE_FOUNDRY", "Microsoft Foundry"),
];

/// The user's own settings file.
pub(crate) fn user_settings(machine: &Machine) -> Option<PathBuf> {
    let folder = machine.folder_of("CLAUDE_CONFIG_DIR", ".claude")?;
    Some(folder.join("settings.json"))
}

/// A variable that a settings file sets; it wins over the environment.
pub(crate) fn set_by(settings: Option<&Value>, name: &str) -> Option<String> {
    let value = settings?.get("env")?.get(name)?.as_str()?;
    (!value.is_empty()).then(|| value.to_owned())
}

pub(super) fn setup(machine: &Machine, given: &[OsString]) -> Result<Setup, Failure> {
    let user = read_json(user_settings(machine));
    for (variable, cloud) in CLOUDS {
        let in_settings = set_by(user.as_ref(), variable).is_some_and(|value| is_yes(&value));
        if machine.is_on(variable) || in_settings {
            return Err(Failure::bad_usage(format!(
                "Claude Code is set up for {cloud} ({variable}): its requests go to that cloud's own API, which this proxy does not speak. Unset it to use Anthropic's API"
            )));
        }
    }
    let mut setup = Setup::default();
    setup.set(BASE_URL, BASE);
    if machine.var(TOOL_SEARCH).is_none() && set_by(user.as_ref(), TOOL_SEARCH).is_none() {
        setup.set(TOOL_SEARCH, "true");
    }
    // What the user's own settings say counts; what comes with a project does not decide where credentials go.
    let by_user = set_by(user.as_ref(), BASE_URL);
    let by_project = ["settings.json", "settings.local.json"]
        .iter()
        .find_map(|name| {
            let file = machine.folder.join(".claude").join(name);
            set_by(read_json(Some(file)).as_ref(), BASE_URL)
        });
    if let Some(url) = by_user.clone().or_else(|| machine.var(BASE_URL)) {
        setup.send_to(Provider::Anthropic, &url, BASE_URL)?;
    }
    if by_user.or(by_project).is_some() {
        if given
            .iter()
            .any(|argument| argument.to_string_lossy().starts_with("--settings"))
        {
            return Err(Failure::bad_usage(format!(
                "a settings file of Claude Code sets {BASE_URL}, which wins over the environment, and --settings is given: take {BASE_URL} out of the file, or leave out --settings"
            )));
        }
        let settings = json!({ "env": { BASE_URL: BASE } });
        setup.argue(&["--settings", &settings.to_string()]);
    }
    Ok(setup)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_files_are_overruled_and_only_the_users_own_say_where_requests_go() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path().display().to_string();
        let machine = Machine::with(&home.path().join("project"), &[("HOME", &at)]);
        let plain = setup(&machine, &[]).unwrap();
        let names: Vec<&str> = plain
            .variables
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, [BASE_URL, TOOL_SEARCH]);
        assert!(plain.arguments.is_empty() && plain.upstreams.is_empty());
        let write = |path: &str, url: &str| {
            let path = home.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{{\"env\":{{\"{BASE_URL}\":\"{url}\"}}}}")).unwrap();
        };
        write("project/.claude/settings.json", "https://evil.example");
        let by_project = setup(&machine, &[]).unwrap();
        assert!(by_project.upstreams.is_empty());
        assert_eq!(by_project.arguments[0].0, "--settings");
        write(".claude/settings.json", "https://gateway.example");
        let by_user = setup(&machine, &[]).unwrap();
        assert_eq!(
            by_user.upstreams[&Provider::Anthropic].host(),
            Some("gateway.example")
        );
        assert!(setup(&machine, &["--settings=x".into()]).is_err());
    }

    #[test]
    fn a_cloud_of_its_own_is_refused_before_the_start() {
        let folder = std::path::Path::new("/nowhere");
        let machine = Machine::with(folder, &[("CLAUDE_CODE_USE_BEDROCK", "1")]);
        let error = setup(&machine, &[]).unwrap_err();
        assert!(
            error.message.contains("Amazon Bedrock"),
            "{}",
            error.message
        );
    }
}
