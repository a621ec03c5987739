//! How often healthy stacks are retired and how soon harmful ones are, by simulation. The figures in
//! `docs/canary.md` are printed here: `cargo test -p secateur-canary verdict -- --nocapture`.

use std::collections::VecDeque;

use super::{Rule, Tally};

/// The defaults of `[workload.NAME.canary]`.
const WINDOW: usize = 200;
const CONFIDENCE: f64 = 0.99;

/// A small generator, so that every run sees the same numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// How scores of a given mean are spread.
#[derive(Clone, Copy, Debug)]
enum Spread {
    /// Right or wrong: the widest spread there is.
    AllOrNothing,
    /// Mostly 1, the rest anywhere below.
    Tail,
    /// Evenly around the mean, as far as 1 allows.
    Band,
}

impl Spread {
    fn draw(self, mean: f64, numbers: &mut Numbers) -> f64 {
        let number = numbers.next();
        match self {
            Self::AllOrNothing => f64::from(u8::from(number < mean)),
            // A share of 2 (1 - mean) is uniform between 0 and 1.
            Self::Tail if number < 2.0 * (1.0 - mean) => numbers.next(),
            Self::Tail => 1.0,
            Self::Band => mean + (number - 0.5) * 2.0 * (1.0 - mean).min(mean),
        }
    }
}

/// After how many scores a stack is retired, looking at the window after each.
fn retired_after(
    mean: f64,
    spread: Spread,
    rule: Rule,
    most: usize,
    numbers: &mut Numbers,
) -> Option<usize> {
    let mut window = Window::new(rule);
    (1..=most).find(|_| window.breaks_with(spread.draw(mean, numbers)))
}

/// The newest scores.
struct Window {
    scores: VecDeque<f64>,
    tally: Tally,
}

impl Window {
    fn new(rule: Rule) -> Self {
        Self {
            scores: VecDeque::with_capacity(WINDOW),
            tally: Tally::new(rule),
        }
    }

    fn breaks_with(&mut self, score: f64) -> bool {
        if self.scores.len() == WINDOW
            && let Some(old) = self.scores.pop_front()
        {
            self.tally.remove(old);
        }
        self.scores.push_back(score);
        self.tally.add(score);
        self.tally.verdict().is_breach
    }
}

fn rule(confidence: f64) -> Rule {
    Rule {
        floor: 0.95,
        min_samples: 30,
        confidence,
    }
}

const SPREADS: [Spread; 3] = [Spread::AllOrNothing, Spread::Tail, Spread::Band];

#[test]
fn healthy_stacks_with_noisy_scores_are_not_retired() {
    // 1,000 scores are 20,000 changed requests at 5 %.
    let (runs, scores) = (400, 1000);
    for confidence in [0.0, 0.9, CONFIDENCE] {
        for mean in [0.99, 0.97, 0.96, 0.95] {
            for spread in SPREADS {
                let mut numbers = Numbers(7);
                let alarms = (0..runs)
                    .filter(|_| {
                        retired_after(mean, spread, rule(confidence), scores, &mut numbers)
                            .is_some()
                    })
                    .count();
                let rate = alarms as f64 / f64::from(runs);
                println!("confidence {confidence} mean {mean} {spread:?}: {rate:.4} retired");
                if confidence == CONFIDENCE {
                    // The guarantee is for one window; the window moves on 970 times here.
                    let most = if mean > 0.95 { 0.005 } else { 0.03 };
                    assert!(rate <= most, "{mean} {spread:?} {rate}");
                } else if confidence == 0.0 && mean < 0.97 && !matches!(spread, Spread::Band) {
                    // Why the mean alone does not decide.
                    assert!(rate > 0.3, "{mean} {spread:?} {rate}");
                }
            }
        }
    }
}

#[test]
fn harmful_stacks_are_retired_within_the_expected_number_of_scores() {
    let runs = 300;
    // The mean of the scores, and the most that the slowest spread may need at the median.
    for (mean, expected) in [(0.5, 30), (0.7, 30), (0.8, 50), (0.85, 100), (0.9, 500)] {
        for spread in SPREADS {
            let mut numbers = Numbers(11);
            let mut needed: Vec<usize> = (0..runs)
                .map(|_| {
                    retired_after(mean, spread, rule(CONFIDENCE), 5000, &mut numbers)
                        .unwrap_or(5000)
                })
                .collect();
            needed.sort_unstable();
            let (median, p95) = (needed[runs / 2], needed[runs * 95 / 100]);
            println!("mean {mean} {spread:?}: median {median}, 95 % within {p95}");
            assert!(median <= expected, "{mean} {spread:?} {median}");
        }
    }
}

#[test]
fn a_stack_that_turns_bad_is_found_although_its_window_is_full_of_good_scores() {
    let (runs, good) = (200, 400);
    for (mean, expected) in [(0.5, 60), (0.8, 160)] {
        for spread in SPREADS {
            let mut numbers = Numbers(13);
            let mut needed: Vec<usize> = (0..runs)
                .map(|_| {
                    let mut window = Window::new(rule(CONFIDENCE));
                    for _ in 0..WINDOW {
                        window.breaks_with(spread.draw(0.99, &mut numbers));
                    }
                    (1..=good)
                        .find(|_| window.breaks_with(spread.draw(mean, &mut numbers)))
                        .unwrap_or(good)
                })
                .collect();
            needed.sort_unstable();
            let (median, p95) = (needed[runs / 2], needed[runs * 95 / 100]);
            println!("0.99 then {mean} {spread:?}: median {median}, 95 % within {p95}");
            assert!(median <= expected, "{mean} {spread:?} {median}");
        }
    }
}
