//! A workload: its upstreams, its policy, its schema.

use std::sync::Arc;
use std::time::Duration;

use secateur_canary::WatchedWorkload;
use secateur_core::policy::Policy;
use secateur_core::recall::Recall;

use super::Reader;
use crate::config::SummaryBudget;
use crate::config::canary::Lent;
use crate::config::error::ConfigError;
use crate::config::file::{RawRoute, RawSchema, RawWorkload};
use crate::config::policy_text::policy_text;
use crate::config::{Upstreams, Workload};
use crate::limits::TimeBudget;
use crate::mechanic::{ModelRoutes, OutputSchema};

impl Reader<'_> {
    pub(super) fn workload(
        &self,
        name: &str,
        mut raw: RawWorkload,
        defaults: &Upstreams,
    ) -> Result<Workload, ConfigError> {
        if let Some(file) = &raw.upstream.ca_file {
            return Err(self.wrong(
                &file.span(),
                format!(
                    "workload.{name}: ca_file holds for all workloads: put it under [upstream]"
                ),
            ));
        }
        if let Some(host) = raw.upstream.http2_hosts.first() {
            return Err(self.wrong(
                &host.span(),
                format!(
                    "workload.{name}: http2_hosts holds for all workloads: put it under [upstream]"
                ),
            ));
        }
        let lent = Lent {
            wrong: &|span, message| self.wrong(span, format!("workload.{name}: {message}")),
            env: self.env,
            folder: self.folder,
        };
        let capture = raw
            .capture
            .as_ref()
            .map(|raw| self.capture(raw))
            .transpose()?;
        let policy = self.policy(name, &raw)?.map(|mut policy| {
            if let Some(capture) = capture {
                policy.recall = match capture.recall {
                    true => Recall::Placeholder,
                    false => Recall::Report,
                };
            }
            Arc::new(policy)
        });
        let shared_name: Arc<str> = name.into();
        Ok(Workload {
            canary: Arc::new(WatchedWorkload {
                name: Arc::clone(&shared_name),
                holdout_pct: lent.percent("holdout_pct", raw.holdout_pct.take(), 0.0)?,
                options: Arc::new(lent.canary(raw.canary.take())?),
            }),
            name: shared_name,
            provider: raw.provider,
            upstreams: self.upstreams(&raw.upstream, defaults)?,
            policy,
            routes: raw.route.map(routes).map(Arc::new),
            schema: match &raw.expected_schema {
                Some(schema) => Some(Arc::new(self.schema(schema)?)),
                None => None,
            },
            budget: TimeBudget {
                base: Duration::from_millis(raw.budget_ms),
                per_mb: Duration::from_millis(raw.budget_ms_per_mb),
            },
            retry_original: raw.retry_original,
            capture,
            summary: SummaryBudget {
                wait: Duration::from_millis(raw.summary.wait_ms),
                timeout: Duration::from_millis(raw.summary.timeout_ms),
                calls_per_minute: raw.summary.calls_per_minute,
                max_tokens: raw.summary.max_tokens.max(1),
            },
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
