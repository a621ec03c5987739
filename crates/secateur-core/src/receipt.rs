//! What a request is going to cost, with the cut and without, at the provider's cache tiers.
//!
//! What is read from the cache and what is written to it follows from the rules of the model's cache
//! ([`crate::cost::cache`]): the report says how far ([`Cached`]), with the cut and without. A cut in what is cached
//! makes the provider write again what it would have read. With a cold cache nothing is read. Each following
//! request reads what this one wrote.
//!
//! **The default assumption:** the cache is warm if the body shows an earlier request ([`Cache::of`]). Only
//! the caller knows how long ago that was: past the model's time to live it says [`Cache::Cold`].

use std::borrow::Cow;

use serde::Serialize;

use crate::cost::cache::Bill;
use crate::cost::cache::{CacheHit, Cached, Covered};
use crate::cost::{PriceSource, Terms};
use crate::read::view::{PartId, PartKind, View};
use crate::report::Report;
use secateur_json::{Cursor, JsonError};

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
    /// Nothing of the request goes through a cache: the model has none, or the client marks nothing.
    Unused,
}

impl Cache {
    /// Warm if the body shows an earlier request.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        if report.cached.has_earlier {
            Self::Warm
        } else {
            Self::Cold
        }
    }
}

/// Input tokens of one version of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Side {
    /// All of them.
    pub tokens: usize,
    /// Of these, what a warm cache holds.
    pub cached: usize,
    /// Of these, what goes through the cache: it is read or written.
    pub marked: usize,
}

/// Input tokens of a request, before and after pruning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Before.
    pub before: Side,
    /// After.
    pub after: Side,
    /// Of the tokens after, what a warm cache held and now has to be written again because of a cut.
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
        cached: &Cached,
        basis: Basis,
        count: impl Fn(&mut dyn Iterator<Item = Cow<'_, str>>) -> usize,
    ) -> Self {
        // A part counts where it ends: one that an edit touches is not what it was.
        let between = |view: &View<'_>, from: usize, to: usize| {
            let parts = view.part_ids().filter(|&part| {
                let end = view.part(part).value.end as usize;
                match view.part(part).turn {
                    Some(_) => from < end && end <= to,
                    // Instructions come before all turns, wherever the body has them.
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
        let side = |view: &View<'_>, covered: Covered| {
            let read = between(view, 0, covered.read);
            let marked = covered.marked.max(covered.read);
            let written = between(view, covered.read, marked);
            let head = |bytes: usize| if bytes > 0 { schemas } else { 0 };
            Side {
                tokens: schemas + read + written + between(view, marked, usize::MAX),
                cached: head(covered.read) + read,
                marked: head(marked) + read + written,
            }
        };
        let before_side = side(before, cached.before);
        let (after_side, rewritten) = match after {
            Some(after) => (
                side(after, cached.after),
                between(after, cached.after.read, cached.unbroken_after),
            ),
            None => (side(before, cached.after), 0),
        };
        Self {
            before: before_side,
            after: after_side,
            rewritten,
            basis: if has_schemas || !is_whole {
                Basis::Estimate
            } else {
                basis
            },
        }
    }

    /// Estimates tokens from characters: `chars_per_token` of the body as a whole, in proportion to its bytes
    /// on either side of the places where a cache ends. What follows the turns in a body comes before them in a
    /// prompt, so a cache holds it too.
    #[must_use]
    pub fn by_ratio(report: &Report, chars_per_token: f64) -> Self {
        let tokens = |chars: usize| (chars as f64 / chars_per_token).ceil() as usize;
        let side = |chars: usize, bytes: usize, covered: Covered| {
            let all = tokens(chars);
            let share = |at: usize| {
                let at = if at > 0 {
                    at + report.bytes_after_turns
                } else {
                    0
                };
                (all as f64 * at.min(bytes) as f64 / bytes.max(1) as f64).round() as usize
            };
            let side = Side {
                tokens: all,
                cached: share(covered.read),
                marked: share(covered.marked.max(covered.read)),
            };
            (side, share(report.cached.unbroken_after))
        };
        let (size, cached) = (report.before, &report.cached);
        let (before, _) = side(size.chars, size.bytes, cached.before);
        let size = report.after;
        let (after, unbroken) = side(size.chars, size.bytes, cached.after);
        Self {
            before,
            after,
            rewritten: unbroken.saturating_sub(after.cached),
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

/// What a request is going to cost, pruned and unpruned. All costs are predictions in US dollars.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Receipt {
    /// Whether the token counts are exact.
    pub basis: Basis,
    /// What was assumed of the cache.
    pub cache: Cache,
    /// By which rule the request reads from it.
    pub hit: CacheHit,
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
        let is_warm = cache == Cache::Warm && report.cached.has_earlier;
        let is_used = terms
            .rules
            .is_cacheable(counts.after.marked.max(counts.before.marked));
        let bill = |side: &Side| bill(terms, side, is_warm);
        let usd = |bill: Bill| {
            let prices = terms.prices?;
            Some(bill.cost(terms.cache) * prices.input_usd / 1e6)
        };
        let next = |side: &Side| {
            let held = Side {
                cached: side.marked,
                ..*side
            };
            usd(self::bill(terms, &held, true))
        };
        let (before, after) = (bill(&counts.before), bill(&counts.after));
        Self {
            basis: counts.basis,
            cache: match cache {
                _ if !is_used => Cache::Unused,
                Cache::Warm if !is_warm => Cache::Cold,
                cache => cache,
            },
            hit: if is_warm || !is_used {
                report.cached.hit
            } else {
                CacheHit::FirstRequest
            },
            predicted_input_tokens_before: counts.before.tokens,
            predicted_input_tokens_after: counts.after.tokens,
            predicted_cached_tokens_before: before.read as usize,
            predicted_cached_tokens_after: after.read as usize,
            predicted_written_tokens_after: if terms.cache.write > 1.0 {
                after.written as usize
            } else {
                0
            },
            predicted_usd_without: usd(before),
            predicted_usd_with: usd(after),
            predicted_next_usd_without: next(&counts.before),
            predicted_next_usd_with: next(&counts.after),
            break_even_turns: break_even_turns(
                terms,
                if is_warm && is_used {
                    counts.rewritten
                } else {
                    0
                },
                counts.before.tokens.saturating_sub(counts.after.tokens),
            ),
            first_edit_at: report.first_edit_at,
            price_date: terms.table_date,
            prices: terms.source,
        }
    }
}

/// How one version of a request is billed.
#[must_use]
pub fn bill(terms: &Terms, side: &Side, is_warm: bool) -> Bill {
    let all = side.tokens as f64;
    if !terms.rules.is_cacheable(side.marked) {
        return Bill::of(0.0, 0.0, all);
    }
    let held = if is_warm { side.cached } else { 0 };
    let read = terms.rules.readable(held.min(side.tokens));
    Bill::of(read as f64, side.marked as f64, all)
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
