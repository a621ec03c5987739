//! What a request is going to cost, with the cut and without, at the provider's cache tiers.
//!
//! With a warm cache, what the request before already sent is read from the cache and the rest is written
//! to it; so a cut in what is cached makes all that stands behind it written again. With a cold cache
//! everything is written. Each following request reads what this one wrote.
//!
//! **The default assumption:** the cache is warm if the body shows an earlier request ([`Cache::of`]). Only
//! the caller knows how long ago that was: past the model's time to live it says [`Cache::Cold`].
//!
//! Clients are taken to mark the end of the request for caching where the provider wants a marker, as
//! agents do; a caller that saw none says [`Cache::Unused`]. Below the model's smallest cacheable prefix, input is billed as plain input.

use std::borrow::Cow;

use serde::Serialize;

use crate::json::{Cursor, JsonError};
use crate::models::{CacheRules, PriceSource, Terms};
use crate::report::{Cached, Report};
use crate::view::{PartId, PartKind, View};

/// Whether token counts are the provider's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// The provider's own vocabulary. The few tokens that it adds per message are not counted.
    Exact,
    /// Another vocabulary, or a ratio of characters to tokens; or the request holds media or tool schemas.
    Estimate,
}

/// Whether the provider still holds the request before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cache {
    /// It does not: this is the first request, or the other one is too long ago.
    Cold,
    /// It does.
    Warm,
    /// It is not asked to, where it wants to be asked: nothing is written or read.
    Unused,
}

impl Cache {
    /// Warm if the body shows an earlier request.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        match report.cached {
            Some(_) => Self::Warm,
            None => Self::Cold,
        }
    }
}

/// Input tokens of a request, as it came and as it goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// As it came.
    pub before: usize,
    /// Of these, what a warm cache holds.
    pub cached_before: usize,
    /// As it goes out.
    pub after: usize,
    /// Of these, what a warm cache holds.
    pub cached_after: usize,
    /// Of these, what a warm cache held and now has to be written again, because it stands behind a cut.
    pub rewritten: usize,
    /// How they were counted.
    pub basis: Basis,
}

impl Counts {
    /// Counts texts, arguments, results and tool schemas. `count` gives the tokens of some texts together.
    /// `after` is the view of the output, where it is not the input.
    #[must_use]
    pub fn of(
        before: &View<'_>,
        after: Option<&View<'_>>,
        cached: Option<Cached>,
        basis: Basis,
        count: impl Fn(&mut dyn Iterator<Item = Cow<'_, str>>) -> usize,
    ) -> Self {
        // A part counts where it ends: one that an edit touches is not what it was.
        let between = |view: &View<'_>, from: usize, to: usize| {
            let parts = view.part_ids().filter(|&part| {
                let end = view.part(part).value.end as usize;
                match view.part(part).turn {
                    Some(_) => from < end && end <= to,
                    // System texts stand before all turns, wherever the body has them.
                    None => from == 0 && to > 0,
                }
            });
            count(&mut parts.filter_map(|part| counted(view, part)))
        };
        let (schemas, has_schemas) = match schemas(before) {
            Some(text) => (count(&mut std::iter::once(Cow::Borrowed(text))), true),
            None => (0, false),
        };
        let is_whole = before
            .parts()
            .iter()
            .all(|part| !part.has_media && part.kind != PartKind::Media);
        let cached = cached.unwrap_or(Cached {
            before: 0,
            after: 0,
            new_after: 0,
        });
        let (old, new) = (
            between(before, 0, cached.before),
            between(before, cached.before, usize::MAX),
        );
        let (kept, rewritten, fresh) = match after {
            Some(after) => (
                between(after, 0, cached.after),
                between(after, cached.after, cached.new_after),
                between(after, cached.new_after, usize::MAX),
            ),
            None => (old, 0, new),
        };
        Self {
            before: schemas + old + new,
            cached_before: if cached.before > 0 { schemas + old } else { 0 },
            after: schemas + kept + rewritten + fresh,
            cached_after: if cached.after > 0 { schemas + kept } else { 0 },
            rewritten,
            basis: if has_schemas || !is_whole {
                Basis::Estimate
            } else {
                basis
            },
        }
    }

