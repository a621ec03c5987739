//! `[workload.NAME.canary]` as it is written, and its way to [`CanaryOptions`].

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use secateur_canary::{CanaryOptions, ScorerOptions};
use serde::Deserialize;
use toml::Spanned;

use super::error::ConfigError;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawCanary {
    sample_pct: Option<Spanned<f64>>,
    control_pct: Option<Spanned<f64>>,
    floor: Option<Spanned<f64>>,
    min_samples: Option<Spanned<u32>>,
    window: Option<Spanned<u32>>,
    window_hours: Option<Spanned<f64>>,
    confidence: Option<Spanned<f64>>,
    scorer: Option<Spanned<toml::Value>>,
    scorer_timeout_s: Option<Spanned<f64>>,
    max_concurrent: Option<Spanned<usize>>,
    max_calls_per_hour: Option<u32>,
    max_tokens_per_day: Option<u64>,
    max_usd_per_day: Option<Spanned<f64>>,
    max_body_mb: Option<Spanned<f64>>,
    min_strikes: Option<Spanned<u32>>,
    max_strike_pct: Option<Spanned<f64>>,
}

/// What the reader of the whole file lends.
pub(super) struct Lent<'l> {
    pub(super) wrong: &'l dyn Fn(&Range<usize>, String) -> ConfigError,
    pub(super) env: &'l dyn Fn(&str) -> Option<String>,
    /// Where the file is.
    pub(super) folder: &'l Path,
}

