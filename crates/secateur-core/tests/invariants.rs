//! Every promise of the engine, on generated conversations, for every dialect, strategy and preset.
//!
//! `SECATEUR_CASES` raises the number of cases.

use proptest::prelude::*;
use secateur_core::dialect::{self, DialectId};
use secateur_core::json::Limits;
use secateur_testkit::invariants::{Fate, agree, hold};
use secateur_testkit::recipe::{Mode, Recipe, any_recipe, recipes};
use secateur_testkit::{accept, policies};

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

fn shown(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

proptest! {
    #![proptest_config(cases(160))]

    #[test]
    fn every_promise_holds_for_every_dialect_strategy_and_preset(
        recipe in any_recipe(28), options in any::<u64>(),
    ) {
        for dialect in DialectId::ALL {
            let body = recipe.body(dialect);
            for named in policies::all(options) {
                if let Err(broken) = hold(dialect, &body, &named) {
                    return Err(TestCaseError::fail(format!(
                        "{dialect}, {}: {broken}\n{}", named.name, shown(&body)
                    )));
                }
            }
        }
    }

    #[test]
    fn valid_conversations_are_acceptable_and_readable(recipe in recipes(Mode::Valid, 24)) {
        for dialect in DialectId::ALL {
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
        for dialect in DialectId::ALL {
            let body = recipe.body(dialect);
            if let Err(apart) = agree(dialect, &body) {
                return Err(TestCaseError::fail(format!("{dialect}: {apart}\n{}", shown(&body))));
            }
        }
    }
}

/// A property that holds because nothing is ever cut would prove nothing.
#[test]
fn generated_conversations_are_cut_by_every_strategy_in_every_dialect() {
    let mut pruned = std::collections::BTreeMap::new();
    for seed in 0..60 {
        let mode = if seed % 2 == 0 {
            Mode::Valid
        } else {
            Mode::Dirty
        };
        let recipe = Recipe::seeded(mode, seed, 40);
        for dialect in DialectId::ALL {
            let body = recipe.body(dialect);
            for named in policies::all(seed) {
                let fate = hold(dialect, &body, &named);
                let fate =
                    fate.unwrap_or_else(|broken| panic!("{dialect}, {}: {broken}", named.name));
                let strategies = named.policy.m7.strategies.join("+");
                *pruned.entry((dialect, strategies)).or_insert(0) +=
                    usize::from(fate == Fate::Pruned);
            }
        }
    }
    println!("{pruned:#?}");
    assert!(pruned.values().all(|&count| count > 0), "{pruned:#?}");
}
