use super::*;
use crate::config::Provider;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_receipt_bills_each_kind_of_token_at_its_own_price() {
    let mut event = AuditEvent::new("r".into(), "w".into(), Provider::Anthropic, None);
    event.model = Some("claude-haiku-4-5".into());
    (event.chars_before, event.chars_after) = (Some(3_000_000), Some(1_500_000));
    event.usage = Some(Usage {
        input_tokens: Some(1_000_000),
        cache_read_tokens: Some(500_000),
        cache_write_tokens: Some(400_000),
        output_tokens: Some(10_000),
        ..Usage::default()
    });
    event = event.settle();
    // 0.1 M at 1.00, 0.5 M at 0.10, 0.4 M at 1.25, 0.01 M at 5.00.
    let usd = event.receipt.billed_usd.unwrap();
    assert!((usd - (0.1 + 0.05 + 0.5 + 0.05)).abs() < 1e-9, "{usd}");
    assert_eq!(event.receipt.tokens_saved, Some(1_000_000));
}

/// A long chat, pruned by a preset that drops its middle.
fn pruned(settings: &[String]) -> Report {
    use secateur_core::{Request, policy::Policy, prune};
    let turn = |n: usize| {
        let role = if n.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        serde_json::json!({ "role": role, "content": format!("turn {n} ").repeat(400) })
    };
    let messages: Vec<_> = (0..41).map(turn).collect();
    let body = serde_json::json!({ "model": "claude-haiku-4-5", "messages": messages,
        "cache_control": { "type": "ephemeral" } });
    let policy = Policy::resolve(Some("tessera"), None, settings).unwrap();
    prune(body.to_string().as_bytes(), &Request::default(), &policy).report
}

#[test]
fn a_receipt_predicts_the_cost_with_the_cut_and_without() {
    let mut event = AuditEvent::new("r".into(), "w".into(), Provider::Anthropic, None);
    event.report = Some(Arc::new(pruned(&[])));
    event = event.settle();
    let predicted = event.receipt.predicted.unwrap();
    assert!(predicted.predicted_input_tokens_after < predicted.predicted_input_tokens_before / 2);
    assert!(predicted.predicted_usd_with.unwrap() > 0.0);
    assert!(predicted.break_even_turns.unwrap() > 0.0);
    assert!(predicted.first_edit_at.is_some());
    event.retried_original = true;
    event = event.settle();
    assert_eq!(event.receipt.predicted, None, "the original went out");
}

#[test]
fn the_policys_prices_count_on_both_sides_of_a_receipt() {
    let settings = ["models.claude-haiku-4-5.input_usd=10".to_owned()];
    let mut event = AuditEvent::new("r".into(), "w".into(), Provider::Anthropic, None);
    event.report = Some(Arc::new(pruned(&settings)));
    event.usage = Some(Usage {
        input_tokens: Some(1_000_000),
        ..Usage::default()
    });
    event = event.settle();
    assert!((event.receipt.billed_usd.unwrap() - 10.0).abs() < 1e-9);
    let predicted = event.receipt.predicted.unwrap();
    assert_eq!(predicted.prices, secateur_core::cost::PriceSource::Policy);
}

/// A routed request: the cheap model answered, the dear one was asked for.
fn routed() -> AuditEvent {
    // 104 characters: 40 tokens at 2.6.
    let body = br#"{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"what is the time now"}]}"#;
    let report = secateur_core::prune(
        body,
        &secateur_core::Request::default(),
        &secateur_core::policy::Policy::default(),
    )
    .report;
    let mut event = AuditEvent::new("r".into(), "w".into(), Provider::Anthropic, None);
    event.model = Some("claude-opus-4-6".into());
    event.routed_to = Some("claude-haiku-4-5".into());
    event.routed_terms = Some(Terms::of(Some("claude-haiku-4-5"), None));
    event.stack = vec!["m1"];
    (event.chars_before, event.chars_after) = (Some(104), Some(104));
    (event.bytes_before, event.bytes_after) = (104, 105);
    event.report = Some(Arc::new(report));
    event
}

#[test]
fn a_routed_request_is_predicted_at_the_prices_of_both_models_and_saves_the_difference() {
    let mut event = routed();
    event.usage = Some(Usage {
        input_tokens: Some(40),
        output_tokens: Some(100),
        ..Usage::default()
    });
    event = event.settle();
    let predicted = event.receipt.predicted.unwrap();
    // 40 tokens at 5.00 and at 1.00.
    assert!((predicted.predicted_usd_without.unwrap() - 40.0 * 5.0 / 1e6).abs() < 1e-12);
    assert!((predicted.predicted_usd_with.unwrap() - 40.0 / 1e6).abs() < 1e-12);
    let billed = (40.0 + 100.0 * 5.0) / 1e6;
    assert!((event.receipt.billed_usd.unwrap() - billed).abs() < 1e-12);
    let without = (40.0 * 5.0 + 100.0 * 25.0) / 1e6;
    let saved = event.receipt.saved_usd.unwrap();
    assert!((saved - (without - billed)).abs() < 1e-12, "{saved}");
}

#[test]
fn what_a_schema_adds_to_the_body_is_predicted_and_counted_against_it() {
    let mut event = routed();
    (event.routed_to, event.routed_terms) = (None, None);
    (event.stack, event.chars_after) = (vec!["m8"], Some(104 + 260));
    event.usage = Some(Usage {
        input_tokens: Some(140),
        ..Usage::default()
    });
    event = event.settle();
    let predicted = event.receipt.predicted.unwrap();
    assert_eq!(predicted.predicted_input_tokens_before, 40);
    assert_eq!(predicted.predicted_input_tokens_after, 140);
    assert_eq!(event.receipt.tokens_saved, Some(-100));
    let saved = event.receipt.saved_usd.unwrap();
    assert!((saved + 100.0 * 5.0 / 1e6).abs() < 1e-12, "{saved}");
}

#[test]
fn a_pause_that_outlives_the_cache_is_told_by_a_read_that_did_not_come() {
    let cut = |idle: Option<u64>, read: u64| {
        let settings = ["models.claude-haiku-4-5.min_cache_tokens=10".to_owned()];
        let mut event = AuditEvent::new("r".into(), "w".into(), Provider::Anthropic, None);
        let report = pruned(&settings);
        (event.chars_before, event.chars_after) = (
            Some(report.before.chars as u64),
            Some(report.after.chars as u64),
        );
        event.bytes_after = report.after.bytes as u64;
        event.report = Some(Arc::new(report));
        event.stack = vec!["m7"];
        event.recalled.idle = idle.map(Duration::from_secs);
        event.usage = Some(Usage {
            input_tokens: Some(50_000),
            cache_read_tokens: Some(read),
            cache_write_tokens: Some(50_000 - read),
            ..Usage::default()
        });
        event = event.settle();
        event.receipt.saved_usd.unwrap()
    };
    let warm = cut(Some(60), 0);
    assert!(warm < 0.0, "{warm}");
    assert_eq!(cut(None, 0), warm, "after a restart");
    // The cut broke the cache, so it may have been there ten minutes later.
    assert_eq!(cut(Some(600), 0), warm);
    let cold = cut(Some(2 * 3600), 0);
    assert!(cold > 0.05, "{cold}");
    assert!(cut(Some(2 * 3600), 9_000) < 0.0, "it was there after all");
}
