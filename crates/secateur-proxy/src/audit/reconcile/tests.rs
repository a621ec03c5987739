mod growing;

use super::*;
use secateur_core::cost::Terms;

fn rules(model: &str) -> CacheRules {
    Terms::of(Some(model), None).rules
}

/// Claude Haiku 4.5: 1.00 in, 0.10 read, 1.25 written.
const PRICES: Prices = Prices {
    input_usd: 1.0,
    cache_read_usd: 0.1,
    cache_write_usd: 1.25,
    output_usd: 5.0,
};

/// `warm`: tokens that the request before had.
fn predicted(before: f64, after: f64, edit: f64, warm: Option<f64>) -> Predicted {
    Predicted {
        tokens_before: before,
        tokens_after: after,
        tokens_before_edit: edit,
        cache: warm.map_or(UncutCache::AsRead, |tokens| UncutCache::Earlier {
            tokens,
            rules: rules("claude-haiku-4-5"),
        }),
    }
}

fn bill(billed: (u64, u64, u64)) -> Billed {
    Billed {
        input: billed.0,
        cache_read: billed.1,
        cache_write: billed.2,
    }
}

fn check(predicted: &Predicted, billed: (u64, u64, u64), tokens: i64, saved_usd: f64) {
    let found = reconcile(predicted, bill(billed), &PRICES, &PRICES);
    assert_eq!(found.tokens_saved, tokens, "{found:?}");
    assert!((found.saved_usd - saved_usd).abs() < 1e-9, "{found:?}");
    let difference = found.input_usd_without - found.billed_input_usd;
    assert!((difference - found.saved_usd).abs() < 1e-12);
}

#[test]
fn without_a_cache_each_token_not_sent_saves_the_price_of_input() {
    // 100,000 tokens became 60,000: 40,000 at 1.00.
    let cut = predicted(1e5, 6e4, 1e4, None);
    check(&cut, (60_000, 0, 0), 40_000, 0.04);
    // The provider counts a tenth more than was predicted: so it would have without the cut.
    check(&cut, (66_000, 0, 0), 44_000, 0.044);
}

#[test]
fn a_first_request_that_fills_the_cache_saves_the_price_of_writing() {
    let cut = predicted(1e5, 6e4, 1e4, None);
    check(&cut, (60_000, 0, 60_000), 40_000, 0.05);
}

#[test]
fn a_first_request_that_reads_shared_instructions_saves_what_is_behind_them() {
    // 8,000 of instructions are read; 40,000 of the 90,000 behind the edit are cut, and written.
    let cut = predicted(1e5, 6e4, 1e4, None);
    check(&cut, (60_000, 8_000, 52_000), 40_000, 0.05);
    // All is read: the cut text would have been read too.
    check(&cut, (60_000, 60_000, 0), 40_000, 0.004);
}

#[test]
fn between_rounds_what_was_cut_would_have_been_read_from_the_cache() {
    // 58,000 of 60,000 read, beyond the edit at 10,000: the 40,000 save 0.10 a million each.
    let cut = predicted(1e5, 6e4, 1e4, Some(98_000.0));
    check(&cut, (60_000, 58_000, 2_000), 40_000, 0.004);
}

#[test]
fn a_cut_that_breaks_the_cache_costs_more_than_it_saves_at_first() {
    // Uncut: 98,000 read (0.0098) and 2,000 written (0.0025). Cut: 10,000 read (0.001) and 50,000
    // written (0.0625).
    let saved = (0.0098 + 0.0025) - (0.001 + 0.0625);
    let cut = predicted(1e5, 6e4, 1e4, Some(98_000.0));
    check(&cut, (60_000, 10_000, 50_000), 40_000, saved);
}

#[test]
fn a_cut_that_leaves_too_little_to_be_cached_is_held_to_the_cache_that_there_would_have_been() {
    // 9,000 of 10,000 would have been read; 3,000 are below what is cached, and plain.
    let saved = (9_000.0 * 0.1 + 1_000.0) / 1e6 - 0.003;
    let cut = predicted(1e4, 3e3, 100.0, Some(9_000.0));
    check(&cut, (3_000, 0, 0), 7_000, saved);
}

#[test]
fn a_request_that_comes_again_would_have_been_read_to_its_end() {
    let cut = predicted(1e5, 6e4, 1e4, Some(70_000.0));
    let saved = 0.01 - (59_950.0 * 0.1 + 50.0 * 1.25) / 1e6;
    check(&cut, (60_000, 59_950, 50), 40_000, saved);
}

