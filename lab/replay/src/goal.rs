//! What must still be there, and the lowest bill that leaves it there.

use secateur_replay::Totals;

/// Least shares of identifiers and lines that are kept.
#[derive(Debug, Clone, Copy)]
pub struct Goal {
    pub ids: f64,
    pub lines: f64,
}

/// The goals of the frontier. An `ids` of 0 is no goal.
pub const GOALS: [Goal; 6] = [
    Goal::of(0.99, 0.99),
    Goal::of(0.99, 0.98),
    Goal::of(0.0, 0.99),
    Goal::of(0.0, 0.98),
    Goal::of(0.0, 0.97),
    Goal::of(0.0, 0.95),
];

impl Goal {
    const fn of(ids: f64, lines: f64) -> Self {
        Self { ids, lines }
    }

    /// How much is missing; 0 where the goal is met and no session costs more than without pruning.
    fn shortfall(&self, t: &Totals) -> f64 {
        let missing = |goal: f64, got: f64| (goal - got).max(0.0);
        missing(self.ids, t.ids()) + missing(self.lines, t.lines()) + missing(t.worst(), 1.0)
    }

    /// The lowest bill among those that meet the goal; where none does, the one that misses it least.
    pub fn best<N>(&self, candidates: impl Iterator<Item = (N, Totals)>) -> Option<(N, Totals)> {
        candidates.min_by(|(_, a), (_, b)| {
            let order = self.shortfall(a).total_cmp(&self.shortfall(b));
            order.then(a.bill().total_cmp(&b.bill()))
        })
    }
}

impl std::fmt::Display for Goal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.ids > 0.0 {
            write!(out, "ids {:.2}, ", self.ids)?;
        }
        write!(out, "lines {:.2}", self.lines)
    }
}

/// The best setting for each goal.
pub fn print_frontier(candidates: &[(&str, Totals)]) {
    println!("the best of {} settings", candidates.len());
    println!("{:20} bill   worst  ids    lines", "at least");
    for goal in GOALS {
        if let Some((name, t)) = goal.best(candidates.iter().cloned()) {
            let missed = if goal.shortfall(&t) > 0.0 {
                "  (missed)"
            } else {
                ""
            };
            println!(
                "{:20} {:.4} {:.4} {:.4} {:.4}  {name}{missed}",
                goal.to_string(),
                t.bill(),
                t.worst(),
                t.ids(),
                t.lines()
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secateur_replay::SessionScore;

    fn totals(cost: f64, lines_kept: usize) -> Totals {
        let score = SessionScore {
            cost,
            full_cost: 100.0,
            ids: 100,
            ids_kept: 100,
            lines: 100,
            lines_kept,
            ..SessionScore::default()
        };
        Totals {
            sessions: vec![score],
        }
    }

    #[test]
    fn a_goal_that_is_met_comes_before_a_lower_bill() {
        let goal = Goal::of(0.99, 0.98);
        let all = [("dear", 90.0, 99), ("fair", 80.0, 98), ("lossy", 50.0, 97)];
        let best = |from: usize| {
            let candidates = all[from..].iter().map(|&(n, cost, l)| (n, totals(cost, l)));
            goal.best(candidates).unwrap().0
        };
        assert_eq!(best(0), "fair");
        assert_eq!(best(2), "lossy");
    }

    #[test]
    fn no_bill_is_low_enough_for_a_session_that_costs_more_than_without_pruning() {
        let mut lopsided = totals(10.0, 100);
        lopsided.sessions.extend(totals(101.0, 100).sessions);
        let candidates = [("lopsided", lopsided), ("even", totals(90.0, 100))];
        let best = GOALS[0].best(candidates.into_iter()).unwrap();
        assert_eq!(best.0, "even");
    }
}
