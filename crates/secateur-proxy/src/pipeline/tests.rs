use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::config::Config;
use crate::mechanic::ModelRoutes;

/// A chat request of so many turns; the format is the caller's own if asked for.
fn body(turns: usize, sets_format: bool) -> Bytes {
    let turn = |at: usize| {
        let role = if at.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        format!(r#"{{"role":"{role}","content":"turn {at}"}}"#)
    };
    let turns: Vec<String> = (0..turns).map(turn).collect();
    let format = if sets_format {
        r#","response_format":{"type":"text"}"#
    } else {
        ""
    };
    Bytes::from(format!(
        r#"{{"model":"big","messages":[{}]{format}}}"#,
        turns.join(",")
    ))
}

fn workload(m7: bool, m8: bool, m1: bool) -> Arc<Workload> {
    let preset = if m7 { "preset = \"tessera\"\n" } else { "" };
    let schema = if m8 {
        "[workload.w.expected_schema]\nname = \"s\"\nschema = '{}'\n"
    } else {
        ""
    };
    let text = format!("[workload.w]\nbudget_ms = 10000\n{preset}{schema}");
    let config = Config::read("t", &text, Path::new("."), &|_| None).unwrap();
    let mut workload = Workload::clone(&config.workloads["w"]);
    workload.routes = m1.then(|| {
        Arc::new(ModelRoutes {
            models: BTreeMap::from([("big".to_owned(), "small".to_owned())]),
            max_body_chars: 100_000,
        })
    });
    Arc::new(workload)
}

fn job(body: Bytes, workload: Arc<Workload>) -> Job {
    Job {
        body,
        dialect: DialectId::OpenaiChat,
        path_model: None,
        workload,
        engine: Arc::new(CoreEngine),
    }
}

/// Every subset of opted in × eligible for the mechanics that exist: the cap holds, the priority
/// holds, and M1 moves only where nothing could mutate.
#[test]
fn at_most_one_mutation_by_priority_and_m1_only_without_candidates() {
    for bits in 0..32 {
        let [m7, m7_eligible, m8, m8_eligible, m1] =
            [0, 1, 2, 3, 4].map(|bit| bits & (1 << bit) != 0);
        let input = body(if m7_eligible { 21 } else { 3 }, !m8_eligible);
        let decision = run(&job(input.clone(), workload(m7, m8, m1)));
        let expected: &[&str] = match () {
            () if m7 && m7_eligible => &["m7"],
            () if m8 && m8_eligible => &["m8"],
            () if m1 => &["m1"],
            () => &[],
        };
        assert_eq!(
            decision.stack, expected,
            "m7 {m7}/{m7_eligible} m8 {m8}/{m8_eligible} m1 {m1}"
        );
        assert_eq!(decision.body.is_some(), !expected.is_empty());
        let reason = |mechanic: Mechanic| {
            let step = decision
                .steps
                .iter()
                .find(|step| step.mechanic == mechanic)
                .unwrap();
            step.skipped.as_deref().unwrap_or("fired")
        };
        if m7 && m7_eligible && m8 && m8_eligible {
            assert_eq!(reason(Mechanic::M8), "lost-to-priority");
        }
        if m1 && expected != ["m1"] {
            assert_eq!(reason(Mechanic::M1), "mutating-candidate");
        }
        if m7 && !m7_eligible {
            assert_eq!(reason(Mechanic::M7), "not-eligible");
        }
    }
}

#[derive(Debug)]
struct Panics;

impl Engine for Panics {
    fn prune<'a>(&self, _: &'a [u8], _: &Request<'_>, _: &Policy) -> Outcome<'a> {
        panic!("as asked")
    }
}

#[derive(Debug)]
struct Stalls;

impl Engine for Stalls {
    fn prune<'a>(&self, body: &'a [u8], request: &Request<'_>, policy: &Policy) -> Outcome<'a> {
        std::thread::sleep(Duration::from_millis(300));
        prune(body, request, policy)
    }
}

#[tokio::test]
async fn a_panic_sends_the_original_out() {
    let mut job = job(body(21, false), workload(true, false, false));
    job.engine = Arc::new(Panics);
    let decision = decide(job, &Arc::new(Semaphore::new(1))).await;
    assert_eq!(
        (decision.failed_open, decision.body),
        (Some(FailOpen::Panicked), None)
    );
}

#[tokio::test]
async fn a_chain_over_its_budget_sends_the_original_out_and_keeps_its_slot() {
    let mut slow = Workload::clone(&workload(true, false, false));
    slow.budget = Duration::from_millis(20);
    let mut job = job(body(21, false), Arc::new(slow));
    job.engine = Arc::new(Stalls);
    let slots = Arc::new(Semaphore::new(1));
    for _ in 0..3 {
        let decision = decide(job.clone(), &slots).await;
        assert_eq!(
            (decision.failed_open, decision.body),
            (Some(FailOpen::OverBudget), None)
        );
    }
    assert_eq!(slots.available_permits(), 0);
}

#[test]
fn a_body_that_cannot_be_read_passes_every_link() {
    let decision = run(&job(
        Bytes::from_static(b"{nonsense"),
        workload(true, true, true),
    ));
    assert_eq!((decision.stack.len(), decision.body), (0, None));
    assert_eq!(decision.failed_open, Some(FailOpen::Engine));
}
