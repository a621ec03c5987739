//! From sizes, prices and counts to a receipt.

use secateur_core::cost::Terms;
use secateur_core::cost::cache::CacheKind;
use secateur_core::models;
use secateur_core::receipt::{Cache, Counts, Receipt as Predicted};
use secateur_core::report::{CacheHit, Report};

use super::reconcile::{self, Billed, Reconciled, UncutCache, reconcile};
use super::{AuditEvent, Mechanic, Receipt};
use crate::usage::Usage;

impl AuditEvent {
    /// The event with its receipt, and with the model that answered where none was asked for by name.
    #[must_use]
    pub(crate) fn settle(mut self) -> Self {
        if self.model.is_none() {
            self.model = self.usage.as_ref().and_then(|usage| usage.model.clone());
        }
        self.receipt = self.price();
        self
    }

    /// What the request cost.
    fn price(&self) -> Receipt {
        let predicted = self.predicted();
        let mut receipt = Receipt {
            predicted,
            cache_read: self.cache_read(predicted.as_ref()),
            ..Receipt::default()
        };
        let Some((usage, input)) = self
            .usage
            .as_ref()
            .and_then(|usage| Some((usage, usage.input_tokens?)))
        else {
            return receipt;
        };
        if let (Some(before), Some(after)) = (self.chars_before, self.chars_after)
            && after > 0
        {
            let saved = (before as f64 - after as f64) * input as f64 / after as f64;
            receipt.tokens_saved = Some(saved as i64);
        }
        let asked = self.asked_terms();
        let paid = self.routed_terms.unwrap_or(asked).prices;
        if let Some(paid) = paid {
            receipt.billed_usd = usage.usd(&paid);
            let without = asked.prices.unwrap_or(paid);
            let known = self.known(predicted.as_ref(), usage);
            let billed = Billed {
                input,
                cache_read: usage.cache_read_tokens.unwrap_or(0),
                cache_write: usage.cache_write_tokens.unwrap_or(0),
            };
            let Reconciled {
                billed_input_usd,
                saved_usd,
                ..
            } = reconcile(&known, billed, &paid, &without);
            let output = usage.output_tokens.unwrap_or(0) as f64;
            let saved_output_usd = output * (without.output_usd - paid.output_usd) / 1e6;
            receipt.billed_input_usd = Some(billed_input_usd);
            receipt.saved_usd = Some(saved_usd + saved_output_usd);
        }
        receipt
    }

    /// The terms of the model that was asked for, the policy's own where it has some.
    pub(super) fn asked_terms(&self) -> Terms {
        match &self.report {
            Some(report) if report.terms.prices.is_some() => report.terms,
            _ => Terms::of(self.model.as_deref(), self.dialect),
        }
    }

    /// The report of a body that went out as it says.
    pub(super) fn report_of_sent(&self) -> Option<&Report> {
        let went_out = self.failed_open.is_none() && !self.retried_original;
        self.report
            .as_deref()
            .filter(|report| went_out && report.before.chars > 0)
    }

    /// Tokens of the body, at the ratio that was learned of the model that answers, else at the usual ratio of a
    /// model. What M8 adds is added, and cached with the rest.
    pub(super) fn counts(&self, report: &Report, model: Option<&str>) -> Counts {
        let answering = self.routed_to.as_deref().or(self.model.as_deref());
        let learned = self.recalled.chars_per_token;
        let learned = learned.filter(|_| model.is_some() && model == answering);
        let chars_per_token = learned.unwrap_or_else(|| models::chars_per_token(model));
        let mut counts = Counts::by_ratio(report, chars_per_token);
        let sent = self
            .chars_after
            .map_or(report.after.chars, |chars| chars as usize);
        let added = (sent.saturating_sub(report.after.chars) as f64 / chars_per_token) as usize;
        let after = &mut counts.after;
        after.tokens += added;
        for covered in [&mut after.cached, &mut after.marked] {
            if *covered > 0 {
                *covered += added;
            }
        }
        counts
    }

    /// What the input is going to cost, with the model that is really asked.
    fn predicted(&self) -> Option<Predicted> {
        let report = self.report_of_sent()?;
        let asked = self.asked_terms();
        let cache = Cache::of(report);
        let counts = self.counts(report, self.model.as_deref());
        let without = Predicted::on(&asked, report, &counts, cache);
        let (Some(model), Some(terms)) = (&self.routed_to, &self.routed_terms) else {
            return Some(without);
        };
        let counts = self.counts(report, Some(model));
        Some(Predicted {
            predicted_input_tokens_before: without.predicted_input_tokens_before,
            predicted_cached_tokens_before: without.predicted_cached_tokens_before,
            predicted_usd_without: without.predicted_usd_without,
            predicted_next_usd_without: without.predicted_next_usd_without,
            ..Predicted::on(terms, report, &counts, cache)
        })
    }

    /// What [`reconcile`] asks for; nothing where the request was not changed.
    fn known(&self, predicted: Option<&Predicted>, usage: &Usage) -> reconcile::Predicted {
        let changed = predicted.zip(self.report_of_sent());
        let Some((predicted, report)) = changed.filter(|_| !self.stack.is_empty()) else {
            return reconcile::Predicted::default();
        };
        let tokens_after = predicted.predicted_input_tokens_after as f64;
        reconcile::Predicted {
            tokens_before: predicted.predicted_input_tokens_before as f64,
            tokens_after,
            tokens_before_edit: tokens_after * self.share_before_edit(report),
            cache: self.uncut_cache(report, usage),
        }
    }

    /// The share of the body as sent that a prompt has before the first edit.
    pub(super) fn share_before_edit(&self, report: &Report) -> f64 {
        let Some(at) = report.first_edit_at.filter(|_| self.bytes_after > 0) else {
            return 1.0;
        };
        // M7 leaves alone what stands behind the turns, and a prompt has it before them.
        let is_m7 = self.fired(Mechanic::M7);
        let behind = if is_m7 { report.bytes_after_turns } else { 0 };
        ((at + behind) as f64 / self.bytes_after as f64).min(1.0)
    }

    fn uncut_cache(&self, report: &Report, usage: &Usage) -> UncutCache {
        let rules = self.asked_terms().rules;
        let read = usage.cache_read_tokens.unwrap_or(0);
        let is_used = match rules.kind {
            // Where nothing is marked, a gateway on the way may have added markers.
            CacheKind::Marked if report.cached.hit == CacheHit::NoMarker => {
                read + usage.cache_write_tokens.unwrap_or(0) > 0
            }
            CacheKind::Marked | CacheKind::Breakpoints => report.cached.covers_turns,
            CacheKind::Automatic => true,
            CacheKind::None => usage.cache_read_tokens.is_some_and(|read| read > 0),
        };
        // M1 and M8 move no text that is cached.
        let moves_text = self.fired(Mechanic::M7) || self.fired(Mechanic::M3);
        let counts = self.counts(report, self.model.as_deref());
        if !report.cached.has_earlier
            || !is_used
            || !moves_text
            || self.expired(&counts, read).is_some()
        {
            return UncutCache::AsRead;
        }
        let mut tokens = counts.before.cached as f64;
        if let Some(change) = self.explaining_change(&counts) {
            if self.missed_alike(report, &counts, &change) {
                return UncutCache::AsRead;
            }
            tokens = tokens.min(change.share_before * counts.before.tokens as f64);
        }
        UncutCache::Earlier { tokens, rules }
    }
}

#[cfg(test)]
mod tests;
