//! Why a request read less from the cache than the rules predicted.
//!
//! A cause outside of this process is accepted only if it is known: the client's change is seen in the blocks of two
//! incoming requests, a pause in their times. Anything else is our cut, or unknown, which counts as ours too.

use std::time::Duration;

use secateur_core::cost::cache::{BlockPlace, CacheKind, Life};
use secateur_core::receipt::{Counts, Receipt as Predicted};
use secateur_core::report::Report;

use super::{AuditEvent, CacheRead, ChangedPlace, ClientChange, MissCause};

/// No provider keeps an entry for longer unless it is asked to.
const LONGEST_CACHE_LIFE: Duration = Duration::from_secs(3600);

impl AuditEvent {
    /// What was read from the cache, by which rule, or why not.
    pub(super) fn cache_read(&self, predicted: Option<&Predicted>) -> Option<CacheRead> {
        let predicted = predicted?;
        let report = self.report_of_sent()?;
        let usage = self.usage.as_ref()?;
        let (input, billed) = (usage.input_tokens?, usage.cache_read_tokens?);
        let tokens = predicted.predicted_cached_tokens_after as u64;
        let ratio = input as f64 / predicted.predicted_input_tokens_after.max(1) as f64;
        let expected = (tokens as f64 * ratio) as u64;
        let is_miss = CacheRead::is_miss(expected, billed);
        Some(CacheRead {
            predicted: tokens,
            expected,
            billed,
            hit: predicted.hit,
            miss: is_miss.then(|| self.miss_cause(report, billed)),
        })
    }

    fn miss_cause(&self, report: &Report, billed: u64) -> MissCause {
        let counts = self.counts(report, self.model.as_deref());
        let change = self.explaining_change(&counts);
        let change = change.filter(|change| self.missed_alike(report, &counts, change));
        if let Some(change) = change {
            return match change.place {
                ChangedPlace::Block(place @ BlockPlace::Tool(_)) => MissCause::ToolsChanged(place),
                place => MissCause::ClientChange(place),
            };
        }
        if let Some((idle, kept)) = self.expired(&counts, billed) {
            return MissCause::Expired {
                idle_seconds: idle.as_secs(),
                kept_seconds: kept.as_secs(),
            };
        }
        if is_cut_anew(report) {
            return MissCause::OurCut;
        }
        MissCause::Unknown
    }

    /// The client's change, if it lies in what the cache held of the incoming body.
    pub(super) fn explaining_change(&self, counts: &Counts) -> Option<ClientChange> {
        let before = |change: &ClientChange| change.share_before * counts.before.tokens as f64;
        let change = self.recalled.change?;
        (before(&change) < counts.before.cached as f64).then_some(change)
    }

    /// Whether the request would have missed the same entries unpruned: the client's change comes before all cuts. Tools
    /// and instructions always do.
    pub(super) fn missed_alike(
        &self,
        report: &Report,
        counts: &Counts,
        change: &ClientChange,
    ) -> bool {
        match change.place {
            ChangedPlace::Model
            | ChangedPlace::Block(BlockPlace::Tool(_) | BlockPlace::Instructions(_)) => true,
            ChangedPlace::Block(BlockPlace::Message(..)) => {
                let before_change = change.share_before * counts.before.tokens as f64;
                let before_edit = self.share_before_edit(report) * counts.after.tokens as f64;
                before_change <= before_edit
            }
        }
    }

    /// How long the conversation was idle, and how long an entry is kept, if the first is longer and the bill agrees.
    pub(super) fn expired(&self, counts: &Counts, read: u64) -> Option<(Duration, Duration)> {
        let rules = self.asked_terms().rules;
        // Where it is not known what the client asked for, the longer time counts.
        let is_long = match self.recalled.life {
            Some(life) => life != Life::Usual,
            None => rules.kind == CacheKind::Marked,
        };
        let long = rules.long_ttl_seconds.filter(|_| is_long);
        let seconds = long.or(rules.ttl_seconds);
        let kept = seconds.map_or(LONGEST_CACHE_LIFE, |seconds| {
            Duration::from_secs(seconds.into())
        });
        let idle = self.recalled.idle.filter(|&idle| idle > kept)?;
        let input = self.usage.as_ref().and_then(|usage| usage.input_tokens);
        let ratio = input.unwrap_or(0) as f64 / counts.after.tokens.max(1) as f64;
        let expected = rules.readable(counts.after.cached) as f64 * ratio;
        let is_miss = CacheRead::is_miss(expected as u64, read);
        // That nothing was read shows nothing where the cut broke the cache: an automatic one may have been there
        // until a moment ago. Anthropic's times are exact.
        let is_certain = rules.kind == CacheKind::Marked
            || counts.rewritten == 0
            || idle > LONGEST_CACHE_LIFE.max(kept);
        (is_miss || read == 0 && is_certain).then_some((idle, kept))
    }
}

/// Whether this request cut something that earlier ones sent whole.
fn is_cut_anew(report: &Report) -> bool {
    report.cached.unbroken_after > report.cached.after.read
}
