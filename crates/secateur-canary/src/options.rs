//! What the canary of a workload may do and when it switches a stack off.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Uri};

/// Who compares two answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ScorerOptions {
    /// Tool calls, JSON shape and text similarity, computed here.
    #[default]
    Deterministic,
    /// A program and its arguments: JSON on standard input, a number on standard output. A relative path is
    /// already beside the configuration, a bare name is looked for in `PATH`.
    Command(Vec<String>),
    /// A service that takes the same JSON by POST and answers with a number or `{"score": …}`.
    Http {
        /// Where it is.
        url: Uri,
        /// Headers to send. Values that are secret are marked as sensitive.
        headers: HeaderMap,
    },
}

impl ScorerOptions {
    /// The program that is not there, where there should be one.
    #[must_use]
    pub fn missing_program(&self) -> Option<&str> {
        let Self::Command(words) = self else {
            return None;
        };
        let program = words.first()?;
        let is_found = if program.contains(std::path::is_separator) {
            is_program(Path::new(program))
        } else {
            let folders = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&folders).any(|folder| is_program(&folder.join(program)))
        };
        (!is_found).then_some(program)
    }
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let may_run =
        |found: std::fs::Metadata| found.is_file() && found.permissions().mode() & 0o111 != 0;
    path.metadata().is_ok_and(may_run)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file() || path.with_extension("exe").is_file()
}

/// What the canary of a workload may do. The defaults are those of `[workload.NAME.canary]`, with no sampling.
#[derive(Clone, Debug, PartialEq)]
pub struct CanaryOptions {
    /// Share of the changed requests that is also sent unchanged, in percent. Default 0 without a
    /// `canary` table, 5 with one.
    pub sample_pct: f64,
    /// Share of the sampled requests whose original is sent twice, to learn how far two answers to
    /// the same request differ, in percent. Default 0.
    pub control_pct: f64,
    /// A mean score below this switches the stack off. Default 0.95.
    pub floor: f64,
    /// Scores that it takes at least. Default 30.
    pub min_samples: u32,
    /// The newest scores that count. Default 200.
    pub window: u32,
    /// Older scores do not count. Default 168 hours.
    pub window_age: Duration,
    /// How sure it must be that the mean is under the floor, 0 to below 1; 0: the mean alone decides.
    /// Default 0.99.
    pub confidence: f64,
    /// Who compares. Default deterministic.
    pub scorer: ScorerOptions,
    /// How long a command or a judge may take. Default 30 s.
    pub scorer_timeout: Duration,
    /// Shadow calls at a time. Default 4.
    pub max_concurrent: usize,
    /// Shadow calls in an hour; 0: none. Default 120.
    pub max_calls_per_hour: u32,
    /// Tokens of shadow calls in a day, input and output; 0: none. Default 5,000,000.
    pub max_tokens_per_day: u64,
    /// US dollars of shadow calls in a day, at the prices of the model and by the provider's own counts;
    /// 0: none. Models without known prices are bounded by tokens alone. Default 10.
    pub max_usd_per_day: f64,
    /// Larger originals are not sampled, in bytes. Default 4 MiB.
    pub max_body_bytes: usize,
    /// Rejected bodies that it takes at least to switch a stack off. Default 10.
    pub min_strikes: u32,
    /// A larger share of rejected bodies, of the last 200 changed ones, switches the stack off, in
    /// percent. Default 5.
    pub max_strike_pct: f64,
}

impl CanaryOptions {
    /// Without a table in the configuration.
    pub const DEFAULT: Self = Self {
        sample_pct: 0.0,
        control_pct: 0.0,
        floor: 0.95,
        min_samples: 30,
        window: 200,
        window_age: Duration::from_secs(168 * 3600),
        confidence: 0.99,
        scorer: ScorerOptions::Deterministic,
        scorer_timeout: Duration::from_secs(30),
        max_concurrent: 4,
        max_calls_per_hour: 120,
        max_tokens_per_day: 5_000_000,
        max_usd_per_day: 10.0,
        max_body_bytes: 4 << 20,
        min_strikes: 10,
        max_strike_pct: 5.0,
    };
}

impl Default for CanaryOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A workload as the canary sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchedWorkload {
    /// Its name.
    pub name: Arc<str>,
    /// Share of the sessions that goes unchanged for comparison, in percent.
    pub holdout_pct: f64,
    /// What its canary may do.
    pub options: Arc<CanaryOptions>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_program_that_is_not_there_is_found_out() {
        let missing = |program: &str| {
            let scorer = ScorerOptions::Command(vec![program.to_owned(), "-q".to_owned()]);
            scorer.missing_program().is_some()
        };
        assert!(missing("/nope/judge") && missing("no-program-is-called-so") && missing("/etc"));
        // There, and not to be run.
        assert!(missing("/etc/passwd"));
        assert!(!missing("sh") && !missing("/bin/sh"));
        assert_eq!(ScorerOptions::Deterministic.missing_program(), None);
    }
}