impl Lent<'_> {
    /// A value within bounds, or the default.
    fn within<T: Copy + PartialOrd + std::fmt::Display>(
        &self,
        key: &str,
        value: Option<Spanned<T>>,
        default: T,
        (low, high): (T, T),
    ) -> Result<T, ConfigError> {
        match value {
            // A number that is none is outside of every range.
            Some(value) if !(*value.get_ref() >= low && *value.get_ref() <= high) => {
                let message = format!("{key}: expected a number from {low} to {high}");
                Err((self.wrong)(&value.span(), message))
            }
            Some(value) => Ok(value.into_inner()),
            None => Ok(default),
        }
    }

    /// A share in percent.
    pub(super) fn percent(
        &self,
        key: &str,
        value: Option<Spanned<f64>>,
        default: f64,
    ) -> Result<f64, ConfigError> {
        self.within(key, value, default, (0.0, 100.0))
    }

    /// A table as written; without one nothing is sampled.
    pub(super) fn canary(&self, raw: Option<RawCanary>) -> Result<CanaryOptions, ConfigError> {
        let default = CanaryOptions::default();
        let Some(raw) = raw else {
            return Ok(default);
        };
        let min_samples = self.within(
            "min_samples",
            raw.min_samples,
            default.min_samples,
            (2, 10_000),
        )?;
        let window_span = raw.window.as_ref().map(Spanned::span);
        let window = default.window.max(min_samples);
        let window = self.within("window", raw.window, window, (2, 100_000))?;
        if window < min_samples {
            let message = "window: must not be smaller than min_samples".to_owned();
            return Err((self.wrong)(&window_span.unwrap_or_default(), message));
        }
        let hours = self.within("window_hours", raw.window_hours, 168.0, (0.1, 8760.0))?;
        let timeout = self.within("scorer_timeout_s", raw.scorer_timeout_s, 30.0, (0.1, 600.0))?;
        let body_mb = self.within("max_body_mb", raw.max_body_mb, 4.0, (0.01, 64.0))?;
        Ok(CanaryOptions {
            sample_pct: self.percent("sample_pct", raw.sample_pct, 5.0)?,
            control_pct: self.percent("control_pct", raw.control_pct, default.control_pct)?,
            floor: self.within("floor", raw.floor, default.floor, (0.0, 0.999))?,
            min_samples,
            window,
            window_age: Duration::from_secs_f64(hours * 3600.0),
            confidence: self.within(
                "confidence",
                raw.confidence,
                default.confidence,
                (0.0, 0.999_999),
            )?,
            scorer: match &raw.scorer {
                Some(scorer) => self.scorer(scorer)?,
                None => default.scorer,
            },
            scorer_timeout: Duration::from_secs_f64(timeout),
            max_concurrent: self.within(
                "max_concurrent",
                raw.max_concurrent,
                default.max_concurrent,
                (1, 64),
            )?,
            max_calls_per_hour: raw.max_calls_per_hour.unwrap_or(default.max_calls_per_hour),
            max_tokens_per_day: raw.max_tokens_per_day.unwrap_or(default.max_tokens_per_day),
            max_usd_per_day: self.within(
                "max_usd_per_day",
                raw.max_usd_per_day,
                default.max_usd_per_day,
                (0.0, 1e6),
            )?,
            max_body_bytes: (body_mb * f64::from(1 << 20)) as usize,
            min_strikes: self.within(
                "min_strikes",
                raw.min_strikes,
                default.min_strikes,
                (1, 200),
            )?,
            max_strike_pct: self.percent(
                "max_strike_pct",
                raw.max_strike_pct,
                default.max_strike_pct,
            )?,
        })
    }

    fn scorer(&self, raw: &Spanned<toml::Value>) -> Result<ScorerOptions, ConfigError> {
        let wrong = |message: &str| (self.wrong)(&raw.span(), format!("scorer: {message}"));
        let table = match raw.get_ref() {
            toml::Value::String(name) if name == "deterministic" => {
                return Ok(ScorerOptions::Deterministic);
            }
            toml::Value::Table(table) => table,
            _ => {
                return Err(wrong(
                    "expected \"deterministic\", { command = [\"…\"] } or { url = \"…\" }",
                ));
            }
        };
        let known = ["command", "url", "header_env"];
        if let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(wrong(&format!("unknown key `{key}`")));
        }
        match (table.get("command"), table.get("url")) {
            (Some(command), None) => {
                let words = command.as_array().map(|words| {
                    let text = |word: &toml::Value| word.as_str().map(str::to_owned);
                    words.iter().map(text).collect::<Option<Vec<_>>>()
                });
                match words.flatten().as_deref() {
                    Some([program, args @ ..]) if !program.is_empty() => {
                        let mut words = vec![self.program(program)];
                        words.extend_from_slice(args);
                        Ok(ScorerOptions::Command(words))
                    }
                    _ => Err(wrong(
                        "command: expected a list of texts, the program first",
                    )),
                }
            }
            (None, Some(url)) => self.judge(url, table.get("header_env"), &wrong),
            _ => Err(wrong("give either command or url")),
        }
    }

    /// A path is meant from the file that it stands in; a bare name is looked for in `PATH`.
    fn program(&self, written: &str) -> String {
        if !written.contains(std::path::is_separator) {
            return written.to_owned();
        }
        // The program is started with this as its path, whatever the folder of the process.
        let path = self.folder.join(written);
        let path = std::path::absolute(&path).unwrap_or(path);
        path.to_string_lossy().into_owned()
    }

    fn judge(
        &self,
        url: &toml::Value,
        headers: Option<&toml::Value>,
        wrong: &dyn Fn(&str) -> ConfigError,
    ) -> Result<ScorerOptions, ConfigError> {
        let uri = url.as_str().and_then(|url| url.parse::<http::Uri>().ok());
        let is_http = |uri: &http::Uri| matches!(uri.scheme_str(), Some("http" | "https"));
        let has_credentials = |uri: &http::Uri| {
            uri.authority()
                .is_some_and(|authority| authority.as_str().contains('@'))
        };
        let Some(url) = uri.filter(|uri| is_http(uri) && !has_credentials(uri)) else {
            return Err(wrong(
                "url: expected a URL that starts with http:// or https:// and holds no credentials",
            ));
        };
        let mut found = HeaderMap::new();
        for (name, variable) in headers
            .and_then(toml::Value::as_table)
            .into_iter()
            .flatten()
        {
            let variable = variable.as_str().unwrap_or_default();
            let Some(value) = (self.env)(variable) else {
                return Err(wrong(&format!(
                    "header_env: the environment variable `{variable}` is not set"
                )));
            };
            let (Ok(name), Ok(mut value)) = (
                HeaderName::from_bytes(name.as_bytes()),
                HeaderValue::from_str(&value),
            ) else {
                return Err(wrong(&format!(
                    "header_env: `{name}` is not the name of a header, or `{variable}` does not hold the value of one"
                )));
            };
            value.set_sensitive(true);
            found.insert(name, value);
        }
        Ok(ScorerOptions::Http {
            url,
            headers: found,
        })
    }
}

