//! The fuzz targets, driven by a seeded mutator for a bounded number of rounds, so that they run on
//! every machine and cannot rot. `SECATEUR_FUZZ_ROUNDS` raises the number; `fuzz/run` runs longer
//! and with coverage.

use secateur_core::Dialect;
use secateur_testkit::invariants::Fate;
use secateur_testkit::targets::{raw_read, scanner_vs_serde, structured_prune};
use secateur_testkit::{Dice, Mode, Recipe};

fn rounds(default: u64) -> u64 {
    let rounds = std::env::var("SECATEUR_FUZZ_ROUNDS");
    rounds
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(default)
}

const TOKENS: [&str; 23] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u",
    "\\ud83d",
    "null",
    "\"role\":",
    "\"content\":",
    "\"type\":\"text\"",
    "\"tool_use\"",
    "1e5",
    " ",
    "\"parts\":[",
    "\"user\"",
    "é",
    "\"cache_control\":{\"type\":\"ephemeral\"},",
    "\"cache\\u005fcontrol\":null,",
    "\"prompt_cache_breakpoint\":{\"mode\":\"explicit\"},",
];

/// Changes a few places: bytes flipped, tokens put in, stretches cut, doubled or moved.
fn mutate(body: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..=dice.below(4) {
        let at = dice.below(body.len());
        let end = (at + 1 + dice.below(40)).min(body.len());
        match dice.below(6) {
            0 => {
                if let Some(byte) = body.get_mut(at) {
                    *byte ^= 1 << dice.below(8);
                }
            }
            1 => drop(body.splice(at..at, dice.word(&TOKENS).bytes())),
            2 => drop(body.drain(at..end)),
            3 => {
                let copy = body[at..end].to_vec();
                body.splice(end..end, copy);
            }
            4 => {
                let copy = body[at..end].to_vec();
                let to = dice.below(body.len());
                body.splice(to..to, copy);
            }
            _ => drop(body.splice(at..end, dice.word(&TOKENS).bytes())),
        }
    }
}

#[test]
fn any_bytes_are_read_or_given_back() {
    for round in 0..rounds(3_000) {
        let mut dice = Dice::new(round);
        let dialect = Dialect::ALL[dice.below(4)];
        let mut body = Recipe::seeded(Mode::Dirty, round, 8).body(dialect);
        mutate(&mut body, &mut dice);
        raw_read(&body).unwrap_or_else(|broken| {
            panic!(
                "round {round}: {broken}\n{}",
                String::from_utf8_lossy(&body)
            )
        });
    }
}

#[test]
fn the_scanner_and_serde_json_agree_on_damaged_json() {
    for round in 0..rounds(12_000) {
        let mut dice = Dice::new(round);
        let mut body = Recipe::seeded(Mode::Valid, round, 2).body(Dialect::ALL[dice.below(4)]);
        if dice.one_in(2) {
            let at = body.iter().position(|&byte| byte == b'"').unwrap();
            body = body.split_off(at);
        }
        mutate(&mut body, &mut dice);
        scanner_vs_serde(&body).unwrap_or_else(|broken| {
            panic!(
                "round {round}: {broken}\n{}",
                String::from_utf8_lossy(&body)
            )
        });
    }
}

#[test]
fn random_recipes_keep_every_promise() {
    let mut pruned = 0;
    for round in 0..rounds(400) {
        let mut dice = Dice::new(round);
        let length = dice.below(500);
        let bytes = dice.bytes(length);
        let fates = structured_prune(&bytes);
        let fates = fates.unwrap_or_else(|broken| panic!("round {round}: {broken}"));
        pruned += fates.iter().filter(|fate| **fate == Fate::Pruned).count();
    }
    assert!(pruned > 0);
}
