//! Receipts that can be computed by hand: one token to a word.

use super::*;
use crate::cost::cache::CacheKind;
use crate::policy::Policy;
use crate::{Request, dialect, prune};

const WORDS: usize = 2000;

fn count(texts: &mut dyn Iterator<Item = Cow<'_, str>>) -> usize {
    texts.map(|text| text.split_whitespace().count()).sum()
}

/// A session of `steps` calls whose results have [`WORDS`] words each, and then the model is called again. The client
/// marks its instructions and its last message, as agents do.
fn body(model: &str, steps: usize) -> Vec<u8> {
    marked_body(model, steps).to_string().into_bytes()
}

fn marked_body(model: &str, steps: usize) -> serde_json::Value {
    let mut body = unmarked_body(model, steps);
    let marker = serde_json::json!({ "type": "ephemeral" });
    body["system"] =
        serde_json::json!([{ "type": "text", "text": "be good", "cache_control": marker }]);
    let last = body["messages"].as_array_mut().unwrap().last_mut().unwrap();
    if last["content"].is_string() {
        last["content"] = serde_json::json!([{ "type": "text", "text": last["content"] }]);
    }
    let blocks = last["content"].as_array_mut().unwrap();
    blocks.last_mut().unwrap()["cache_control"] = marker;
    body
}

