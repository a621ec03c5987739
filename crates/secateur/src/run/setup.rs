//! What an agent is given for one run: variables, arguments, temporary files, and where its requests go.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use http::Uri;
use secateur_proxy::config::Provider;

use super::base_url::Variable;
use crate::Failure;

/// A value that holds the base URL, or the path of a temporary file, once they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) String);

/// Stands for the workload's base URL.
pub(crate) const BASE: &str = "{base}";
/// Stands for the folder of temporary files.
pub(crate) const FILES: &str = "{files}";

impl Text {
    pub(crate) fn fill(&self, base: &str, files: &str) -> String {
        self.0.replace(BASE, base).replace(FILES, files)
    }
}

/// The setup of one run.
#[derive(Debug, Default)]
pub(crate) struct Setup {
    /// Variables.
    pub(crate) variables: Vec<(String, Text)>,
    /// Arguments before the user's own.
    pub(crate) arguments: Vec<Text>,
    /// Temporary files by name.
    pub(crate) files: Vec<(&'static str, Text)>,
    /// Where requests go, where that is not what the configuration says.
    pub(crate) upstreams: BTreeMap<Provider, Uri>,
    /// What the user should know before the start.
    pub(crate) notes: Vec<String>,
}

/// The temporary files of a run; they go with it.
#[derive(Debug)]
pub(crate) struct Files(Option<tempfile::TempDir>);

impl Files {
    fn path(&self) -> String {
        let folder = self.0.as_ref().map(tempfile::TempDir::path);
        folder.map_or(String::new(), |folder| folder.display().to_string())
    }
}

impl Setup {
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables
            .push((name.to_owned(), Text(value.to_owned())));
    }

    pub(crate) fn argue(&mut self, arguments: &[&str]) {
        let text = |argument: &&str| Text((*argument).to_owned());
        self.arguments.extend(arguments.iter().map(text));
    }

    /// Requests go where the user's own settings would send them. An address that cannot be read is an error: the
    /// request would go elsewhere.
    pub(crate) fn send_to(
        &mut self,
        provider: Provider,
        url: &str,
        said_by: &str,
    ) -> Result<(), Failure> {
        let uri: Option<Uri> = url.trim_end_matches('/').parse().ok();
        let is_whole =
            |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some();
        let uri = uri.filter(is_whole).ok_or_else(|| {
            Failure::bad_usage(format!(
                "{said_by} is `{url}`: expected a URL that starts with http:// or https://"
            ))
        })?;
        if uri.path().starts_with("/w/") && uri.host().is_some_and(is_this_machine) {
            // It is a proxy of ours already: its requests would be pruned twice.
            return Ok(());
        }
        self.notes
            .push(format!("requests go on to {uri}, as {said_by} says"));
        self.upstreams.insert(provider, uri);
        Ok(())
    }

    pub(super) fn aim_variables(&mut self, variables: &[Variable]) {
        for variable in variables {
            self.set(&variable.name, &format!("{BASE}{}", variable.path));
        }
    }

    pub(super) fn write_files(&self, base: &str) -> Result<Files, Failure> {
        if self.files.is_empty() {
            return Ok(Files(None));
        }
        let failed = |error: std::io::Error| {
            Failure::bad_input(format!("cannot write a temporary file: {error}"))
        };
        let folder = tempfile::Builder::new()
            .prefix("secateur-run-")
            .tempdir()
            .map_err(failed)?;
        for (name, text) in &self.files {
            std::fs::write(folder.path().join(name), text.fill(base, "")).map_err(failed)?;
        }
        Ok(Files(Some(folder)))
    }

    pub(super) fn command(&self, given: &[OsString], base: &str, files: &Files) -> Vec<OsString> {
        let files = files.path();
        let own = self
            .arguments
            .iter()
            .map(|text| text.fill(base, &files).into());
        own.chain(given.iter().cloned()).collect()
    }

    pub(super) fn env(&self, base: &str) -> Vec<(String, OsString)> {
        let fill = |(name, text): &(String, Text)| (name.clone(), text.fill(base, "").into());
        let mut all: Vec<(String, OsString)> = self.variables.iter().map(fill).collect();
        all.extend(around_proxies(&|name| std::env::var(name).ok()));
        all
    }

    /// Paths of temporary files as they are shown before there are any.
    pub(super) fn shown_files(&self) -> Vec<PathBuf> {
        self.files
            .iter()
            .map(|(name, _)| PathBuf::from(name))
            .collect()
    }
}

fn is_this_machine(host: &str) -> bool {
    matches!(host, "127.0.0.1" | "localhost" | "[::1]")
}

/// With a proxy for outgoing requests in the environment, requests to this machine would go to that proxy.
fn around_proxies(env: &dyn Fn(&str) -> Option<String>) -> Vec<(String, OsString)> {
    let is_set = |name: &&str| env(name).is_some_and(|value| !value.is_empty());
    let names = [
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    ];
    if !names.iter().any(is_set) {
        return Vec::new();
    }
    let known = env("NO_PROXY")
        .or_else(|| env("no_proxy"))
        .unwrap_or_default();
    let all = match known.as_str() {
        "" => "127.0.0.1,localhost".to_owned(),
        known => format!("{known},127.0.0.1,localhost"),
    };
    ["NO_PROXY", "no_proxy"]
        .map(|name| (name.to_owned(), all.clone().into()))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_to_this_machine_go_around_the_proxy_of_the_environment() {
        assert!(around_proxies(&|_| None).is_empty());
        let env = |name: &str| match name {
            "https_proxy" => Some("http://p".to_owned()),
            "no_proxy" => Some("corp".to_owned()),
            _ => None,
        };
        let set = around_proxies(&env);
        assert_eq!(
            set[0],
            ("NO_PROXY".to_owned(), "corp,127.0.0.1,localhost".into())
        );
        assert_eq!(set.len(), 2);
    }

    #[test]
    fn an_address_that_is_none_is_an_error() {
        let mut setup = Setup::default();
        setup
            .send_to(Provider::Openai, "https://gateway/v1/", "X")
            .unwrap();
        assert_eq!(
            setup.upstreams[&Provider::Openai].to_string(),
            "https://gateway/v1"
        );
        assert!(setup.send_to(Provider::Openai, "gateway", "X").is_err());
        setup
            .send_to(Provider::Anthropic, "http://127.0.0.1:8787/w/agent", "X")
            .unwrap();
        assert!(!setup.upstreams.contains_key(&Provider::Anthropic));
    }
}