    /// Reckons tokens from characters: `chars_per_token` of the body as a whole, in proportion to its bytes
    /// on either side of the places where a cache ends. What stands behind the turns in a body stands before
    /// them in a prompt, so a cache holds it too.
    #[must_use]
    pub fn by_ratio(report: &Report, chars_per_token: f64) -> Self {
        let tokens = |chars: usize| (chars as f64 / chars_per_token).ceil() as usize;
        let share = |tokens: usize, bytes: usize, of: usize| {
            (tokens as f64 * bytes.min(of) as f64 / of.max(1) as f64).round() as usize
        };
        let (before, after) = (tokens(report.before.chars), tokens(report.after.chars));
        let bytes = (report.before.bytes, report.after.bytes);
        let cached = report.cached;
        let behind = report.bytes_behind_turns;
        let of_output = |at: usize| share(after, at + behind, bytes.1);
        Self {
            before,
            cached_before: cached
                .map_or(0, |cached| share(before, cached.before + behind, bytes.0)),
            after,
            cached_after: cached.map_or(0, |cached| of_output(cached.after)),
            rewritten: cached.map_or(0, |cached| {
                of_output(cached.new_after).saturating_sub(of_output(cached.after))
            }),
            basis: Basis::Estimate,
        }
    }
}

/// The text of a part that is billed as text.
fn counted<'a>(view: &View<'a>, part: PartId) -> Option<Cow<'a, str>> {
    match view.part(part).kind {
        PartKind::Call => Some(view.args(part)),
        PartKind::Text | PartKind::Result | PartKind::Thinking => Some(view.text(part)),
        PartKind::Media | PartKind::ServerTool | PartKind::Opaque => None,
    }
}

/// The tools' schemas as they are written.
fn schemas<'a>(view: &View<'a>) -> Option<&'a str> {
    // The body was read with its own limit, so this depth always does.
    let mut cursor = Cursor::over(view.body(), 1024);
    let mut found = None;
    let read = cursor.object(|cursor, key| {
        cursor.peek()?;
        let span = cursor.skip()?;
        if matches!(&*key.decode(view.body()), "tools" | "functions") {
            found = Some(span.of(view.body()));
        }
        Ok::<_, JsonError>(())
    });
    read.ok().and(found)
}

/// See the module. All costs are predictions in US dollars.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Receipt {
    /// Whether the token counts are exact.
    pub basis: Basis,
    /// What was assumed of the cache.
    pub cache: Cache,
    /// Input tokens without the cut.
    pub predicted_input_tokens_before: usize,
    /// Input tokens with it.
    pub predicted_input_tokens_after: usize,
    /// Of the tokens without the cut, those read from the cache.
    pub predicted_cached_tokens_before: usize,
    /// Of the tokens with it, those read from the cache.
    pub predicted_cached_tokens_after: usize,
    /// Of the tokens with it, those written to the cache, where the provider bills writes apart.
    pub predicted_written_tokens_after: usize,
    /// What the input of this request costs without the cut; `None`: no price is known.
    pub predicted_usd_without: Option<f64>,
    /// What it costs with it.
    pub predicted_usd_with: Option<f64>,
    /// What these tokens cost in each following request without the cut: they are read from the cache.
    pub predicted_next_usd_without: Option<f64>,
    /// What they cost with it.
    pub predicted_next_usd_with: Option<f64>,
    /// How many further requests it takes until the cut has paid for what it made to be written again:
    /// (write − read) / read × tokens rewritten / tokens removed. `None` where nothing was removed, or
    /// where the cache is free to read: then it never does.
    pub break_even_turns: Option<f64>,
    /// The byte of the first edit.
    pub first_edit_at: Option<usize>,
    /// The date of the built-in table of prices.
    pub price_date: &'static str,
    /// Where the prices come from.
    pub prices: PriceSource,
}

