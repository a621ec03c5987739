//! What a cut really saved, by the provider's own counts: the bill as it came against the bill that would
//! have come had nothing been cut. Each request stands for itself, so savings are counted once.
//!
//! The bill without cuts has `before` tokens, at the ratio of the provider's count to the predicted one.
//! Of these, what the provider would have had in its cache costs the price of a cache read; the rest
//! costs what this request really paid for input that was not read from the cache. What would have been
//! in the cache:
//!
//! 1. The session's last request is known (`warm_tokens`): as many tokens as it had uncut.
//! 2. Else, more was read than stands before the first edit: the cache knows the cut text, as between two
//!    rounds, so what was cut away would have been in it too.
//! 3. Else, something was read: the cut may have broken the cache behind it. All of the input counts as
//!    cached, which is the worst case for the cut.
//! 4. Else nothing was read, and nothing counts as cached.

/// What was known before sending.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Predicted {
    /// Input tokens of the body as it came.
    pub tokens_before: f64,
    /// Input tokens of the body as sent.
    pub tokens_after: f64,
    /// Of the body as sent, input tokens before the first edit; all of them where nothing was edited.
    pub tokens_before_edit: f64,
    /// See [`crate::audit::AuditEvent::warm_tokens`].
    pub warm_tokens: Option<u64>,
}

impl Predicted {
    /// Tokens before the byte of the first edit, where only their number in the whole body is known.
    #[must_use]
    pub fn tokens_up_to(tokens_after: f64, first_edit_at: Option<u64>, bytes_after: u64) -> f64 {
        match first_edit_at {
            Some(at) if bytes_after > 0 => tokens_after * (at as f64 / bytes_after as f64).min(1.0),
            _ => tokens_after,
        }
    }
}

/// What the provider counted. `input` includes what was read from and written to the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Billed {
    /// All input tokens.
    pub input: u64,
    /// Of these, read from the cache.
    pub cache_read: u64,
    /// Of these, written to the cache.
    pub cache_write: u64,
}

/// Prices in US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputPrices {
    /// Input that is neither read nor written.
    pub input_usd: f64,
    /// Read from the cache.
    pub cache_read_usd: f64,
    /// Written to the cache.
    pub cache_write_usd: f64,
}

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reconciled {
    /// Input tokens that were not sent.
    pub tokens_saved: i64,
    /// What the input cost.
    pub actual_input_usd: f64,
    /// What it would have cost uncut.
    pub input_usd_without: f64,
    /// The difference; negative where the cut cost more than it saved.
    pub saved_usd: f64,
}

