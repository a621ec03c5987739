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

const AXES: &[(&str, &[f64])] = &[
    ("horizon", &[2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0]),
    ("hgrow", &[0.0, 0.0, 0.05, 0.1, 0.2]),
    ("edited", &[2.0, 3.0, 4.0, 6.0, 10.0, NEVER]),
    ("pastfile", &[2.0, 4.0, 8.0, 16.0, NEVER]),
    ("unedited", &[5.0, 8.0, 12.0, 20.0, 40.0, NEVER]),
    ("named", &[15.0, 30.0, 60.0, NEVER, NEVER]),
    ("cmd", &[1.0, 2.0, 4.0, 8.0, 16.0, NEVER]),
    ("search", &[1.0, 2.0, 4.0, 8.0, 16.0, NEVER]),
    ("edit", &[4.0, 8.0, 16.0, NEVER]),
    ("task", &[8.0, 30.0, NEVER, NEVER]),
    ("other", &[4.0, 12.0, 30.0, NEVER]),
    ("past", &[0.25, 0.5, 1.0]),
    ("arr", &[2000.0, 3000.0, 4000.0, 6000.0, 8000.0, NEVER]),
    ("sarr", &[700.0, 1000.0, 1500.0, 2000.0, 3000.0, 4000.0]),
    ("min", &[300.0, 500.0, 1000.0, 2000.0]),
    ("minread", &[0.0, 2000.0, 4000.0, 8000.0, 15000.0]),
    ("round", &[100.0, 300.0, 1000.0, 3000.0]),
    ("old", &[1.0, 2.0, 4.0, 8.0, NEVER]),
    ("todo", &[1.0, NEVER]),
    ("trigger", &[0.0, 0.0, 30000.0, 50000.0, 80000.0]),
    ("rtrigger", &[0.0, 0.0, 50000.0, 80000.0, 120000.0]),
    ("atrigger", &[0.0, 0.0, 0.0, 20000.0, 50000.0]),
    ("novelty", &[NEVER, NEVER, 12.0, 9.0, 7.0]),
    ("onovelty", &[NEVER, NEVER, 15.0, 8.0, 4.0, 2.0]),
    ("xread", &[0.0, 0.0, 800.0, 1500.0, 3000.0]),
    ("xpct", &[5.0, 10.0, 20.0, 30.0]),
    ("xcmd", &[0.0, 0.0, 300.0, 500.0, 1000.0]),
    ("xsearch", &[0.0, 0.0, 300.0, 800.0]),
];

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
                let parent = best[n % goals.len()].as_ref();
                let mut o = parent.map_or_else(|| start.clone(), |(_, o, _)| o.clone());
                if batch > 0 || n > 0 {
                    for _ in 0..(if batch < 3 { 6 } else { 1 + dice.below(3) }) {
                        let (name, values) = AXES[dice.below(AXES.len())];
                        o.set(name, values[dice.below(values.len())]);
                    }
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
        pool.extend(totals);
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

/// Cross-validation over sessions: of the settings tried, the best on one half, scored on the other.
pub fn cross_validate(goals: &[Goal], pool: &[Totals]) {
    const FOLDS: usize = 2;
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