#[cfg(test)]
mod tests {
    use secateur_canary::ScorerOptions;

    use crate::config::{Config, ConfigError};

    fn read(text: &str) -> Result<Config, ConfigError> {
        let env = |name: &str| (name == "SET").then(|| "value".to_owned());
        Config::read("f.toml", text, std::path::Path::new("."), &env)
    }

    #[test]
    fn a_table_switches_sampling_on_and_every_key_has_its_default() {
        let config =
            read("[workload.a]\nholdout_pct = 2.5\n[workload.a.canary]\n[workload.b]\n").unwrap();
        let a = &config.workloads["a"].canary;
        assert_eq!((a.options.sample_pct, a.holdout_pct), (5.0, 2.5));
        assert_eq!((a.options.floor, a.options.min_samples), (0.95, 30));
        let b = &config.workloads["b"].canary;
        assert_eq!((b.options.sample_pct, b.holdout_pct), (0.0, 0.0));
    }

    #[test]
    fn a_scorer_is_a_name_a_command_or_a_judge() {
        let scorer = |value: &str| {
            let config = read(&format!("[workload.a.canary]\nscorer = {value}\n")).unwrap();
            config.workloads["a"].canary.options.scorer.clone()
        };
        assert_eq!(scorer("\"deterministic\""), ScorerOptions::Deterministic);
        assert_eq!(
            scorer("{ command = [\"judge\", \"-q\"] }"),
            ScorerOptions::Command(vec!["judge".into(), "-q".into()])
        );
        // A path is meant from the file's folder.
        let command = |value: &str| match scorer(value) {
            ScorerOptions::Command(words) => words,
            other => panic!("{other:?}"),
        };
        let here = std::env::current_dir().unwrap();
        let beside = command("{ command = [\"./judge\", \"-q\"] }");
        assert_eq!(std::path::Path::new(&beside[0]), here.join("./judge"));
        assert_eq!(beside[1], "-q");
        assert_eq!(command("{ command = [\"/opt/judge\"] }"), ["/opt/judge"]);
        let judge =
            scorer("{ url = \"http://j/x?a=b\", header_env = { authorization = \"SET\" } }");
        assert!(matches!(&judge, ScorerOptions::Http { headers, .. } if headers.len() == 1));
        assert!(!format!("{judge:?}").contains("value"));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, line, part) in [
            ("[workload.a.canary]\nfloor = 1.5\n", 2, "floor"),
            (
                "[workload.a.canary]\n\nsample_pct = -1.0\n",
                3,
                "sample_pct",
            ),
            ("[workload.a.canary]\nconfidence = nan\n", 2, "confidence"),
            ("[workload.a.canary]\nwindow = 10\n", 2, "min_samples"),
            ("[workload.a.canary]\nscorer = \"best\"\n", 2, "scorer"),
            (
                "[workload.a.canary]\nscorer = { command = [] }\n",
                2,
                "command",
            ),
            (
                "[workload.a.canary]\nscorer = { url = \"ftp://x\" }\n",
                2,
                "url",
            ),
            (
                "[workload.a.canary]\nscorer = { url = \"http://x\", header_env = { a = \"NOT_SET\" } }\n",
                2,
                "NOT_SET",
            ),
            (
                "[workload.a.canary]\nscorer = { url = \"http://x\", header_env = { \"a b\" = \"SET\" } }\n",
                2,
                "a b",
            ),
            ("[workload.a.canary]\nflor = 0.9\n", 2, "flor"),
            (
                "[workload.a.canary]\nmax_usd_per_day = -1\n",
                2,
                "max_usd_per_day",
            ),
            ("[workload.a]\nholdout_pct = 101\n", 2, "holdout_pct"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.line, Some(line), "{error}");
            assert!(error.message.contains(part), "{error}");
        }
    }
}
