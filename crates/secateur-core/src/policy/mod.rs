//! What a workload wants: one TOML file, or a preset, or both.
//!
//! A preset is a policy file that ships with the crate. A user's file may name one and override any
//! key of it.

mod file;
mod nearest;

pub use file::PolicyError;

use crate::strategy::{Options, Strategy};

/// When new decisions are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cadence {
    /// Every request is planned from scratch.
    #[default]
    EveryRequest,
}

/// Gate and strategies of M7.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct M7 {
    /// Whether the workload opted in. Default false; presets switch it on.
    pub enabled: bool,
    /// Eligible above this many messages. Default 12.
    pub min_messages: usize,
    /// Eligible above this many characters of body. Default 32768.
    pub min_body_chars: usize,
    /// The strategies to run, in this order.
    pub strategies: Vec<String>,
}

impl Default for M7 {
    fn default() -> Self {
        Self {
            enabled: false,
            min_messages: 12,
            min_body_chars: 32_768,
            strategies: Vec::new(),
        }
    }
}

/// A resolved policy.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Policy {
    /// When new decisions are taken.
    pub cadence: Cadence,
    /// Context pruning.
    pub m7: M7,
    /// The options of every strategy.
    #[serde(flatten)]
    pub options: Options,
}

impl Policy {
    /// The strategies of M7, in order.
    pub fn strategies(&self) -> Vec<&dyn Strategy> {
        let ids = self.m7.strategies.iter();
        ids.filter_map(|id| self.options.strategy(id)).collect()
    }
}

/// A policy that ships with the crate.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub toml: &'static str,
}

impl Preset {
    /// What it is for: the comment at the top of its file.
    #[must_use]
    pub fn about(&self) -> String {
        let lines = self.toml.lines().map_while(|line| line.strip_prefix('#'));
        lines.map(str::trim).collect::<Vec<_>>().join(" ")
    }
}

/// All presets, in the order in which they are listed to people.
pub const PRESETS: &[Preset] = &[Preset {
    name: "tessera",
    toml: include_str!("../../presets/tessera.toml"),
}];

/// A value in the policy's own syntax.
pub(crate) fn spell(value: &impl serde::Serialize) -> String {
    let mut out = String::new();
    // Everything in an options struct can be written as TOML.
    match serde::Serialize::serialize(value, toml::ser::ValueSerializer::new(&mut out)) {
        Ok(_) => out,
        Err(_) => String::new(),
    }
}
