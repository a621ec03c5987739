use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::config::Config;
use crate::limits::{ByteBudget, OverBudget, Slots};
use crate::mechanic::ModelRoutes;
use crate::wire::encoding::Encoding;

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

async fn decided(job: Job, slots: &Slots) -> Decision {
    let plenty = ByteBudget::new(1 << 30);
    run_within_budget(job, None, slots, &plenty)
        .await
        .unwrap()
        .decision
}

fn job(body: Bytes, workload: Arc<Workload>) -> Job {
    Job {
        overrides: Overrides::default(),
        body,
        is_wrapped: false,
        dialect: Dialect::OpenaiChat,
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
    let decision = decided(job, &Slots::new(1)).await;
    assert_eq!(
        (decision.failed_open, decision.body),
        (Some(FailOpen::Panicked), None)
    );
}

#[tokio::test]
async fn a_chain_over_its_budget_sends_the_original_out_and_keeps_its_slot() {
    let mut slow = Workload::clone(&prunes());
    slow.budget.base = Duration::from_millis(20);
    slow.budget.per_mb = Duration::ZERO;
    let mut job = job(long(), Arc::new(slow));
    job.engine = Arc::new(Stalls);
    let slots = Slots::new(1);
    for _ in 0..3 {
        let decision = decided(job.clone(), &slots).await;
        assert_eq!(
            (decision.failed_open, decision.body),
            (Some(FailOpen::OverBudget), None)
        );
    }
    let none = slots.acquire(&job.workload.name, Duration::ZERO).await;
    assert!(none.is_none(), "the first one still runs");
}

/// An engine that works for a while, as one does on a long conversation or a busy machine.
#[derive(Debug)]
struct Works(Duration);

impl Engine for Works {
    fn prune<'a>(&self, body: &'a [u8], request: &Request<'_>, policy: &Policy) -> Outcome<'a> {
        std::thread::sleep(self.0);
        prune(body, request, policy)
    }
}

fn with_the_default_budget() -> Arc<Workload> {
    let text = "[workload.w]\npreset = \"tessera\"\n";
    let config = Config::read("t", text, Path::new("."), &|_| None).unwrap();
    Arc::clone(&config.workloads["w"])
}

#[tokio::test]
async fn a_chain_of_a_fifth_of_a_second_is_within_the_default_budget() {
    let mut job = job(long(), with_the_default_budget());
    job.engine = Arc::new(Works(Duration::from_millis(200)));
    let decision = decided(job, &Slots::new(2)).await;
    assert_eq!((decision.failed_open, decision.stack), (None, vec!["m7"]));
}

/// Each request has its whole budget for itself: those that wait for a slot do not give up because others ran.
#[tokio::test]
async fn requests_queue_for_a_slot_within_their_budget() {
    let mut job = job(long(), with_the_default_budget());
    job.engine = Arc::new(Works(Duration::from_millis(120)));
    let slots = Slots::new(2);
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let (job, slots) = (job.clone(), slots.clone());
            tokio::spawn(async move { decided(job, &slots).await })
        })
        .collect();
    for decision in waiting {
        let decision = decision.await.unwrap();
        assert_eq!(decision.failed_open, None, "{:?}", decision.time);
    }
}

/// Of 129 requests of other workloads 43 went out unpruned, because one workload's heavy bodies held all slots.
#[tokio::test]
async fn heavy_bodies_of_one_workload_do_not_hold_up_another() {
    let named = |name: &str| {
        let mut workload = Workload::clone(&with_the_default_budget());
        workload.name = name.into();
        Arc::new(workload)
    };
    let slots = Slots::new(4);
    let mut heavy = job(long(), named("heavy"));
    heavy.engine = Arc::new(Works(Duration::from_millis(1_500)));
    let running: Vec<_> = (0..8)
        .map(|_| {
            let (job, slots) = (heavy.clone(), slots.clone());
            tokio::spawn(async move { decided(job, &slots).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(50)).await;
    for _ in 0..4 {
        let decision = decided(job(long(), named("light")), &slots).await;
        assert_eq!(decision.failed_open, None, "{:?}", decision.time);
    }
    drop(running);
}

#[tokio::test]
async fn the_budget_grows_with_the_body() {
    let mut grows = Workload::clone(&prunes());
    grows.budget.base = Duration::from_millis(1);
    grows.budget.per_mb = Duration::from_secs(60);
    let mut body = long().to_vec();
    body.extend(vec![b' '; 1 << 20]);
    let mut job = job(Bytes::from(body), Arc::new(grows));
    job.engine = Arc::new(Works(Duration::from_millis(150)));
    let decision = decided(job, &Slots::new(1)).await;
    assert_eq!(decision.failed_open, None, "{:?}", decision.time);
    let time = decision.time.unwrap();
    assert!(time.budget > Duration::from_secs(60) && time.ran >= Duration::from_millis(150));
}

fn gzipped(body: &[u8]) -> Bytes {
    use std::io::Write;
    let level = flate2::Compression::fast();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
    encoder.write_all(body).unwrap();
    Bytes::from(encoder.finish().unwrap())
}

const GZIPPED: Option<Encoded> = Some(Encoded {
    encoding: Encoding::Gzip,
    max_bytes: 32 << 20,
});

/// Decoding ran before the clock was started, and as many bodies at a time as came in.
#[tokio::test]
async fn decoding_counts() {
    let mut short = Workload::clone(&prunes());
    short.budget.base = Duration::from_millis(1);
    short.budget.per_mb = Duration::ZERO;
    let bomb = gzipped(&vec![b'x'; 24 << 20]);
    let job = job(bomb, Arc::new(short));
    let plenty = ByteBudget::new(64 << 20);
    let decided = run_within_budget(job, GZIPPED, &Slots::new(1), &plenty)
        .await
        .unwrap();
    assert_eq!(decided.decision.failed_open, Some(FailOpen::OverBudget));
    let time = decided.decision.time.unwrap();
    assert!(time.body_bytes < 24 << 20, "{time:?}");
}

#[tokio::test]
async fn a_decoded_body_and_a_changed_one_need_room() {
    let body = long();
    let (packed, slots) = (job(gzipped(&body), prunes()), Slots::new(1));
    for bytes in [body.len() - 1, body.len()] {
        let small = ByteBudget::new(bytes);
        let decided = run_within_budget(packed.clone(), GZIPPED, &slots, &small).await;
        assert_eq!(decided.unwrap_err(), OverBudget);
        assert_eq!(small.used(), 0);
    }
    let enough = ByteBudget::new(body.len() * 2);
    let decided = run_within_budget(packed, GZIPPED, &slots, &enough)
        .await
        .unwrap();
    let changed = decided.decision.body.as_ref().unwrap().len();
    assert_eq!(decided.body.as_ref(), Some(&body));
    assert_eq!(enough.used(), body.len() + changed);
    drop(decided);
    assert_eq!(enough.used(), 0);
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
