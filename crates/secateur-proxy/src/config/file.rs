//! The file as it is written. Every key has its default here; unknown keys are errors.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::storage::{RawCapture, RawLedger, RawPortal};

/// Who serves models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// OpenAI, and whatever speaks like it.
    Openai,
    /// Anthropic.
    Anthropic,
    /// Google's Gemini API.
    Gemini,
    /// Amazon Bedrock.
    Bedrock,
    /// Google's Vertex AI.
    Vertex,
    /// Google's Gemini Code Assist.
    CodeAssist,
    /// Azure OpenAI.
    Azure,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Openai,
        Self::Anthropic,
        Self::Gemini,
        Self::Bedrock,
        Self::Vertex,
        Self::CodeAssist,
        Self::Azure,
    ];

    /// Its name in configuration, logs and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Bedrock => "bedrock",
            Self::Vertex => "vertex",
            Self::CodeAssist => "code_assist",
            Self::Azure => "azure",
        }
    }

    /// Where its requests go unless the configuration says otherwise; `None`: nowhere. The hosts of clouds are the
    /// customer's own.
    pub(super) fn built_in_base(self) -> Option<&'static str> {
        match self {
            Self::Openai => Some("https://api.openai.com"),
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::Gemini => Some("https://generativelanguage.googleapis.com"),
            Self::Bedrock | Self::Vertex | Self::CodeAssist | Self::Azure => None,
        }
    }
}

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One JSON object a line.
    #[default]
    Json,
    /// For people.
    Pretty,
    /// Nothing.
    Off,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct File {
    pub(super) listen: Option<Spanned<String>>,
    pub(super) log: Option<LogFormat>,
    pub(super) max_body_mb: Option<Spanned<usize>>,
    pub(super) max_buffered_mb: Option<Spanned<usize>>,
    pub(super) max_connections: Option<Spanned<usize>>,
    pub(super) max_connections_per_address: Option<Spanned<usize>>,
    pub(super) upstream: RawUpstreams,
    pub(super) timeouts: RawTimeouts,
    pub(super) workload: BTreeMap<Spanned<String>, RawWorkload>,
    pub(super) summaries: RawSummaries,
    pub(super) key: Vec<RawKey>,
    pub(super) otlp: Option<RawOtlp>,
    pub(super) ledger: RawLedger,
    pub(super) portal: RawPortal,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawUpstreams {
    pub(super) openai: Option<Spanned<String>>,
    pub(super) anthropic: Option<Spanned<String>>,
    pub(super) gemini: Option<Spanned<String>>,
    pub(super) bedrock: Option<Spanned<String>>,
    pub(super) vertex: Option<Spanned<String>>,
    pub(super) code_assist: Option<Spanned<String>>,
    pub(super) azure: Option<Spanned<String>>,
    /// For all upstreams; not in a workload.
    pub(super) ca_file: Option<Spanned<PathBuf>>,
    /// For all upstreams; not in a workload.
    pub(super) http2_hosts: Vec<Spanned<String>>,
}

impl RawUpstreams {
    pub(super) fn of(&self, provider: Provider) -> Option<&Spanned<String>> {
        let url = match provider {
            Provider::Openai => &self.openai,
            Provider::Anthropic => &self.anthropic,
            Provider::Gemini => &self.gemini,
            Provider::Bedrock => &self.bedrock,
            Provider::Vertex => &self.vertex,
            Provider::CodeAssist => &self.code_assist,
            Provider::Azure => &self.azure,
        };
        url.as_ref()
    }
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawTimeouts {
    pub(super) connect_s: f64,
    pub(super) response_head_s: f64,
    pub(super) response_idle_s: f64,
    pub(super) request_head_s: f64,
    pub(super) request_idle_s: f64,
    pub(super) response_write_s: f64,
    pub(super) min_bytes_per_s: u64,
    pub(super) shutdown_s: f64,
}

impl Default for RawTimeouts {
    fn default() -> Self {
        Self {
            connect_s: 10.0,
            // An answer that is not streamed may take minutes to think about.
            response_head_s: 600.0,
            response_idle_s: 300.0,
            request_head_s: 10.0,
            request_idle_s: 60.0,
            response_write_s: 60.0,
            min_bytes_per_s: 4096,
            shutdown_s: 120.0,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawWorkload {
    pub(super) provider: Option<Provider>,
    pub(super) upstream: RawUpstreams,
    pub(super) preset: Option<Spanned<String>>,
    pub(super) policy_file: Option<Spanned<PathBuf>>,
    pub(super) policy: Option<Spanned<toml::Table>>,
    pub(super) budget_ms: u64,
    pub(super) budget_ms_per_mb: u64,
    pub(super) retry_original: bool,
    pub(super) holdout_pct: Option<Spanned<f64>>,
    pub(super) canary: Option<super::canary::RawCanary>,
    pub(super) capture: Option<RawCapture>,
    pub(super) route: Option<RawRoute>,
    pub(super) expected_schema: Option<RawSchema>,
    pub(super) summary: RawSummary,
}

impl Default for RawWorkload {
    fn default() -> Self {
        Self {
            provider: None,
            upstream: RawUpstreams::default(),
            preset: None,
            policy_file: None,
            policy: None,
            budget_ms: 500,
            budget_ms_per_mb: 100,
            retry_original: true,
            holdout_pct: None,
            canary: None,
            capture: None,
            route: None,
            expected_schema: None,
            summary: RawSummary::default(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawSummary {
    pub(super) wait_ms: u64,
    pub(super) timeout_ms: u64,
    pub(super) calls_per_minute: u32,
    pub(super) max_tokens: u32,
}

impl Default for RawSummary {
    fn default() -> Self {
        Self {
            wait_ms: 10_000,
            timeout_ms: 30_000,
            calls_per_minute: 30,
            max_tokens: 1024,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawSummaries {
    pub(super) folder: Option<PathBuf>,
    pub(super) max_mb: Option<Spanned<usize>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRoute {
    pub(super) models: BTreeMap<String, String>,
    #[serde(default = "default_route_chars")]
    pub(super) max_body_chars: usize,
}

fn default_route_chars() -> usize {
    8_000
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSchema {
    pub(super) name: Spanned<String>,
    pub(super) schema: Option<Spanned<String>>,
    pub(super) schema_file: Option<Spanned<PathBuf>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawKey {
    pub(super) name: Spanned<String>,
    pub(super) sha256: Spanned<String>,
    #[serde(default)]
    pub(super) workload: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) credential_env: BTreeMap<Provider, Spanned<String>>,
    #[serde(default)]
    pub(super) models: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    pub(super) paths: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) requests_per_minute: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawOtlp {
    pub(super) endpoint: Spanned<String>,
    #[serde(default)]
    pub(super) header_env: BTreeMap<String, Spanned<String>>,
}
