//! Policies to prune with: every preset, and every strategy alone with options so small that it
//! bites on short conversations.

use secateur_core::policy::{PRESETS, Policy};
use secateur_core::strategy::{self, StrategyFacts};
use toml::Value;

use crate::dice::Dice;

/// A policy and what it is.
#[derive(Clone, Debug)]
pub struct Named {
    /// For messages.
    pub name: String,
    /// The policy.
    pub policy: Policy,
    /// Whether every strategy of it says that it is idempotent.
    pub is_idempotent: bool,
}

/// Gate open, every strategy alone, every preset; `seed` decides the options.
#[must_use]
pub fn all(seed: u64) -> Vec<Named> {
    let mut dice = Dice::new(seed);
    let alone = strategy::ALL
        .iter()
        .filter_map(|facts| alone(facts, &mut dice));
    let mut policies: Vec<Named> = alone.collect();
    policies.extend(PRESETS.iter().filter_map(|preset| open_gate(preset.name)));
    policies.extend(PRESETS.iter().filter_map(|preset| {
        let policy = Policy::preset(preset.name).ok()?;
        Some(named(format!("preset {}", preset.name), policy))
    }));
    policies.extend(
        ["steady", "openclaw-adaptive"]
            .into_iter()
            .filter_map(|preset| {
                let settings = [
                    "recall=placeholder".to_owned(),
                    "m7.min_messages=0".to_owned(),
                ];
                let policy = Policy::resolve(Some(preset), None, &settings).ok()?;
                Some(named(format!("preset {preset} with recall"), policy))
            }),
    );
    policies
}

fn named(name: String, policy: Policy) -> Named {
    let is_idempotent = policy.m7.strategies.iter().all(|id| {
        let facts = strategy::ALL.iter().find(|facts| facts.id.0 == id);
        facts.is_some_and(|facts| facts.about().contains("Idempotent"))
    });
    Named {
        name,
        policy,
        is_idempotent,
    }
}

/// A preset that looks at every request, however short.
fn open_gate(preset: &str) -> Option<Named> {
    let settings = [
        "m7.min_messages=0".to_owned(),
        "m7.min_body_chars=0".to_owned(),
    ];
    let policy = Policy::resolve(Some(preset), None, &settings).ok()?;
    Some(named(format!("preset {preset}, gate open"), policy))
}

/// Every two strategies together, in both orders; `seed` decides the options.
#[must_use]
pub fn pairs(seed: u64) -> Vec<Named> {
    let mut dice = Dice::new(seed);
    let mut policies = Vec::new();
    for first in strategy::ALL {
        for second in strategy::ALL.iter().filter(|facts| facts.id != first.id) {
            policies.extend(together(&[first, second], &mut dice));
        }
    }
    policies
}

/// A policy that runs only this strategy.
fn alone(facts: &StrategyFacts, dice: &mut Dice) -> Option<Named> {
    together(&[facts], dice)
}

/// A policy that runs only these strategies.
fn together(all: &[&StrategyFacts], dice: &mut Dice) -> Option<Named> {
    let ids: Vec<&str> = all.iter().map(|facts| facts.id.0).collect();
    let mut settings = vec![
        "m7.enabled=true".to_owned(),
        "m7.min_messages=0".to_owned(),
        "m7.min_body_chars=0".to_owned(),
        format!("m7.strategies={ids:?}"),
    ];
    for facts in all {
        for option in facts.options {
            let default = format!("v = {}", (option.default)()).parse::<toml::Table>();
            if let Some(value) = default.ok().and_then(|mut table| table.remove("v")) {
                let path = format!("{}.{}", facts.id, option.key);
                shrink(&path, &value, dice, &mut settings);
            }
        }
    }
    let policy = resolve(&settings)?;
    Some(named(
        format!("only {}, {settings:?}", ids.join(" and ")),
        policy,
    ))
}

/// Adds settings for this option that are smaller than its default, where they are allowed.
fn shrink(path: &str, default: &Value, dice: &mut Dice, settings: &mut Vec<String>) {
    let small = match default {
        // Nothing can be condensed to less than this.
        Value::Integer(number) if path.ends_with(".keep_chars") => {
            dice.pick(&[240, 400, *number]).map(i64::to_string)
        }
        Value::Integer(number) => {
            let scaled = if *number >= 100 {
                *number / 50
            } else {
                *number
            };
            let choices = [0, 1, 2, scaled.min(40), *number];
            dice.pick(&choices).map(i64::to_string)
        }
        Value::Float(number) => dice
            .pick(&[0.0, *number / 100.0, *number])
            .map(|small| format!("{small:?}")),
        Value::Boolean(_) => Some(dice.one_in(2).to_string()),
        Value::Table(members) => {
            for (key, value) in members {
                shrink(&format!("{path}.{key}"), value, dice, settings);
            }
            None
        }
        Value::String(_) | Value::Array(_) | Value::Datetime(_) => None,
    };
    if let Some(small) = small {
        settings.push(format!("{path}={small}"));
        if resolve(settings).is_none() {
            settings.pop();
        }
    }
}

fn resolve(settings: &[String]) -> Option<Policy> {
    Policy::resolve(None, None, settings).ok()
}
