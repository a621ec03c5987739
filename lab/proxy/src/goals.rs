//! What the proxy is to reach, and whether it did.

use crate::Outcome;
use crate::table::Table;

/// One goal with what was measured.
#[derive(Clone, Debug)]
pub(crate) struct Goal {
    what: String,
    goal: String,
    got: String,
    is_met: bool,
}

impl Goal {
    pub(crate) fn at_least(what: impl Into<String>, goal: f64, got: f64, unit: &str) -> Self {
        Self {
            what: what.into(),
            goal: format!("≥ {goal}{unit}"),
            got: format!("{got:.1}{unit}"),
            is_met: got >= goal,
        }
    }

    pub(crate) fn at_most(what: impl Into<String>, goal: f64, got: f64, unit: &str) -> Self {
        Self {
            what: what.into(),
            goal: format!("≤ {goal}{unit}"),
            got: format!("{got:.3}{unit}"),
            is_met: got <= goal,
        }
    }
}

/// Prints the goals and how many were met.
pub(crate) fn print(out: &mut String, goals: &[Goal]) -> Outcome<()> {
    let mut table = Table::new(&["goal", "wanted", "measured", ""]);
    for goal in goals {
        let verdict = if goal.is_met { "met" } else { "missed" };
        table.row([
            goal.what.clone(),
            goal.goal.clone(),
            goal.got.clone(),
            verdict.to_owned(),
        ]);
    }
    let met = goals.iter().filter(|goal| goal.is_met).count();
    out.push_str(&format!("\n## Goals: {met} of {} met\n\n", goals.len()));
    table.print(out);
    Ok(())
}
