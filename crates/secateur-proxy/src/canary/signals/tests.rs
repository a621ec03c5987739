use super::*;
use crate::audit::{CacheRead, ChangedPlace, MissCause};
use crate::config::Provider;
use crate::usage::Usage;
use secateur_core::Dialect;
use secateur_core::cost::cache::BlockPlace;
use secateur_core::policy::Policy;
use secateur_core::report::CacheHit;
use secateur_core::{Request, prune};
use serde_json::{Value, json};

fn event(stack: &[&'static str], session: &str) -> AuditEvent {
    let mut event = AuditEvent::new("r".into(), "w".into(), Provider::Anthropic, None);
    event.stack = stack.to_vec();
    event.status = 200;
    event.session = Some(session.into());
    event
}

fn strike(status: u16) -> AuditEvent {
    let mut event = event(&[], "s");
    (event.retried_original, event.struck_stack, event.status) = (true, vec!["m7"], status);
    event
}

#[test]
fn strikes_warn_once_and_retire_when_they_are_many() {
    let (signals, options, now) = (Signals::default(), CanaryOptions::default(), Instant::now());
    let mut warned = 0;
    let mut retired_at = None;
    for n in 1..=20 {
        for finding in signals.request(&strike(200), &options, now) {
            match finding {
                Finding::Warn(Signal::Strikes, _) => warned += 1,
                Finding::Retire(reason) => {
                    assert!(reason.contains("rejected 10 of the last 10"), "{reason}");
                    retired_at.get_or_insert(n);
                }
                other => panic!("{other:?}"),
            }
        }
        if retired_at.is_some() {
            break;
        }
    }
    assert_eq!((warned, retired_at), (1, Some(10)));
    signals.forget("w", "m7");
    assert!(signals.request(&strike(200), &options, now).is_empty());
}

#[test]
fn rare_strikes_do_not_retire_and_bodies_that_were_bad_anyway_do_not_count() {
    let (signals, options, now) = (Signals::default(), CanaryOptions::default(), Instant::now());
    for n in 0..2000 {
        let event = if n % 25 == 0 {
            strike(200)
        } else {
            event(&["m7"], "s")
        };
        let findings = signals.request(&event, &options, now);
        let retires = |finding: &Finding| matches!(finding, Finding::Retire(_));
        assert!(!findings.iter().any(retires), "{findings:?}");
    }
    for _ in 0..50 {
        // The original was rejected too.
        let findings = signals.request(&strike(400), &options, now);
        assert!(findings.is_empty(), "{findings:?}");
    }
}

fn usage(read: u64) -> Usage {
    Usage {
        input_tokens: Some(10_000),
        cache_read_tokens: Some(read),
        cache_write_tokens: Some(10_000 - read),
        ..Usage::default()
    }
}

/// Eight sessions that are read from the cache until they are pruned, and then hardly.
fn told_of_lower_reads(cause: MissCause) -> Vec<Finding> {
    let (signals, options, now) = (Signals::default(), CanaryOptions::default(), Instant::now());
    let mut told = Vec::new();
    let pruned = &["m7"][..];
    for session in 0..8 {
        let key = format!("s{session}");
        for (stack, read) in [
            (&[][..], 0),
            (&[][..], 9000),
            (pruned, 500),
            (pruned, 500),
            (pruned, 700),
        ] {
            let mut event = event(stack, &key);
            event.usage = Some(usage(read));
            event.receipt.cache_read = Some(CacheRead {
                predicted: 9000,
                expected: 9000,
                billed: read,
                hit: CacheHit::Marker { message: Some(3) },
                miss: (read < 9000).then_some(cause),
            });
            told.extend(signals.request(&event, &options, now));
        }
    }
    told
}

#[test]
fn a_cache_that_is_read_less_than_before_pruning_is_told() {
    for cause in [MissCause::OurCut, MissCause::Unknown] {
        let told = told_of_lower_reads(cause);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            matches!(&told[0], Finding::Warn(Signal::CacheShare, reason)
            if reason.starts_with("6 % of the input") && reason.ends_with("90 % are predicted")),
            "{told:?}"
        );
    }
}

#[test]
fn what_the_client_changed_or_what_expired_is_not_held_against_a_stack() {
    let expired = MissCause::Expired {
        idle_seconds: 400,
        kept_seconds: 300,
    };
    let system = MissCause::ClientChange(ChangedPlace::Block(BlockPlace::Instructions(2)));
    let tools = MissCause::ToolsChanged(BlockPlace::Tool(0));
    for cause in [expired, system, tools] {
        assert_eq!(told_of_lower_reads(cause), [], "{cause:?}");
    }
}

/// A session of reads; the last call can be one that was made before.
fn session(reads: usize, last: &str) -> Vec<u8> {
    let mut turns = vec![json!({"role": "user", "content": "task"})];
    let read = |path: &str, turns: &mut Vec<Value>| {
        let id = format!("t{}", turns.len());
        turns.push(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": "read", "input": {"path": path}}]}));
        turns.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": format!("{path} {}", "x".repeat(3000))}]}));
    };
    for n in 0..reads {
        read(&format!("file{n}"), &mut turns);
    }
    if !last.is_empty() {
        read(last, &mut turns);
    }
    json!({"model": "claude-haiku-4-5", "max_tokens": 10, "messages": turns})
        .to_string()
        .into_bytes()
}

#[test]
fn a_call_that_is_made_again_after_its_result_was_cut_is_told() {
    let policy = Policy::resolve(Some("openclaw-aggressive"), None, &[]).unwrap();
    let dialect = Dialect::AnthropicMessages;
    let calls = |body: &[u8]| {
        let request = Request {
            dialect: Some(dialect),
            ..Request::default()
        };
        let outcome = prune(body, &request, &policy);
        assert!(!outcome.report.plan.edits.is_empty());
        calls_of(body, dialect, &outcome.report).unwrap()
    };
    let signals = Signals::default();
    let now = Instant::now();
    let workload: Arc<str> = "w".into();
    let look = |key: &str, body: &[u8]| signals.calls(&workload, "m7", key, calls(body), now);
    for n in 0..40 {
        let key = format!("healthy {n}");
        assert_eq!(look(&key, &session(12, "")), None);
        assert_eq!(look(&key, &session(13, "")), None);
    }
    let mut told = Vec::new();
    for n in 0..8 {
        let key = format!("lost {n}");
        assert_eq!(look(&key, &session(12, "")), None);
        told.extend(look(&key, &session(12, "file1")));
    }
    assert!(
        matches!(&told[..], [Finding::Warn(Signal::RepeatedCalls, reason)] if reason.starts_with("5 of the last 45")),
        "{told:?}"
    );
    // A repeat of what was still in sight is the model's own affair.
    assert_eq!(look("lost 0", &session(12, "file11")), None);
}