/// Reconciles one request. A request that was not cut saved nothing.
#[must_use]
pub fn reconcile(predicted: &Predicted, billed: Billed, prices: &InputPrices) -> Reconciled {
    let per_token = |usd: f64| usd / 1e6;
    let input = billed.input as f64;
    let read = (billed.cache_read as f64).min(input);
    let written = (billed.cache_write as f64).min(input - read);
    let plain = input - read - written;
    let uncached_usd =
        plain * per_token(prices.input_usd) + written * per_token(prices.cache_write_usd);
    let read_usd = per_token(prices.cache_read_usd);
    let actual = uncached_usd + read * read_usd;
    let was_cut = predicted.tokens_after > 0.0 && predicted.tokens_before > predicted.tokens_after;
    if !was_cut {
        return Reconciled {
            actual_input_usd: actual,
            input_usd_without: actual,
            ..Reconciled::default()
        };
    }
    // The provider counts in its own way; the ratio carries over.
    let ratio = input / predicted.tokens_after;
    let before = predicted.tokens_before * ratio;
    let cut = before - input;
    let before_edit = predicted.tokens_before_edit * ratio;
    let cached = match predicted.warm_tokens {
        Some(warm) => warm as f64,
        None if read > before_edit => read + cut,
        None if read > 0.0 => before,
        None => 0.0,
    };
    let cached = cached.clamp(0.0, before);
    // What a token outside the cache cost here; a request that read all of it says nothing of that.
    let uncached = input - read;
    let uncached_price = if uncached > 0.0 {
        uncached_usd / uncached
    } else {
        per_token(prices.cache_write_usd)
    };
    let without = cached * read_usd + (before - cached) * uncached_price;
    Reconciled {
        tokens_saved: cut.round() as i64,
        actual_input_usd: actual,
        input_usd_without: without,
        saved_usd: without - actual,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Claude Haiku 4.5: 1.00 in, 0.10 read, 1.25 written.
    const PRICES: InputPrices = InputPrices {
        input_usd: 1.0,
        cache_read_usd: 0.1,
        cache_write_usd: 1.25,
    };

    fn predicted(before: f64, after: f64, edit: f64, warm: Option<u64>) -> Predicted {
        Predicted {
            tokens_before: before,
            tokens_after: after,
            tokens_before_edit: edit,
            warm_tokens: warm,
        }
    }

    fn check(predicted: &Predicted, billed: (u64, u64, u64), tokens: i64, saved_usd: f64) {
        let billed = Billed {
            input: billed.0,
            cache_read: billed.1,
            cache_write: billed.2,
        };
        let found = reconcile(predicted, billed, &PRICES);
        assert_eq!(found.tokens_saved, tokens, "{found:?}");
        assert!((found.saved_usd - saved_usd).abs() < 1e-9, "{found:?}");
        let difference = found.input_usd_without - found.actual_input_usd;
        assert!((difference - found.saved_usd).abs() < 1e-12);
    }

    #[test]
    fn without_a_cache_each_token_not_sent_saves_the_price_of_input() {
        // 100,000 tokens became 60,000: 40,000 at 1.00.
        check(
            &predicted(1e5, 6e4, 1e4, Some(0)),
            (60_000, 0, 0),
            40_000,
            0.04,
        );
        check(
            &predicted(1e5, 6e4, 1e4, None),
            (60_000, 0, 0),
            40_000,
            0.04,
        );
        // The provider counts a tenth more than was predicted: so it would have without the cut.
        check(
            &predicted(1e5, 6e4, 1e4, None),
            (66_000, 0, 0),
            44_000,
            0.044,
        );
    }

    #[test]
    fn a_first_request_that_fills_the_cache_saves_the_price_of_writing() {
        check(
            &predicted(1e5, 6e4, 1e4, Some(0)),
            (60_000, 0, 60_000),
            40_000,
            0.05,
        );
    }

    #[test]
    fn between_rounds_what_was_cut_would_have_been_read_from_the_cache() {
        // 58,000 of 60,000 read, beyond the edit at 10,000: the 40,000 save 0.10 a million each.
        check(
            &predicted(1e5, 6e4, 1e4, None),
            (60_000, 58_000, 2_000),
            40_000,
            0.004,
        );
        check(
            &predicted(1e5, 6e4, 1e4, Some(98_000)),
            (60_000, 58_000, 2_000),
            40_000,
            0.004,
        );
    }

    #[test]
    fn a_cut_that_breaks_the_cache_costs_more_than_it_saves_at_first() {
        // Uncut: 98,000 read (0.0098) and 2,000 written (0.0025). Cut: 10,000 read (0.001) and 50,000
        // written (0.0625).
        let saved = (0.0098 + 0.0025) - (0.001 + 0.0625);
        check(
            &predicted(1e5, 6e4, 1e4, Some(98_000)),
            (60_000, 10_000, 50_000),
            40_000,
            saved,
        );
        // Nothing known of the session: all of the 100,000 counts as cached.
        let saved = 0.01 - (0.001 + 0.0625);
        check(
            &predicted(1e5, 6e4, 1e4, None),
            (60_000, 10_000, 50_000),
            40_000,
            saved,
        );
    }

    #[test]
    fn automatic_caching_breaks_at_the_price_of_input() {
        let prices = InputPrices {
            cache_write_usd: 1.0,
            ..PRICES
        };
        let billed = Billed {
            input: 60_000,
            cache_read: 10_000,
            cache_write: 0,
        };
        let found = reconcile(&predicted(1e5, 6e4, 1e4, Some(98_000)), billed, &prices);
        let saved = (0.0098 + 0.002) - (0.001 + 0.05);
        assert!((found.saved_usd - saved).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn the_sum_over_a_session_is_the_difference_of_the_two_bills() {
        // Five requests, each 10,000 longer. Cut by 40,000 at the third, kept cut afterwards.
        let uncut = [60_000_u64, 70_000, 80_000, 90_000, 100_000];
        let (mut sum, mut bill, mut bill_uncut, mut cached) = (0.0, 0.0, 0.0, 0_u64);
        for (n, &before) in uncut.iter().enumerate() {
            let warm = if n == 0 { 0 } else { uncut[n - 1] };
            let (after, edit) = if n < 2 {
                (before, before)
            } else {
                (before - 40_000, 15_000)
            };
            let read = if n == 2 { edit } else { cached };
            let billed = Billed {
                input: after,
                cache_read: read,
                cache_write: after - read,
            };
            let predicted = predicted(before as f64, after as f64, edit as f64, Some(warm));
            let found = reconcile(&predicted, billed, &PRICES);
            sum += found.saved_usd;
            bill += found.actual_input_usd;
            bill_uncut += (warm as f64 * 0.1 + (before - warm) as f64 * 1.25) / 1e6;
            cached = after;
        }
        assert!(
            (sum - (bill_uncut - bill)).abs() < 1e-9,
            "{sum} {bill_uncut} {bill}"
        );
    }

    #[test]
    fn nothing_cut_is_nothing_saved_and_bad_counts_do_no_harm() {
        check(&predicted(1e5, 1e5, 1e5, Some(9)), (100_000, 5, 10), 0, 0.0);
        check(&predicted(0.0, 0.0, 0.0, None), (0, 0, 0), 0, 0.0);
        let odd = Billed {
            input: 10,
            cache_read: 50,
            cache_write: 50,
        };
        let found = reconcile(&predicted(20.0, 10.0, 5.0, Some(1000)), odd, &PRICES);
        assert!(found.saved_usd.is_finite() && found.actual_input_usd >= 0.0);
        assert_eq!(Predicted::tokens_up_to(100.0, Some(25), 50), 50.0);
        assert_eq!(Predicted::tokens_up_to(100.0, None, 50), 100.0);
    }
}