fn unmarked_body(model: &str, steps: usize) -> serde_json::Value {
    let mut messages = vec![serde_json::json!({ "role": "user", "content": "do it" })];
    for step in 0..steps {
        let id = format!("t{step}");
        messages.push(serde_json::json!({ "role": "assistant", "content": [
            { "type": "tool_use", "id": id, "name": "Bash", "input": {} }] }));
        let text = format!("word{step} ").repeat(WORDS);
        messages.push(serde_json::json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": text }] }));
    }
    serde_json::json!({ "model": model, "system": "be good", "messages": messages })
}

fn clears_all_but_last_three(settings: &[&str]) -> Policy {
    let settings: Vec<String> = settings.iter().map(|&s| s.to_owned()).collect();
    Policy::resolve(Some("openclaw-aggressive"), None, &settings).unwrap()
}

fn receipt(body: &[u8], policy: &Policy, cache: Option<Cache>) -> (Receipt, Counts, Report) {
    let request = Request::default();
    let outcome = prune(body, &request, policy);
    let read = |body| dialect::read(body, outcome.report.dialect.unwrap(), &request.limits);
    let before = read(body).unwrap();
    let after = read(&outcome.body).unwrap();
    let counts = Counts::of(
        &before,
        Some(&after),
        &outcome.report.cached,
        Basis::Exact,
        count,
    );
    let cache = cache.unwrap_or(Cache::of(&outcome.report));
    let receipt = Receipt::of(&outcome.report, &counts, cache);
    (receipt, counts, outcome.report)
}

/// `{}` is one word, `[Old tool result content cleared]` is five.
const CLEARED: usize = 5;

#[test]
fn a_cut_beyond_the_reach_of_the_markers_writes_all_turns_again() {
    let (receipt, counts, report) = receipt(
        &body("claude-opus-4-6", 20),
        &clears_all_but_last_three(&[]),
        None,
    );
    let cleared = report.cuts.len();
    assert!(cleared > 10, "{cleared}");
    let all = 2 + 2 + 20 * (1 + WORDS);
    assert_eq!(receipt.predicted_input_tokens_before, all);
    assert_eq!(
        receipt.predicted_input_tokens_after,
        all - cleared * (WORDS - CLEARED)
    );
    // The newest answer and its result are new in either case.
    assert_eq!(receipt.predicted_cached_tokens_before, all - 1 - WORDS);
    // The instructions are two tokens, too few to be cached.
    assert_eq!(
        (counts.after.cached, receipt.predicted_cached_tokens_after),
        (2, 0)
    );
    assert_eq!(report.cached.hit, CacheHit::Marker { message: None });
    let million = |tokens: usize| tokens as f64 / 1e6;
    let without = 0.5 * million(all - 1 - WORDS) + 6.25 * million(1 + WORDS);
    let with = 6.25 * million(receipt.predicted_input_tokens_after);
    assert!((receipt.predicted_usd_without.unwrap() - without).abs() < 1e-12);
    assert!((receipt.predicted_usd_with.unwrap() - with).abs() < 1e-12);
    let next = receipt.predicted_next_usd_with.unwrap();
    assert!((next - 0.5 * million(receipt.predicted_input_tokens_after)).abs() < 1e-12);
    assert_eq!(receipt.first_edit_at, report.first_edit_at);
    assert_eq!(receipt.price_date, crate::cost::models::TABLE_DATE);
    assert_eq!(receipt.basis, Basis::Exact);
}

#[test]
fn the_break_even_is_where_the_bills_with_and_without_cross() {
    let (receipt, counts, _) = receipt(
        &body("claude-opus-4-6", 20),
        &clears_all_but_last_three(&["models.claude-opus-4-6.min_cache_tokens=0"]),
        None,
    );
    let turns = receipt.break_even_turns.unwrap();
    let removed = counts.before.tokens - counts.after.tokens;
    let by_hand = (1.25 - 0.1) / 0.1 * counts.rewritten as f64 / removed as f64;
    assert!(turns > 1.0 && (turns - by_hand).abs() < 1e-9, "{turns}");
    // This request saves what it does not read, so it counts as the first turn.
    let total = |this: Option<f64>, next: Option<f64>, further: f64| {
        this.unwrap() + further * next.unwrap()
    };
    let pays_after = |further: f64| {
        let with = total(
            receipt.predicted_usd_with,
            receipt.predicted_next_usd_with,
            further,
        );
        let without = total(
            receipt.predicted_usd_without,
            receipt.predicted_next_usd_without,
            further,
        );
        with < without
    };
    assert!(!pays_after(turns - 1.01) && pays_after(turns - 0.99));
}

#[test]
fn a_cold_cache_writes_everything_and_a_cut_pays_at_once() {
    let policy = clears_all_but_last_three(&[]);
    let (receipt, ..) = receipt(&body("claude-opus-4-6", 20), &policy, Some(Cache::Cold));
    assert_eq!(receipt.cache, Cache::Cold);
    assert_eq!(receipt.predicted_cached_tokens_before, 0);
    let usd = |tokens: usize| tokens as f64 * 6.25 / 1e6;
    let without = usd(receipt.predicted_input_tokens_before);
    assert!((receipt.predicted_usd_without.unwrap() - without).abs() < 1e-12);
    assert_eq!(receipt.break_even_turns, Some(0.0));
}

#[test]
fn the_first_request_of_a_conversation_is_cold_whatever_the_caller_says() {
    let (receipt, _, report) = receipt(
        &body("claude-opus-4-6", 0),
        &Policy::default(),
        Some(Cache::Warm),
    );
    assert!(!report.cached.has_earlier);
    assert_eq!(receipt.cache, Cache::Unused, "too short to be cached");
    assert_eq!(receipt.break_even_turns, None, "nothing was removed");
}

#[test]
fn input_below_the_smallest_cacheable_prefix_is_plain_input() {
    let body = body("claude-opus-4-6", 1);
    let (receipt, ..) = receipt(&body, &Policy::default(), None);
    assert!(receipt.predicted_input_tokens_before < 4096);
    let plain = receipt.predicted_input_tokens_before as f64 * 5.0 / 1e6;
    assert!((receipt.predicted_usd_with.unwrap() - plain).abs() < 1e-12);
    assert_eq!(receipt.predicted_usd_with, receipt.predicted_next_usd_with);
}

#[test]
fn openai_hits_come_in_steps_and_writes_cost_nothing_extra() {
    let policy = Policy::default();
    let mut terms = policy.terms(Some("gpt-5"), None);
    let side = Side {
        tokens: 3000,
        cached: 1500,
        marked: 3000,
    };
    let bill = bill(&terms, &side, true);
    assert_eq!((bill.read, bill.written, bill.plain), (1408.0, 1592.0, 0.0));
    assert!((bill.cost(terms.cache) - (0.1 * 1408.0 + 1592.0)).abs() < 1e-9);
    terms.rules.step_tokens = None;
    assert_eq!(super::bill(&terms, &side, true).read, 1500.0);
    assert_eq!(super::bill(&terms, &side, false).read, 0.0, "a cold cache");
}

#[test]
fn a_model_without_a_price_has_counts_and_a_break_even_but_no_dollars() {
    let (receipt, ..) = receipt(
        &body("own-model", 20),
        &clears_all_but_last_three(&[]),
        None,
    );
    assert_eq!(receipt.prices, PriceSource::Unknown);
    assert_eq!(receipt.predicted_usd_with, None);
    assert!(receipt.break_even_turns.unwrap() > 0.0);
}

/// A session of `steps` builds with long logs.
fn builds(steps: usize) -> Vec<u8> {
    let mut messages = vec![serde_json::json!({ "role": "user", "content": "look" })];
    for step in 0..steps {
        let id = format!("t{step}");
        messages.push(serde_json::json!({ "role": "assistant", "content": [
            { "type": "tool_use", "id": id, "name": "Bash", "input": { "command": "make" } }] }));
        let log: String = (0..600)
            .map(|n| format!("step {step} builds unit {n}\n"))
            .collect();
        messages.push(serde_json::json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": log }] }));
    }
    serde_json::json!({ "model": "claude-opus-5", "messages": messages,
        "cache_control": { "type": "ephemeral" } })
    .to_string()
    .into_bytes()
}

#[test]
fn between_rounds_the_whole_of_what_was_sent_is_read() {
    // Without a horizon no round ever pays: an edit of an earlier request is no rewrite.
    let settings = ["rounds.horizon=0", "long-arrivals.max_chars=8000"].map(str::to_owned);
    let policy = Policy::resolve(Some("steady"), None, &settings).unwrap();
    let (receipt, counts, report) = receipt(&builds(8), &policy, None);
    assert!(report.account.is_some_and(|account| !account.is_round));
    assert!(counts.before.tokens > counts.after.tokens);
    let cached = report.cached;
    assert!(report.first_edit_at.unwrap() < cached.before.read);
    assert_eq!(cached.after.read, cached.unbroken_after);
    assert_eq!((counts.rewritten, receipt.break_even_turns), (0, Some(0.0)));
    assert!(receipt.predicted_usd_with < receipt.predicted_usd_without);
}

#[test]
fn a_round_writes_again_what_follows_its_first_cut() {
    let policy = Policy::preset("steady").unwrap();
    let is_round = |report: &Report| report.account.is_some_and(|account| account.is_round);
    let (receipt, counts, report) = (4..20)
        .map(|steps| receipt(&builds(steps), &policy, None))
        .find(|(.., report)| is_round(report))
        .unwrap();
    let cached = report.cached;
    assert!(cached.after.read < cached.unbroken_after);
    assert!(counts.rewritten > 0 && receipt.break_even_turns.unwrap() > 0.0);
    // The gate took the round because it pays within its horizon.
    assert!(receipt.break_even_turns.unwrap() <= policy.rounds.horizon + 1.0);
}

#[test]
fn the_gate_of_rounds_goes_by_the_models_own_prices() {
    let rounds = |settings: &[&str]| {
        let settings: Vec<String> = settings.iter().map(|&s| s.to_owned()).collect();
        let policy = Policy::resolve(Some("steady"), None, &settings).unwrap();
        let report = prune(&builds(20), &Request::default(), &policy).report;
        report.account.unwrap().rounds
    };
    assert!(rounds(&[]) > 0);
    let dear = "models.claude-opus-5.cache_write_usd=1000";
    assert_eq!(rounds(&[dear]), 0, "rewriting never pays");
}

#[test]
fn tool_schemas_are_counted_on_both_sides_and_make_it_an_estimate() {
    let text = r#"{"model":"gpt-5","tools":[{"type":"function","function":{"name":"a b c"}}],
        "messages":[{"role":"user","content":"one two"},{"role":"assistant","content":"three"},
        {"role":"user","content":"four"}]}"#;
    let (receipt, counts, _) = receipt(text.as_bytes(), &Policy::default(), None);
    assert_eq!(receipt.basis, Basis::Estimate);
    assert_eq!((counts.before.tokens, counts.after.tokens), (3 + 4, 3 + 4));
    assert_eq!(counts.before.cached, 3 + 2);
}

#[test]
fn a_ratio_spreads_tokens_over_the_bytes() {
    let policy = clears_all_but_last_three(&[]);
    let outcome = prune(&body("claude-opus-4-6", 20), &Request::default(), &policy).report;
    let counts = Counts::by_ratio(&outcome, 2.6);
    let cached = outcome.cached;
    assert_eq!(counts.basis, Basis::Estimate);
    assert_eq!(
        counts.before.tokens,
        (outcome.before.chars as f64 / 2.6).ceil() as usize
    );
    let share = counts.before.cached as f64 / counts.before.tokens as f64;
    // The model, the system prompt and the end of the list follow the turns.
    let behind = outcome.bytes_after_turns;
    assert!(behind > 20, "{behind}");
    let bytes = (cached.before.read + behind) as f64 / outcome.before.bytes as f64;
    assert!((share - bytes).abs() < 1e-3);
    assert!(counts.rewritten > 0);
    assert!(counts.rewritten + counts.after.cached < counts.after.tokens);
}

#[test]
fn a_receipt_can_be_written_as_json() {
    let (receipt, ..) = receipt(
        &body("claude-opus-4-6", 20),
        &clears_all_but_last_three(&[]),
        None,
    );
    let value = serde_json::to_value(receipt).unwrap();
    assert_eq!(value["cache"], "warm");
    assert_eq!(value["basis"], "exact");
    assert!(value["predicted_usd_with"].as_f64().unwrap() > 0.0);
}

#[test]
fn instructions_and_tools_after_the_turns_are_cached_with_the_request_before() {
    let turns = r#"[{"role":"user","content":"one"},{"role":"assistant","content":"two"},
        {"role":"user","content":"three"}]"#;
    let system = "word ".repeat(5000);
    let counts = |body: String| {
        let outcome = prune(body.as_bytes(), &Request::default(), &Policy::default());
        Counts::by_ratio(&outcome.report, 2.6)
    };
    let model = r#""model":"claude-opus-4-6","max_tokens":5,"cache_control":{"type":"ephemeral"}"#;
    let first = counts(format!(
        r#"{{{model},"system":"{system}","messages":{turns}}}"#
    ));
    let last = counts(format!(
        r#"{{{model},"messages":{turns},"system":"{system}"}}"#
    ));
    assert!(first.before.cached > 9000, "{first:?}");
    assert!(
        last.before.cached.abs_diff(first.before.cached) < 20,
        "{last:?}"
    );
    assert!(
        last.after.cached.abs_diff(first.after.cached) < 20,
        "{last:?}"
    );
}

