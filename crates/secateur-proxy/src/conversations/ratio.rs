//! How many characters of a body a provider counts as one token.
//!
//! The table of models has one ratio for each family, measured on English code. Real ones differ by a third either
//! way, by language and vocabulary. So the ratio is learned from the bills of earlier requests, as an exponentially
//! weighted mean: of the conversation, else of the model. Only the receipt's prediction uses it; what is cut never
//! depends on it.

use crate::audit::AuditEvent;

/// The weight of a new bill in the mean of its conversation: the next request is this one and a little more.
const CONVERSATION_WEIGHT: f64 = 0.5;
/// Its weight in the mean of its model.
const MODEL_WEIGHT: f64 = 0.1;
/// Shorter inputs say little: what a provider adds to each request outweighs the text.
const MIN_TOKENS: u64 = 256;
/// Ratios outside of this come from a bill that counts something else, or from media.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.5..=16.0;

/// The ratio of one bill.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample(f64);

impl Sample {
    pub(super) fn of(event: &AuditEvent) -> Option<Self> {
        let chars = event.chars_after?;
        let usage = event.usage.as_ref()?;
        let tokens = usage.input_tokens.filter(|&tokens| tokens >= MIN_TOKENS)?;
        let ratio = chars as f64 / tokens as f64;
        PLAUSIBLE.contains(&ratio).then_some(Self(ratio))
    }
}

/// An exponentially weighted mean.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LearnedRatio(Option<f64>);

impl LearnedRatio {
    pub(super) fn get(self) -> Option<f64> {
        self.0
    }

    fn add(&mut self, sample: Sample, weight: f64) {
        let mean = self.0.unwrap_or(sample.0);
        self.0 = Some(mean + (sample.0 - mean) * weight);
    }

    pub(super) fn add_of_conversation(&mut self, sample: Sample) {
        self.add(sample, CONVERSATION_WEIGHT);
    }

    pub(super) fn add_of_model(&mut self, sample: Sample) {
        self.add(sample, MODEL_WEIGHT);
    }
}
