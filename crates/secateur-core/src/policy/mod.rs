//! What a workload wants: one TOML file, or a preset, or both.
//!
//! A preset is a policy file that ships with the crate. Any policy file, a preset's too, may name a preset and
//! override any key of it.

mod model_override;
mod nearest;
mod preset;
mod resolve;
mod table;
mod template;
mod words;

pub use model_override::ModelOverride;
pub use preset::{PRESETS, Preset};
pub use table::PolicyError;
pub use template::{template, template_of};
pub use words::{did_you_mean, meant, plain_words};

use std::collections::BTreeMap;

use crate::cadence::rounds::Rounds;
use crate::options::options;
use crate::output::recall::Recall;
use crate::output::thinking_escape::ThinkingBinding;
use crate::strategy::{LooseWhitespace, Options, Strategy};

/// When new decisions are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cadence {
    /// Every request is planned from scratch.
    #[default]
    EveryRequest,
    /// New cuts are taken in rounds, when they pay; between rounds nothing that was sent changes.
    Rounds,
}

options! {
    /// Gate and strategies of M7.
    pub struct M7 {
        /// Whether the workload opted in; presets switch it on.
        enabled: bool = false,
        /// Eligible above this many messages.
        min_messages: usize = 12,
        /// Eligible above this many characters of body.
        min_body_chars: usize = 32_768,
        /// The strategies to run, in this order.
        strategies: Vec<String> = Vec::new(),
    }
}

options! {
    /// What the engine does for the provider's cache besides keeping it.
    pub struct CacheOptions {
        /// Marks conversations for Anthropic's cache whose client marks nothing.
        mark: bool = false,
    }
}

/// A resolved policy.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Policy {
    /// When new decisions are taken.
    pub cadence: Cadence,
    /// What to do where a cut makes thinking invalid that an open tool exchange needs.
    pub thinking_binding: ThinkingBinding,
    /// Where ids are given out by which cut text can be asked for.
    pub recall: Recall,
    /// The window of models that neither the policy nor the built-in table knows, in tokens; 0 is
    /// 200,000.
    pub context_tokens: usize,
    /// What the policy says of single models, by their name on the wire.
    pub models: BTreeMap<String, ModelOverride>,
    /// Context pruning.
    pub m7: M7,
    /// Cache markers.
    pub cache: CacheOptions,
    /// When a round is taken.
    pub rounds: Rounds,
    /// Compress.
    pub m3: LooseWhitespace,
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

    /// Keys that are set, accepted and have no effect.
    #[must_use]
    pub fn ignored_keys(&self) -> Vec<&'static str> {
        match self.m3.auto_compress_enabled {
            Some(_) => vec!["m3.auto_compress_enabled"],
            None => Vec::new(),
        }
    }
}
