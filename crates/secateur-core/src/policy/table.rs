//! The settings of one policy file as a TOML table: read, checked, and merged with others.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::words::{did_you_mean, meant, plain_words};
use super::{CacheOptions, Cadence, M7, ModelOverride};
use crate::cadence::rounds::Rounds;
use crate::output::recall::Recall;
use crate::output::thinking_escape::ThinkingBinding;
use crate::strategy::{self, LooseWhitespace, Options};

/// What is wrong with a policy, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", hint.as_ref().map(|hint| format!("\n{hint}")).unwrap_or_default())]
pub struct PolicyError {
    /// What is wrong, with line and column where it comes from a file.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// What a policy file holds besides the strategies' tables, which are at the top level, by id.
/// Both are read from the same text, so that errors keep their line.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Head {
    pub(super) preset: Option<String>,
    pub(super) cadence: Cadence,
    pub(super) thinking_binding: ThinkingBinding,
    pub(super) recall: Recall,
    pub(super) context_tokens: usize,
    pub(super) models: BTreeMap<String, ModelOverride>,
    pub(super) m7: M7,
    pub(super) m3: LooseWhitespace,
    pub(super) cache: CacheOptions,
    pub(super) rounds: Rounds,
}

const TOP_KEYS: [&str; 10] = [
    "preset",
    "cadence",
    "thinking_binding",
    "recall",
    "context_tokens",
    "models",
    "m7",
    "m3",
    "cache",
    "rounds",
];

/// The settings of one text, checked but for names of presets, strategies and prices.
pub(super) fn read(text: &str) -> Result<Table, PolicyError> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| PolicyError {
        message: error.to_string().trim_end().to_owned(),
        hint: None,
    })?;
    check_keys(&table, text)?;
    toml::from_str::<Head>(text).map_err(|error| explain(&error))?;
    toml::from_str::<Options>(text).map_err(|error| explain(&error))?;
    Ok(table)
}

/// Top-level keys are checked by hand, because two structs share them.
pub(super) fn check_keys(table: &Table, text: &str) -> Result<(), PolicyError> {
    let known = || {
        TOP_KEYS
            .into_iter()
            .chain(strategy::ALL.iter().map(|facts| facts.id.0))
    };
    for key in table.keys() {
        if !known().any(|name| name == key) {
            let line = text
                .lines()
                .position(|line| line_names(line, key))
                .map_or(0, |at| at + 1);
            return Err(PolicyError {
                message: format!("unknown key `{key}` on line {line}"),
                hint: Some(did_you_mean(key, known())),
            });
        }
    }
    Ok(())
}

/// Whether a line of TOML assigns or opens this top-level key.
fn line_names(line: &str, key: &str) -> bool {
    let line = line.trim_start().trim_start_matches('[').trim_start();
    let rest = line
        .strip_prefix(key)
        .or_else(|| line.strip_prefix('"')?.strip_prefix(key)?.strip_prefix('"'));
    rest.is_some_and(|rest| rest.trim_start().starts_with(['=', ']', '.']))
}

/// A TOML error in words for people.
pub(super) fn explain(error: &toml::de::Error) -> PolicyError {
    let message = error.to_string().trim_end().to_owned();
    let plain = plain_words(error.message());
    PolicyError {
        message: message.replace(error.message(), &plain),
        hint: meant(error.message()),
    }
}

/// Adds the settings of `over`; where both have a key, those of `over` win.
pub(super) fn merge(base: &mut Table, over: Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(base)), Value::Table(over)) => merge(base, over),
            (_, value) => drop(base.insert(key, value)),
        }
    }
}