#[test]
fn behind_the_last_marker_a_cut_saves_plain_input() {
    // 20,000 of instructions are marked, nothing behind them: no request is ever cached further.
    let cut = predicted(1e5, 6e4, 3e4, Some(98_000.0));
    check(&cut, (60_000, 20_000, 0), 40_000, 0.04);
}

#[test]
fn automatic_caching_breaks_at_the_price_of_input() {
    let prices = Prices {
        cache_write_usd: 1.0,
        ..PRICES
    };
    let rules = rules("gpt-5");
    let cut = |tokens| Predicted {
        cache: UncutCache::Earlier { tokens, rules },
        ..predicted(1e5, 6e4, 1e4, None)
    };
    // Hits in steps of 128: 97,920 of the 98,000.
    let without = (97_920.0 * 0.1 + 2_080.0) / 1e6;
    let found = reconcile(&cut(98_000.0), bill((60_000, 10_000, 0)), &prices, &prices);
    let saved = without - (0.001 + 0.05);
    assert!((found.saved_usd - saved).abs() < 1e-9, "{found:?}");
    // The cut stands so early that nothing is ever read again.
    let found = reconcile(&cut(98_000.0), bill((60_000, 0, 0)), &prices, &prices);
    assert!(
        (found.saved_usd - (without - 0.06)).abs() < 1e-9,
        "{found:?}"
    );
    // Too little came before to be cached.
    let found = reconcile(&cut(1_000.0), bill((60_000, 0, 0)), &prices, &prices);
    assert!((found.saved_usd - 0.04).abs() < 1e-9, "{found:?}");
}

#[test]
fn the_sum_over_a_session_is_the_difference_of_the_two_bills() {
    // Five requests, each 10,000 longer. Cut by 40,000 at the third, kept cut afterwards.
    let uncut = [60_000_u64, 70_000, 80_000, 90_000, 100_000];
    let (mut sum, mut bill_pruned, mut bill_uncut, mut cached) = (0.0, 0.0, 0.0, 0_u64);
    for (n, &before) in uncut.iter().enumerate() {
        let warm = if n == 0 { 0 } else { uncut[n - 1] };
        let (after, edit) = if n < 2 {
            (before, before)
        } else {
            (before - 40_000, 15_000)
        };
        let read = if n == 2 { edit } else { cached };
        let earlier = (n > 0).then_some(warm as f64);
        let predicted = predicted(before as f64, after as f64, edit as f64, earlier);
        let billed = bill((after, read, after - read));
        let found = reconcile(&predicted, billed, &PRICES, &PRICES);
        sum += found.saved_usd;
        bill_pruned += found.billed_input_usd;
        bill_uncut += (warm as f64 * 0.1 + (before - warm) as f64 * 1.25) / 1e6;
        cached = after;
    }
    assert!(
        (sum - (bill_uncut - bill_pruned)).abs() < 1e-9,
        "{sum} {bill_uncut} {bill_pruned}"
    );
}

#[test]
fn another_model_is_compared_with_the_prices_of_the_one_that_was_asked_for() {
    let dear = Prices {
        input_usd: 10.0,
        cache_read_usd: 1.0,
        cache_write_usd: 12.5,
        output_usd: 50.0,
    };
    let same = predicted(1e5, 1e5, 1e5, None);
    let found = reconcile(&same, bill((100_000, 40_000, 0)), &PRICES, &dear);
    assert!((found.billed_input_usd - 0.064).abs() < 1e-9, "{found:?}");
    assert!((found.saved_usd - 0.64 + 0.064).abs() < 1e-9, "{found:?}");
    assert_eq!(found.tokens_saved, 0);
}

#[test]
fn what_is_added_costs() {
    let more = predicted(9e4, 1e5, 1e5, None);
    check(&more, (100_000, 0, 0), -10_000, -0.01);
}

#[test]
fn nothing_changed_is_nothing_saved_and_bad_counts_do_no_harm() {
    check(&predicted(1e5, 1e5, 1e5, None), (100_000, 5, 10), 0, 0.0);
    check(&Predicted::default(), (0, 0, 0), 0, 0.0);
    check(&Predicted::default(), (9, 0, 0), 0, 0.0);
    let odd = bill((10, 50, 50));
    for warm in [None, Some(1000.0), Some(f64::MAX)] {
        let found = reconcile(&predicted(20.0, 10.0, 5.0, warm), odd, &PRICES, &PRICES);
        assert!(found.saved_usd.is_finite() && found.billed_input_usd >= 0.0);
    }
}
