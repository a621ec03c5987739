//! From the file as written to the configuration as used.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use secateur_core::policy::Policy;
use toml::Spanned;

use super::canary::Lent;
use super::error::ConfigError;
use super::file::{File, RawKey, RawRoute, RawSchema, RawTimeouts, RawUpstreams, RawWorkload};
use super::policy_text::policy_text;
use super::{ClientKey, Config, DEFAULT_WORKLOAD, Otlp, Secret, Timeouts, Upstreams, Workload};
use crate::mechanic::{ModelRoutes, OutputSchema};

struct Reader<'r> {
    name: &'r str,
    text: &'r str,
    folder: &'r Path,
    env: &'r dyn Fn(&str) -> Option<String>,
    files: RefCell<Vec<PathBuf>>,
}

pub(super) fn resolve(
    name: &str,
    text: &str,
    folder: &Path,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Config, ConfigError> {
    let reader = Reader {
        name,
        text,
        folder,
        env,
        files: RefCell::default(),
    };
    let file: File = toml::from_str(text).map_err(|error| {
        let at = error.span().map(|span| span.start);
        ConfigError::at(name, text, at, error.message())
    })?;
    reader.config(file)
}

impl Reader<'_> {
    fn wrong(&self, span: &Range<usize>, message: impl Into<String>) -> ConfigError {
        ConfigError::at(self.name, self.text, Some(span.start), message)
    }

    fn config(&self, file: File) -> Result<Config, ConfigError> {
        let listen = match &file.listen {
            Some(listen) => listen.get_ref().parse().map_err(|_| {
                self.wrong(
                    &listen.span(),
                    "listen: expected an address and a port, like \"127.0.0.1:8787\"",
                )
            })?,
            None => SocketAddr::from(([127, 0, 0, 1], 8787)),
        };
        let upstreams = self.upstreams(
            &file.upstream,
            &Upstreams {
                openai: Uri::from_static("https://api.openai.com"),
                anthropic: Uri::from_static("https://api.anthropic.com"),
                gemini: Uri::from_static("https://generativelanguage.googleapis.com"),
            },
        )?;
        let mut workloads = BTreeMap::new();
        for (name, raw) in file.workload {
            let span = name.span();
            let name = name.into_inner();
            if name.is_empty()
                || !name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
            {
                return Err(self.wrong(
                    &span,
                    "a workload's name has letters, digits, `-`, `_` and `.` only",
                ));
            }
            let workload = self.workload(&name, raw, &upstreams)?;
            workloads.insert(name, Arc::new(workload));
        }
        let default = workloads
            .entry(DEFAULT_WORKLOAD.to_owned())
            .or_insert_with(|| {
                Arc::new(Workload {
                    name: DEFAULT_WORKLOAD.into(),
                    provider: None,
                    upstreams,
                    policy: None,
                    routes: None,
                    schema: None,
                    budget: Duration::from_millis(50),
                    retry_original: true,
                    holdout_pct: 0.0,
                    canary: Arc::default(),
                })
            });
        let default = Arc::clone(default);
        let keys = file.key.into_iter().map(|key| self.key(key, &workloads));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        let otlp = match file.otlp {
            Some(otlp) => Some(Otlp {
                endpoint: self.url(&otlp.endpoint)?,
                headers: otlp
                    .header_env
                    .iter()
                    .map(|(name, variable)| Ok((name.clone(), self.secret(variable)?)))
                    .collect::<Result<_, ConfigError>>()?,
            }),
            None => None,
        };
        Ok(Config {
            listen,
            log: file.log,
            max_body_bytes: self.at_least_one(file.max_body_mb, 32)? << 20,
            max_connections: self.at_least_one(file.max_connections, 10_000)?,
            timeouts: self.timeouts(&file.timeouts)?,
            workloads,
            keys,
            otlp,
            files: self.files.take(),
            default,
        })
    }

    fn at_least_one(
        &self,
        value: Option<Spanned<usize>>,
        default: usize,
    ) -> Result<usize, ConfigError> {
        match value {
            Some(value) if !(1..=1 << 20).contains(value.get_ref()) => {
                Err(self.wrong(&value.span(), "expected a number from 1 to 1048576"))
            }
            Some(value) => Ok(value.into_inner()),
            None => Ok(default),
        }
    }

    fn timeouts(&self, raw: &RawTimeouts) -> Result<Timeouts, ConfigError> {
        let seconds = |key: &str, value: f64| {
            Duration::try_from_secs_f64(value)
                .ok()
                .filter(|_| value > 0.0)
                .ok_or_else(|| {
                    let at = self.text.find(key);
                    ConfigError::at(
                        self.name,
                        self.text,
                        at,
                        format!("{key}: expected seconds above 0"),
                    )
                })
        };
        Ok(Timeouts {
            connect: seconds("connect_s", raw.connect_s)?,
            response_head: seconds("response_head_s", raw.response_head_s)?,
            response_idle: seconds("response_idle_s", raw.response_idle_s)?,
            request_idle: seconds("request_idle_s", raw.request_idle_s)?,
            shutdown: seconds("shutdown_s", raw.shutdown_s)?,
        })
    }

    fn upstreams(&self, raw: &RawUpstreams, default: &Upstreams) -> Result<Upstreams, ConfigError> {
        let one = |raw: &Option<Spanned<String>>, default: &Uri| match raw {
            Some(url) => self.url(url),
            None => Ok(default.clone()),
        };
        Ok(Upstreams {
            openai: one(&raw.openai, &default.openai)?,
            anthropic: one(&raw.anthropic, &default.anthropic)?,
            gemini: one(&raw.gemini, &default.gemini)?,
        })
    }

    fn url(&self, url: &Spanned<String>) -> Result<Uri, ConfigError> {
        let wrong = |message: &str| Err(self.wrong(&url.span(), message));
        let Ok(uri) = url.get_ref().parse::<Uri>() else {
            return wrong("expected a URL, like \"https://api.example.com\"");
        };
        if !matches!(uri.scheme_str(), Some("http" | "https"))
            || uri.host().is_none_or(str::is_empty)
        {
            return wrong("expected a URL that starts with http:// or https://");
        }
        if uri
            .authority()
            .is_some_and(|authority| authority.as_str().contains('@'))
        {
            return wrong(
                "a URL must not hold credentials: clients send theirs, or a [[key]] names an environment variable",
            );
        }
        if uri.query().is_some() {
            return wrong("a base URL has no query");
        }
        Ok(uri)
    }

    fn workload(
        &self,
        name: &str,
        mut raw: RawWorkload,
        defaults: &Upstreams,
    ) -> Result<Workload, ConfigError> {
        let lent = Lent {
            wrong: &|span, message| self.wrong(span, format!("workload.{name}: {message}")),
            env: self.env,
        };
        Ok(Workload {
            holdout_pct: lent.percent("holdout_pct", raw.holdout_pct.take(), 0.0)?,
            canary: Arc::new(lent.canary(raw.canary.take())?),
            name: name.into(),
            provider: raw.provider,
            upstreams: self.upstreams(&raw.upstream, defaults)?,
            policy: self.policy(name, &raw)?.map(Arc::new),
            routes: raw.route.map(routes).map(Arc::new),
            schema: match &raw.expected_schema {
                Some(schema) => Some(Arc::new(self.schema(schema)?)),
                None => None,
            },
            budget: Duration::from_millis(raw.budget_ms),
            retry_original: raw.retry_original,
        })
    }

    fn policy(&self, name: &str, raw: &RawWorkload) -> Result<Option<Policy>, ConfigError> {
        let preset = raw.preset.as_ref();
        if let Some(preset) = preset {
            Policy::preset(preset.get_ref())
                .map_err(|error| self.wrong(&preset.span(), format!("workload.{name}: {error}")))?;
        }
        let preset = preset.map(|preset| preset.get_ref().as_str());
        match (&raw.policy_file, &raw.policy) {
            (Some(file), Some(_)) => Err(self.wrong(
                &file.span(),
                format!("workload.{name}: give either policy_file or policy tables, not both"),
            )),
            (Some(file), None) => {
                let (path, text) = self.file(file)?;
                let policy = Policy::resolve(preset, Some(&text), &[]).map_err(|error| {
                    self.wrong(
                        &file.span(),
                        format!("workload.{name}: {}: {error}", path.display()),
                    )
                })?;
                Ok(Some(policy))
            }
            (None, Some(table)) => {
                let kept = policy_text(self.text, name, table.get_ref());
                let text = match &kept {
                    Some(text) => text.clone(),
                    None => table.get_ref().to_string(),
                };
                let policy = Policy::resolve(preset, Some(&text), &[]).map_err(|error| {
                    let message = format!("workload.{name}.policy: {error}");
                    match kept {
                        Some(_) => ConfigError::at(
                            self.name,
                            self.text,
                            named_line(self.text, &message),
                            message,
                        ),
                        None => self.wrong(&table.span(), message),
                    }
                })?;
                Ok(Some(policy))
            }
            (None, None) if preset.is_some() => {
                let policy = Policy::resolve(preset, None, &[]);
                policy
                    .map(Some)
                    .map_err(|error| ConfigError::at(self.name, self.text, None, error.to_string()))
            }
            (None, None) => Ok(None),
        }
    }

    /// Reads another file and remembers that it was read.
    fn file(&self, file: &Spanned<PathBuf>) -> Result<(PathBuf, String), ConfigError> {
        let path = self.folder.join(file.get_ref());
        let text = std::fs::read_to_string(&path)
            .map_err(|error| self.wrong(&file.span(), format!("{}: {error}", path.display())))?;
        self.files.borrow_mut().push(path.clone());
        Ok((path, text))
    }

    fn schema(&self, raw: &RawSchema) -> Result<OutputSchema, ConfigError> {
        let (span, text) = match (&raw.schema, &raw.schema_file) {
            (Some(schema), None) => (schema.span(), schema.get_ref().clone()),
            (None, Some(file)) => (file.span(), self.file(file)?.1),
            _ => {
                return Err(self.wrong(
                    &raw.name.span(),
                    "expected_schema: give either schema or schema_file",
                ));
            }
        };
        let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        let name = raw.name.get_ref();
        if name.is_empty() || name.len() > 64 || !name.bytes().all(is_name) {
            return Err(self.wrong(
                &raw.name.span(),
                "expected_schema: a name has 1 to 64 letters, digits, `-` and `_`",
            ));
        }
        OutputSchema::new(name, &text)
            .map_err(|error| self.wrong(&span, format!("expected_schema: {error}")))
    }

    fn key(
        &self,
        raw: RawKey,
        workloads: &BTreeMap<String, Arc<Workload>>,
    ) -> Result<ClientKey, ConfigError> {
        let sha256 = digest(raw.sha256.get_ref()).ok_or_else(|| {
            self.wrong(
                &raw.sha256.span(),
                "key.sha256: expected 64 hexadecimal digits, the SHA-256 of the key",
            )
        })?;
        let workload = match &raw.workload {
            Some(name) => Some(workloads.get(name.get_ref()).cloned().ok_or_else(|| {
                self.wrong(
                    &name.span(),
                    format!("key.workload: there is no workload `{}`", name.get_ref()),
                )
            })?),
            None => None,
        };
        let credentials = raw.credential_env.iter();
        let credentials =
            credentials.map(|(&provider, variable)| Ok((provider, self.secret(variable)?)));
        Ok(ClientKey {
            name: raw.name.into_inner().into(),
            sha256,
            workload,
            credentials: credentials.collect::<Result<_, ConfigError>>()?,
            requests_per_minute: raw.requests_per_minute,
        })
    }

    fn secret(&self, variable: &Spanned<String>) -> Result<Secret, ConfigError> {
        match (self.env)(variable.get_ref()) {
            Some(value) if http::HeaderValue::from_str(&value).is_ok() && !value.is_empty() => {
                Ok(Secret::new(&value))
            }
            Some(_) => Err(self.wrong(
                &variable.span(),
                "the environment variable does not hold a credential",
            )),
            None => Err(self.wrong(
                &variable.span(),
                format!(
                    "the environment variable `{}` is not set",
                    variable.get_ref()
                ),
            )),
        }
    }
}