impl Receipt {
    /// The receipt of a request.
    #[must_use]
    pub fn of(report: &Report, counts: &Counts, cache: Cache) -> Self {
        Self::on(&report.terms, report, counts, cache)
    }

    /// The receipt of a request on the terms of another model than the body names.
    #[must_use]
    pub fn on(terms: &Terms, report: &Report, counts: &Counts, cache: Cache) -> Self {
        let is_warm = cache == Cache::Warm && report.cached.is_some();
        let is_used = cache != Cache::Unused;
        let held = |cached: usize| if is_warm { cached } else { 0 };
        let cached_before = hit(&terms.rules, counts.before, held(counts.cached_before));
        let cached_after = hit(&terms.rules, counts.after, held(counts.cached_after));
        let usd = |units: f64| {
            let prices = terms.prices?;
            Some(units * prices.input_usd / 1e6)
        };
        let this_usd = |tokens: usize, cached: usize| {
            let plain = tokens as f64;
            usd(if is_used {
                units(terms, tokens, cached)
            } else {
                plain
            })
        };
        let next_usd = |tokens: usize| this_usd(tokens, hit(&terms.rules, tokens, tokens));
        Self {
            basis: counts.basis,
            cache: match cache {
                Cache::Warm if !is_warm => Cache::Cold,
                cache => cache,
            },
            predicted_input_tokens_before: counts.before,
            predicted_input_tokens_after: counts.after,
            predicted_cached_tokens_before: cached_before,
            predicted_cached_tokens_after: cached_after,
            predicted_written_tokens_after: if is_used && charges_for_writes(terms, counts.after) {
                counts.after - cached_after
            } else {
                0
            },
            predicted_usd_without: this_usd(counts.before, cached_before),
            predicted_usd_with: this_usd(counts.after, cached_after),
            predicted_next_usd_without: next_usd(counts.before),
            predicted_next_usd_with: next_usd(counts.after),
            break_even_turns: break_even_turns(
                terms,
                held(counts.rewritten),
                counts.before.saturating_sub(counts.after),
            ),
            first_edit_at: report.first_edit_at,
            price_date: terms.table_date,
            prices: terms.source,
        }
    }
}

/// Whether tokens that a request puts into the cache are counted and billed apart from plain input.
fn charges_for_writes(terms: &Terms, tokens: usize) -> bool {
    is_cacheable(&terms.rules, tokens) && terms.cache.write > 1.0
}

fn is_cacheable(rules: &CacheRules, tokens: usize) -> bool {
    tokens >= rules.min_tokens.unwrap_or(0)
}

/// What is really read from the cache, of `tokens` of which it could hold `cached`.
#[must_use]
pub fn hit(rules: &CacheRules, tokens: usize, cached: usize) -> usize {
    let cached = cached.min(tokens);
    if !is_cacheable(rules, cached) {
        return 0;
    }
    let step = rules.step_tokens.unwrap_or(1).max(1);
    cached - cached % step
}

/// What a request costs, in input tokens.
fn units(terms: &Terms, tokens: usize, cached: usize) -> f64 {
    let write = if is_cacheable(&terms.rules, tokens) {
        terms.cache.write
    } else {
        1.0
    };
    terms.cache.read * cached as f64 + write * (tokens - cached) as f64
}

/// See [`Receipt::break_even_turns`].
fn break_even_turns(terms: &Terms, rewritten: usize, removed: usize) -> Option<f64> {
    let (write, read) = (terms.cache.write, terms.cache.read);
    if removed == 0 {
        return None;
    }
    if rewritten == 0 || write <= read {
        return Some(0.0);
    }
    (read > 0.0).then(|| (write - read) / read * rewritten as f64 / removed as f64)
}

#[cfg(test)]
mod tests;
