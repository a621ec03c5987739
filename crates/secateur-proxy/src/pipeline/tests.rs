use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::config::Config;
use crate::mechanic::ModelRoutes;

/// Which mechanics a workload opted in to, or which fit a request.
#[derive(Clone, Copy, Debug, Default)]
struct Set {
    m7: bool,
    m3: bool,
    m8: bool,
    m1: bool,
}

impl Set {
    fn all() -> impl Iterator<Item = Self> {
        (0..16).map(|bits| {
            let [m7, m3, m8, m1] = [0, 1, 2, 3].map(|bit| bits & (1 << bit) != 0);
            Self { m7, m3, m8, m1 }
        })
    }
}

/// A chat request that fits these mechanics.
fn body(fits: Set) -> Bytes {
    let turn = |at: usize| {
        let role = if at.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        let gap = if fits.m3 {
            " ".repeat(60)
        } else {
            " ".to_owned()
        };
        format!(
            r#"{{"role":"{role}","content":"turn{gap}{at} {}"}}"#,
            "word ".repeat(60)
        )
    };
    let turns: Vec<String> = (0..if fits.m7 { 21 } else { 3 }).map(turn).collect();
    let format = if fits.m8 {
        ""
    } else {
        r#","response_format":{"type":"text"}"#
    };
    let model = if fits.m1 { "big" } else { "other" };
    Bytes::from(format!(
        r#"{{"model":"{model}","messages":[{}]{format}}}"#,
        turns.join(",")
    ))
}

fn workload(wants: Set) -> Arc<Workload> {
    let preset = if wants.m7 {
        "preset = \"tessera\"\n"
    } else {
        ""
    };
    let m3 = if wants.m3 {
        "[workload.w.policy.m3]\ncompress_user_turns_enabled = true\n"
    } else {
        ""
    };
    let schema = if wants.m8 {
        "[workload.w.expected_schema]\nname = \"s\"\nschema = '{}'\n"
    } else {
        ""
    };
    let text = format!("[workload.w]\nbudget_ms = 10000\n{preset}{m3}{schema}");
    let config = Config::read("t", &text, Path::new("."), &|_| None).unwrap();
    let mut workload = Workload::clone(&config.workloads["w"]);
    workload.routes = wants.m1.then(|| {
        Arc::new(ModelRoutes {
            models: BTreeMap::from([("big".to_owned(), "small".to_owned())]),
            max_body_chars: 100_000,
        })
    });
    Arc::new(workload)
}

fn prunes() -> Arc<Workload> {
    workload(Set {
        m7: true,
        ..Set::default()
    })
}

fn long() -> Bytes {
    body(Set {
        m7: true,
        ..Set::default()
    })
}

fn job(body: Bytes, workload: Arc<Workload>) -> Job {
    Job {
        orders: Orders::default(),
        body,
        dialect: DialectId::OpenaiChat,
        path_model: None,
        workload,
        engine: Arc::new(CoreEngine),
        summaries: None,
    }
}

/// Every subset of opted in × every subset of eligible, through the real chain.
#[test]
fn at_most_one_mutation_by_priority_and_m1_only_without_candidates() {
    for wants in Set::all() {
        for fits in Set::all() {
            let decision = run(&job(body(fits), workload(wants)));
            let expected: &[&str] = match () {
                () if wants.m7 && fits.m7 => &["m7"],
                () if wants.m3 && fits.m3 => &["m3"],
                () if wants.m8 && fits.m8 => &["m8"],
                () if wants.m1 && fits.m1 => &["m1"],
                () => &[],
            };
            let case = format!("{wants:?} {fits:?} {:?}", decision.steps);
            assert_eq!(decision.stack, expected, "{case}");
            assert_eq!(decision.body.is_some(), !expected.is_empty(), "{case}");
            for (mechanic, wanted, fit) in [
                (Mechanic::M7, wants.m7, fits.m7),
                (Mechanic::M3, wants.m3, fits.m3),
                (Mechanic::M8, wants.m8, fits.m8),
                (Mechanic::M1, wants.m1, fits.m1),
            ] {
                let step = decision.steps.iter().find(|step| step.mechanic == mechanic);
                let reason = step.unwrap().skipped.as_deref();
                let expected = match () {
                    () if expected == [mechanic.name()] => None,
                    () if !wanted => Some("not-opted-in"),
                    () if !fit && mechanic == Mechanic::M1 => Some("not-in-table"),
                    () if !fit => Some("not-eligible"),
                    () => Some("lost-to-priority"),
                };
                assert_eq!(reason, expected, "{mechanic} {case}");
            }
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
    let mut job = job(long(), prunes());
    job.engine = Arc::new(Panics);
    let decision = decide(job, &Arc::new(Semaphore::new(1))).await;
    assert_eq!(
        (decision.failed_open, decision.body),
        (Some(FailOpen::Panicked), None)
    );
}

#[tokio::test]
async fn a_chain_over_its_budget_sends_the_original_out_and_keeps_its_slot() {
    let mut slow = Workload::clone(&prunes());
    slow.budget = Duration::from_millis(20);
    let mut job = job(long(), Arc::new(slow));
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
        workload(Set {
            m7: true,
            m3: true,
            m8: true,
            m1: true,
        }),
    ));
    assert_eq!((decision.stack.len(), decision.body), (0, None));
    assert_eq!(decision.failed_open, Some(FailOpen::Engine));
}