fn routes(raw: RawRoute) -> ModelRoutes {
    ModelRoutes {
        models: raw.models,
        max_body_chars: raw.max_body_chars,
    }
}

/// The offset of the line that a policy error names.
fn named_line(text: &str, message: &str) -> Option<usize> {
    let (_, rest) = message.split_once("line ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let line: usize = digits.parse().ok()?;
    let lines = text.split_inclusive('\n').take(line.checked_sub(1)?);
    Some(lines.map(str::len).sum())
}

fn digest(hex: &str) -> Option<[u8; 32]> {
    let mut out = [0; 32];
    if hex.len() != 64 || !hex.is_ascii() {
        return None;
    }
    for (at, byte) in out.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(at * 2..at * 2 + 2)?, 16).ok()?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, ConfigError> {
        let env = |name: &str| (name == "SET").then(|| "credential".to_owned());
        Config::read("secateur.toml", text, Path::new("."), &env)
    }

    #[track_caller]
    fn fails(text: &str, line: usize, says: &str) {
        let error = read(text).unwrap_err();
        assert_eq!(error.line, Some(line), "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }

    #[test]
    fn the_template_is_valid_and_so_is_an_empty_file() {
        let config = read(super::super::TEMPLATE).unwrap();
        assert_eq!(config.max_body_bytes, 32 << 20);
        assert!(config.is_loopback() && !config.default_workload().has_mechanics());
        read("").unwrap();
    }

    #[test]
    fn every_key_of_the_template_is_a_key() {
        let text: String = super::super::TEMPLATE
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest)
                    if rest.starts_with('[')
                        || rest
                            .split_once(" = ")
                            .is_some_and(|(key, _)| !key.contains(' ')) =>
                {
                    rest
                }
                _ => line,
            })
            .map(|line| format!("{line}\n"))
            .collect();
        let text = text
            .replace("…64 hex digits…", &"0f".repeat(32))
            .replace("ANTHROPIC_API_KEY", "SET")
            .replace("OPENAI_API_KEY", "SET")
            .replace("OTLP_AUTHORIZATION", "SET")
            .replace("policy_file =", "# policy_file =")
            .replace(
                "schema_file = \"answer.schema.json\"",
                "schema = '{\"type\":\"object\"}'",
            );
        let config = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let workload = &config.workloads["coding"];
        assert!(
            workload.policy.is_some() && workload.routes.is_some() && workload.schema.is_some()
        );
        assert_eq!(config.keys[0].credentials.len(), 2);
        assert!(config.otlp.is_some());
    }

    #[test]
    fn errors_name_the_line() {
        fails("listen = \"here\"\n", 1, "an address and a port");
        fails("\n\nlisten_on = 1\n", 3, "listen_on");
        fails("[upstream]\nopenai = \"ftp://x\"\n", 2, "http://");
        fails(
            "[upstream]\nopenai = \"https://user:pw@x\"\n",
            2,
            "credentials",
        );
        fails("[workload.a]\n\npreset = \"tesera\"\n", 3, "tessera");
        fails("[workload.a]\nbudget = 3\n", 2, "budget");
        fails(
            "[workload.a]\n[workload.a.policy.m7]\nenabled = true\n\n[workload.a.policy.middle-turns]\nkeep_last_turn = 1\n",
            6,
            "keep_last_turns",
        );
        fails(
            "[workload.a]\n[workload.a.policy]\n# a note\nmidle-turns.keep_last_turns = 1\n",
            4,
            "middle-turns",
        );
        fails("[workload.a]\npolicy.m7.enable = true\n", 2, "enabled");
        fails(
            "[[key]]\nname = \"a\"\nsha256 = \"12\"\n",
            3,
            "64 hexadecimal",
        );
        fails(
            &format!(
                "[[key]]\nname = \"a\"\nsha256 = \"{}\"\nworkload = \"b\"\n",
                "0".repeat(64)
            ),
            4,
            "no workload `b`",
        );
        fails(
            &format!(
                "[[key]]\nname = \"a\"\nsha256 = \"{}\"\ncredential_env = {{ openai = \"NOT_SET\" }}\n",
                "0".repeat(64)
            ),
            4,
            "NOT_SET",
        );
        fails("[timeouts]\nconnect_s = 0\n", 2, "above 0");
        fails("max_body_mb = 0\n", 1, "1 to");
        fails("[workload.\"a b\"]\n", 1, "letters");
        fails(
            "[workload.a.expected_schema]\nname = \"x\"\nschema = '{'\n",
            3,
            "expected_schema",
        );
    }

    #[test]
    fn a_workload_overrides_single_upstreams() {
        let config = read("[upstream]\nopenai = \"http://a\"\ngemini = \"http://g\"\n[workload.x]\nupstream.openai = \"http://b/v1\"\n").unwrap();
        let x = &config.workloads["x"].upstreams;
        assert_eq!(
            (x.openai.to_string(), x.gemini.host()),
            ("http://b/v1".to_owned(), Some("g"))
        );
    }

    #[test]
    fn secrets_do_not_show_in_debug_output() {
        let text = format!(
            "[[key]]\nname = \"a\"\nsha256 = \"{}\"\ncredential_env = {{ openai = \"SET\" }}\n",
            "0".repeat(64)
        );
        assert!(!format!("{:?}", read(&text).unwrap()).contains("\"credential\""));
    }
}