#[test]
fn what_nobody_marks_is_neither_written_nor_read() {
    let policy = clears_all_but_last_three(&[]);
    let unmarked = unmarked_body("claude-opus-4-6", 20).to_string();
    let (unused, counts, report) = receipt(unmarked.as_bytes(), &policy, None);
    assert_eq!(unused.cache, Cache::Unused);
    assert_eq!(report.cached.hit, CacheHit::NoMarker);
    assert_eq!(unused.predicted_cached_tokens_after, 0);
    assert_eq!(unused.predicted_written_tokens_after, 0);
    let plain = counts.after.tokens as f64 * 5.0 / 1e6;
    assert!((unused.predicted_usd_with.unwrap() - plain).abs() < 1e-12);
    assert_eq!(unused.predicted_usd_with, unused.predicted_next_usd_with);
    let (warm, counts, _) = receipt(&body("claude-opus-4-6", 20), &policy, None);
    assert_eq!(
        warm.predicted_written_tokens_after,
        counts.after.tokens - warm.predicted_cached_tokens_after
    );
    // OpenAI's older models cache without being asked, and writing is free.
    let gpt = unmarked_body("gpt-5", 20).to_string();
    let (automatic, _, report) = receipt(gpt.as_bytes(), &policy, None);
    assert_eq!(automatic.predicted_written_tokens_after, 0);
    assert_eq!(report.terms.rules.kind, CacheKind::Automatic);
}

#[test]
fn the_longer_lifetime_costs_twice_the_price_of_input_to_write() {
    let mut body = marked_body("claude-opus-4-6", 20);
    let last = body["messages"].as_array_mut().unwrap().last_mut().unwrap();
    last["content"][0]["cache_control"]["ttl"] = "1h".into();
    let (receipt, counts, _) = receipt(body.to_string().as_bytes(), &Policy::default(), None);
    let written = counts.after.tokens - receipt.predicted_cached_tokens_after;
    let usd = (0.5 * receipt.predicted_cached_tokens_after as f64 + 10.0 * written as f64) / 1e6;
    assert!((receipt.predicted_usd_with.unwrap() - usd).abs() < 1e-12);
}
