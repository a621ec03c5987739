//! A seeded search over the options of `steady`: random settings first, then changes to the best found.

use secateur_replay::{Policy, Session, Totals, replay};

use crate::steady::{NEVER, Steady};

/// What must still be there.
#[derive(Debug, Clone, Copy)]
pub struct Goal {
    pub ids: f64,
    pub lines: f64,
}

impl Goal {
    /// The bill, plus a fine for each goal missed.
    pub fn loss(&self, t: &Totals) -> f64 {
        let missed = |goal: f64, got: f64| (goal - got).max(0.0);
        t.bill()
            + 20.0 * missed(self.ids, t.ids())
            + 20.0 * missed(self.lines, t.lines())
            + 5.0 * missed(t.worst(), 1.0)
    }
}

/// The goals of the frontier: `ids` is the second number of the aim, or free.
pub const GOALS: [Goal; 6] = [
    Goal {
        ids: 0.99,
        lines: 0.99,
    },
    Goal {
        ids: 0.99,
        lines: 0.98,
    },
    Goal {
        ids: 0.0,
        lines: 0.99,
    },
    Goal {
        ids: 0.0,
        lines: 0.98,
    },
    Goal {
        ids: 0.0,
        lines: 0.97,
    },
    Goal {
        ids: 0.0,
        lines: 0.95,
    },
];

type Set = fn(&mut Steady, f64);

const AXES: &[(Set, &[f64])] = &[
    (|o, v| o.horizon = v, &[3.0, 4.0, 6.0, 8.0, 12.0, 16.0]),
    (|o, v| o.touch_edited = v, &[2.0, 3.0, 4.0, 6.0, 10.0]),
    (
        |o, v| o.touch_past_turn = v,
        &[1.0, 2.0, 4.0, 8.0, 16.0, NEVER],
    ),
    (
        |o, v| o.touch_unedited = v,
        &[5.0, 8.0, 12.0, 20.0, 40.0, NEVER],
    ),
    (|o, v| o.touch_named = v, &[15.0, 30.0, 60.0, NEVER]),
    (|o, v| o.age_command = v, &[1.0, 2.0, 4.0, 8.0, NEVER]),
    (|o, v| o.age_search = v, &[1.0, 2.0, 4.0, 8.0, NEVER]),
    (|o, v| o.age_edit = v, &[4.0, 8.0, 16.0, NEVER]),
    (|o, v| o.age_task = v, &[8.0, 30.0, NEVER]),
    (|o, v| o.age_other = v, &[4.0, 12.0, 30.0, NEVER]),
    (|o, v| o.past_turn_factor = v, &[0.25, 0.5, 1.0]),
    (
        |o, v| (o.arrival_max_chars, o.arrival_head, o.arrival_tail) = arrival(v),
        &[3000.0, 4000.0, 6000.0, 8000.0, NEVER],
    ),
    (
        |o, v| o.min_chars = v as usize,
        &[300.0, 500.0, 1000.0, 2000.0],
    ),
    (
        |o, v| o.min_round_tokens = v,
        &[100.0, 300.0, 1000.0, 3000.0],
    ),
];

fn arrival(max: f64) -> (usize, usize, usize) {
    let max = max as usize;
    (max, max * 3 / 8, max * 3 / 8)
}

/// A linear congruential generator: the search is the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

/// The best setting found for each goal, and everything that was tried.
pub fn search(
    sessions: &[Session],
    goals: &[Goal],
    batches: usize,
    start: &Steady,
) -> (Vec<(Steady, Totals)>, Vec<Totals>) {
    let mut pool = Vec::new();
    let mut dice = Dice(7);
    let mut best: Vec<Option<(f64, Steady, Totals)>> = vec![None; goals.len()];
    for batch in 0..batches {
        let candidates: Vec<Steady> = (0..18)
            .map(|n| {
                let parent = best[n % goals.len()]
                    .as_ref()
                    .filter(|_| batch * 3 >= batches);
                let mut o = parent.map_or_else(|| start.clone(), |(_, o, _)| o.clone());
                let changes = if parent.is_some() {
                    1 + dice.below(3)
                } else {
                    AXES.len()
                };
                for change in 0..changes {
                    let (set, values) = AXES[if parent.is_some() {
                        dice.below(AXES.len())
                    } else {
                        change
                    }];
                    set(&mut o, values[dice.below(values.len())]);
                }
                o
            })
            .collect();
        let policies: Vec<&dyn Policy> = candidates.iter().map(|o| o as &dyn Policy).collect();
        let totals = replay(sessions, &policies, 0, &|_, _| {});
        for (o, t) in candidates.iter().zip(&totals) {
            for (goal, best) in goals.iter().zip(&mut best) {
                let loss = goal.loss(t);
                if best.as_ref().is_none_or(|b| loss < b.0 - 1e-6) {
                    *best = Some((loss, o.clone(), t.clone()));
                }
            }
        }
        if batch * 3 < batches {
            pool.extend(totals);
        }
        if batch % 5 == 4 || batch + 1 == batches {
            println!("batch {}", batch + 1);
            for (goal, best) in goals.iter().zip(&best) {
                if let Some((_, _, t)) = best {
                    println!(
                        "  ids {:.2} lines {:.2}: bill {:.4} worst {:.4} ids {:.4} lines {:.4} rounds {:.1}",
                        goal.ids,
                        goal.lines,
                        t.bill(),
                        t.worst(),
                        t.ids(),
                        t.lines(),
                        t.rounds_per_session()
                    );
                }
            }
        }
    }
    (
        best.into_iter().flatten().map(|(_, o, t)| (o, t)).collect(),
        pool,
    )
}

/// Cross-validation over sessions: of the random settings, the best on four fifths, scored on the fifth.
pub fn cross_validate(goals: &[Goal], pool: &[Totals]) {
    const FOLDS: usize = 5;
    let part = |t: &Totals, keep: &dyn Fn(usize) -> bool| Totals {
        sessions: t
            .sessions
            .iter()
            .enumerate()
            .filter(|(n, _)| keep(*n))
            .map(|(_, s)| s.clone())
            .collect(),
    };
    for goal in goals {
        let (mut seen, mut unseen) = (Totals::default(), Totals::default());
        for fold in 0..FOLDS {
            let trained = pool.iter().min_by(|a, b| {
                let loss = |t: &Totals| goal.loss(&part(t, &|n| n % FOLDS != fold));
                loss(a).total_cmp(&loss(b))
            });
            if let Some(t) = trained {
                seen.sessions
                    .extend(part(t, &|n| n % FOLDS != fold).sessions);
                unseen
                    .sessions
                    .extend(part(t, &|n| n % FOLDS == fold).sessions);
            }
        }
        for (name, t) in [("tuned on", &seen), ("held out", &unseen)] {
            println!(
                "ids {:.2} lines {:.2} {name}: bill {:.4} worst {:.4} ids {:.4} lines {:.4}",
                goal.ids,
                goal.lines,
                t.bill(),
                t.worst(),
                t.ids(),
                t.lines()
            );
        }
    }
}
