//! Gemini CLI: `GOOGLE_GEMINI_BASE_URL`, which it follows with an API key alone.

use secateur_proxy::config::Provider;

use super::place::{Machine, read_json};
use super::setup::{BASE, Setup};
use crate::Failure;

const BASE_URL: &str = "GOOGLE_GEMINI_BASE_URL";

/// Why its requests cannot go through the proxy.
pub(crate) fn obstacle(machine: &Machine) -> Option<String> {
    let settings = read_json(machine.at_home(".gemini/settings.json"));
    let of = |path: &[&str]| {
        let mut at = settings.as_ref()?;
        for key in path {
            at = at.get(key)?;
        }
        Some(at.as_str()?.to_owned())
    };
    let selected = of(&["security", "auth", "selectedType"]).or_else(|| of(&["selectedAuthType"]));
    let use_key = "With an API key it can: set GEMINI_API_KEY and choose it with /auth";
    match selected.as_deref() {
        Some("oauth-personal" | "login-with-google" | "cloud-shell") => Some(format!(
            "Gemini CLI is logged in with a Google account: its requests go to Google's Code Assist service, which this proxy does not speak. {use_key}"
        )),
        Some("vertex-ai" | "compute-default-credentials") => Some(format!(
            "Gemini CLI is set up for Vertex AI, which this proxy does not speak. {use_key}"
        )),
        Some(_) => None,
        None if machine.is_on("GOOGLE_GENAI_USE_VERTEXAI")
            || machine.is_on("GOOGLE_GENAI_USE_GCA") =>
        {
            Some(format!(
                "the environment sets Gemini CLI up for Google Cloud, which this proxy does not speak. {use_key}"
            ))
        }
        None => None,
    }
}

pub(super) fn setup(machine: &Machine) -> Result<Setup, Failure> {
    if let Some(obstacle) = obstacle(machine) {
        return Err(Failure::bad_usage(obstacle));
    }
    let mut setup = Setup::default();
    if let Some(url) = machine.var(BASE_URL) {
        setup.send_to(Provider::Gemini, &url, BASE_URL)?;
    }
    setup.set(BASE_URL, BASE);
    Ok(setup)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_google_login_is_refused_before_the_start_and_a_key_is_not() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path().display().to_string();
        let url = "http://127.0.0.1:9";
        let machine = Machine::with(Path::new("/"), &[("HOME", &at), (BASE_URL, url)]);
        assert_eq!(setup(&machine).unwrap().upstreams.len(), 1);
        std::fs::create_dir(home.path().join(".gemini")).unwrap();
        let settings = r#"{"security":{"auth":{"selectedType":"oauth-personal"}}}"#;
        std::fs::write(home.path().join(".gemini/settings.json"), settings).unwrap();
        assert!(
            setup(&machine)
                .unwrap_err()
                .message
                .contains("Google account")
        );
    }
}
