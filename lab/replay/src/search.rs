//! Coordinate descent over the options of `steady`.

use secateur_replay::{Policy, Session, Totals, replay};

use crate::steady::Steady;

/// What must still be there.
pub struct Goal {
    pub ids: f64,
    pub lines: f64,
}

impl Goal {
    /// The bill, plus a fine for each goal missed.
    pub fn loss(&self, t: &Totals) -> f64 {
        t.bill()
            + 4.0 * (self.ids - t.ids()).max(0.0)
            + 3.0 * (self.lines - t.lines()).max(0.0)
            + 2.0 * (t.worst() - 1.0).max(0.0)
    }
}

type Set = fn(&mut Steady, f64);

const AXES: &[(&str, Set, &[f64])] = &[
    (
        "age_command",
        |o, v| o.age_command = v,
        &[1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 1e9],
    ),
    (
        "age_search",
        |o, v| o.age_search = v,
        &[1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 1e9],
    ),
    (
        "touch_edited",
        |o, v| o.touch_edited = v,
        &[2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0],
    ),
    (
        "touch_past_turn",
        |o, v| o.touch_past_turn = v,
        &[1.0, 2.0, 4.0, 6.0, 10.0, 20.0],
    ),
    (
        "touch_unedited",
        |o, v| o.touch_unedited = v,
        &[10.0, 15.0, 20.0, 30.0, 50.0, 1e9],
    ),
    (
        "touch_named",
        |o, v| o.touch_named = v,
        &[20.0, 30.0, 60.0, 100.0, 1e9],
    ),
    (
        "age_edit",
        |o, v| o.age_edit = v,
        &[4.0, 8.0, 12.0, 20.0, 1e9],
    ),
    ("age_task", |o, v| o.age_task = v, &[15.0, 30.0, 60.0, 1e9]),
    ("age_other", |o, v| o.age_other = v, &[6.0, 12.0, 25.0, 1e9]),
    (
        "past_turn_factor",
        |o, v| o.past_turn_factor = v,
        &[0.25, 0.5, 1.0],
    ),
    (
        "arrival",
        |o, v| o.arrival_max_chars = v as usize,
        &[4000.0, 6000.0, 8000.0, 12000.0, 20000.0, 1e9],
    ),
    (
        "arrival_head",
        |o, v| {
            o.arrival_head = v as usize;
            o.arrival_tail = v as usize;
        },
        &[1500.0, 2500.0],
    ),
    (
        "horizon",
        |o, v| o.horizon = v,
        &[6.0, 10.0, 15.0, 20.0, 30.0],
    ),
    (
        "min_chars",
        |o, v| o.min_chars = v as usize,
        &[200.0, 400.0, 800.0, 1500.0],
    ),
    (
        "min_round_tokens",
        |o, v| o.min_round_tokens = v,
        &[100.0, 200.0, 500.0, 1000.0],
    ),
    (
        "repeat",
        |o, v| {
            o.repeat_lines = v as usize;
            o.repeat_chars = 40 * v as usize;
        },
        &[2.0, 3.0],
    ),
    (
        "clear_share_read",
        |o, v| o.clear_share_read = v,
        &[0.0, 0.05, 0.1],
    ),
    (
        "clear_share_other",
        |o, v| o.clear_share_other = v,
        &[0.0, 0.1, 0.2, 0.3],
    ),
];

pub fn descend(sessions: &[Session], goal: &Goal, start: Steady) -> Steady {
    let mut best = start;
    let mut best_loss = f64::INFINITY;
    for pass in 0..2 {
        let before = best_loss;
        for (name, set, values) in AXES {
            let candidates: Vec<Steady> = values
                .iter()
                .map(|&v| {
                    let mut o = best.clone();
                    set(&mut o, v);
                    o
                })
                .collect();
            let policies: Vec<&dyn Policy> = candidates.iter().map(|o| o as &dyn Policy).collect();
            let totals = replay(sessions, &policies, 0, &|_, _| {});
            for ((o, t), v) in candidates.iter().zip(&totals).zip(*values) {
                let loss = goal.loss(t);
                if loss < best_loss - 1e-5 {
                    best_loss = loss;
                    best = o.clone();
                    println!(
                        "pass {pass} {name} = {v}: loss {loss:.4} bill {:.4} worst {:.4} ids {:.4} lines {:.4} rounds {:.1}",
                        t.bill(),
                        t.worst(),
                        t.ids(),
                        t.lines(),
                        t.rounds_per_session()
                    );
                }
            }
        }
        if before - best_loss < 5e-4 {
            break;
        }
    }
    println!("{best:?}");
    best
}
