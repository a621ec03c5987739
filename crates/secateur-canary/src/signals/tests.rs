use super::*;
use crate::finished::{InputTokens, PredictedRead};
use crate::options::WatchedWorkload;
use secateur_core::Dialect;
use secateur_core::policy::Policy;
use secateur_core::report::CacheHit;
use secateur_core::{Request, prune};
use serde_json::{Value, json};

fn workload() -> Arc<WatchedWorkload> {
    Arc::new(WatchedWorkload {
        name: "w".into(),
        holdout_pct: 0.0,
        options: Arc::default(),
    })
}

fn finished<'f>(
    workload: &'f Arc<WatchedWorkload>,
    stack: &'f [&'static str],
    session: &'f str,
) -> Finished<'f> {
    Finished {
        id: "r",
        workload,
        session: Some(session),
        stack,
        rejected_stack: &[],
        is_answered: true,
        status: 200,
        input: None,
        predicted_read: None,
    }
}

fn rejected(workload: &Arc<WatchedWorkload>, status: u16) -> Finished<'_> {
    Finished {
        rejected_stack: &["m7"],
        status,
        ..finished(workload, &[], "s")
    }
}

#[test]
fn rejections_warn_once_and_retire_when_they_are_many() {
    let (signals, workload, now) = (Signals::default(), workload(), Instant::now());
    let mut warned = 0;
    let mut retired_at = None;
    for n in 1..=20 {
        for finding in signals.request(&rejected(&workload, 200), now) {
            match finding {
                Finding::Warn(Signal::Rejections, _) => warned += 1,
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
    assert!(signals.request(&rejected(&workload, 200), now).is_empty());
}

#[test]
fn rare_rejections_do_not_retire_and_bodies_that_were_bad_anyway_do_not_count() {
    let (signals, workload, now) = (Signals::default(), workload(), Instant::now());
    for n in 0..2000 {
        let over = if n % 25 == 0 {
            rejected(&workload, 200)
        } else {
            finished(&workload, &["m7"], "s")
        };
        let findings = signals.request(&over, now);
        let retires = |finding: &Finding| matches!(finding, Finding::Retire(_));
        assert!(!findings.iter().any(retires), "{findings:?}");
    }
    for _ in 0..50 {
        // The original was rejected too.
        let findings = signals.request(&rejected(&workload, 400), now);
        assert!(findings.is_empty(), "{findings:?}");
    }
}

/// Eight sessions that are read from the cache until they are pruned, and then hardly.
fn findings_of_lower_reads(is_explained: bool) -> Vec<Finding> {
    let (signals, workload, now) = (Signals::default(), workload(), Instant::now());
    let mut findings = Vec::new();
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
            let over = Finished {
                input: Some(InputTokens {
                    all: 10_000,
                    cache_read: read,
                    cache_written: 10_000 - read,
                }),
                predicted_read: Some(PredictedRead {
                    tokens: 9000,
                    hit: CacheHit::Marker { message: Some(3) },
                    is_explained: is_explained && read < 9000,
                }),
                ..finished(&workload, stack, &key)
            };
            findings.extend(signals.request(&over, now));
        }
    }
    findings
}

#[test]
fn a_cache_that_is_read_less_than_before_pruning_is_reported() {
    let findings = findings_of_lower_reads(false);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(
        matches!(&findings[0], Finding::Warn(Signal::CacheShare, reason)
        if reason.starts_with("6 % of the input") && reason.ends_with("90 % are predicted")),
        "{findings:?}"
    );
}

#[test]
fn what_the_client_changed_or_what_expired_is_not_held_against_a_stack() {
    assert_eq!(findings_of_lower_reads(true), []);
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
