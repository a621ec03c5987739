//! The logs, their signals, and when a signal counts as recalled.

use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use serde::Deserialize;

/// One log with what its reader needs.
#[derive(Debug, Deserialize)]
pub(crate) struct Log {
    pub id: String,
    pub log: String,
    pub signals: Vec<Signal>,
}

/// One thing that a reader needs.
#[derive(Debug, Deserialize)]
pub(crate) struct Signal {
    pub importance: String,
    #[serde(default)]
    pub value: Option<String>,
    #[serde(default)]
    pub aliases: Vec<String>,
    #[serde(default)]
    pub file: Option<String>,
}

impl Signal {
    pub(crate) fn is_critical(&self) -> bool {
        self.importance == "critical"
    }

    /// A value like `1` is found in almost any text.
    pub(crate) fn is_trivial(&self) -> bool {
        self.value
            .as_deref()
            .is_some_and(|value| value.trim().len() < 4)
    }

    /// Recalled: the value or an alias is in the text; a signal without a value is its file's path.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        let value = self
            .value
            .as_deref()
            .map(str::trim)
            .filter(|value| !value.is_empty());
        let named = match value {
            Some(value) => text.contains(value),
            None => self.file.as_deref().is_some_and(|file| text.contains(file)),
        };
        named
            || self
                .aliases
                .iter()
                .any(|alias| !alias.trim().is_empty() && text.contains(alias.trim()))
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<Log>, String> {
    let file = std::fs::File::open(path).map_err(|reason| reason.to_string())?;
    let mut text = String::new();
    GzDecoder::new(file)
        .read_to_string(&mut text)
        .map_err(|reason| reason.to_string())?;
    text.lines()
        .enumerate()
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|reason| format!("line {}: {reason}", at + 1))
        })
        .collect()
}
