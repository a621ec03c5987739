//! Every promise of the engine, on generated conversations, for every dialect, strategy and preset.
//!
//! `SECATEUR_CASES` raises the number of cases.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proptest::prelude::*;
use secateur_core::Limits;
use secateur_core::dialect::{self, Dialect};
use secateur_testkit::invariants::{Fate, agree, hold};
use secateur_testkit::policies::{self, Named};
use secateur_testkit::recipe::{Mode, Recipe, any_recipe, recipes};
use secateur_testkit::{accept, session};

fn cases(default: u32) -> ProptestConfig {
    let cases = std::env::var("SECATEUR_CASES");
    let cases = cases
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(default);
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

const OPTION_SETS: usize = 24;

/// Every strategy alone with this many sets of options, and every preset.
static POLICIES: LazyLock<Vec<Vec<Named>>> =
    LazyLock::new(|| (0..OPTION_SETS as u64).map(policies::all).collect());

fn shown(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

proptest! {
    #![proptest_config(cases(160))]

    /// Every strategy and preset takes its turn, however many there are.
    #[test]
    fn every_promise_holds_for_every_dialect_strategy_and_preset(
        recipe in any_recipe(28), options in 0..OPTION_SETS, turn in any::<usize>(),
    ) {
        let policies = &POLICIES[options];
        for dialect in Dialect::ALL {
            let body = recipe.body(dialect);
            for named in policies.iter().cycle().skip(turn % policies.len()).take(4) {
                if let Err(broken) = hold(dialect, &body, named) {
                    return Err(TestCaseError::fail(format!(
                        "{dialect}, {}: {broken}\n{}", named.name, shown(&body)
                    )));
                }
            }
        }
    }

    #[test]
    fn valid_conversations_are_acceptable_and_readable(recipe in recipes(Mode::Valid, 24)) {
        for dialect in Dialect::ALL {
            let body = recipe.body(dialect);
            let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
            let complaints = accept::complaints(&value, dialect);
            prop_assert!(complaints.is_empty(), "{} {:?}\n{}", dialect, complaints, shown(&body));
            let read = dialect::read(&body, dialect, &Limits::default());
            prop_assert!(read.is_ok(), "{} {:?}\n{}", dialect, read.err(), shown(&body));
        }
    }

    #[test]
    fn check_and_an_independent_judge_agree(recipe in any_recipe(16)) {
        for dialect in Dialect::ALL {
            let body = recipe.body(dialect);
            if let Err(apart) = agree(dialect, &body) {
                return Err(TestCaseError::fail(format!("{dialect}: {apart}\n{}", shown(&body))));
            }
        }
    }
}

/// Generated conversations and some that look like real traffic.
fn conversation_bodies(seed: u64, dialect: Dialect) -> Vec<Vec<u8>> {
    let turns = 10 + usize::try_from(seed).unwrap() % 50;
    vec![
        Recipe::seeded(Mode::Valid, seed, 40).body(dialect),
        Recipe::seeded(Mode::Dirty, seed, 40).body(dialect),
        session::agent_session(seed, turns).body(dialect),
        session::support_chat(seed, turns).body(dialect),
        session::rag_request(seed, 3 + turns % 12).body(dialect),
    ]
}

/// A property that holds because nothing is ever cut would prove nothing.
#[test]
fn every_strategy_cuts_something_and_keeps_every_promise() {
    let mut pruned: BTreeMap<String, BTreeMap<Dialect, usize>> = BTreeMap::new();
    for seed in 0..OPTION_SETS {
        for dialect in Dialect::ALL {
            for body in conversation_bodies(seed as u64, dialect) {
                for named in &POLICIES[seed] {
                    let strategies = named.policy.m7.strategies.join("+");
                    let count = pruned
                        .entry(strategies)
                        .or_default()
                        .entry(dialect)
                        .or_default();
                    // A few prunes each are enough to know that it bites.
                    if *count < 4 {
                        let fate = hold(dialect, &body, named);
                        let fate = fate.unwrap_or_else(|broken| {
                            panic!("{dialect}, {}: {broken}\n{}", named.name, shown(&body))
                        });
                        *count += usize::from(fate == Fate::Pruned);
                    }
                }
            }
        }
    }
    for (strategies, counts) in &pruned {
        let idle: Vec<_> = counts.iter().filter(|(_, count)| **count == 0).collect();
        if !idle.is_empty() {
            println!("{strategies} cut nothing in {idle:?}");
        }
        assert!(idle.len() < counts.len(), "{strategies} never cut anything");
    }
}

/// What one strategy leaves is what the next one works on: notes that point back, turns that are gone,
/// texts that are cut.
#[test]
fn every_two_strategies_keep_every_promise_together() {
    for (seed, dialect) in (0..).zip(Dialect::ALL) {
        let body = session::agent_session(seed, 50).body(dialect);
        for named in policies::pairs(seed) {
            // A second run may find new work: the one strategy's cuts move what the other counts.
            let named = Named {
                is_idempotent: false,
                ..named
            };
            if let Err(broken) = hold(dialect, &body, &named) {
                panic!("{dialect}, {}: {broken}\n{}", named.name, shown(&body));
            }
        }
    }
}
