//! What the proxy is to reach, and whether it did.

use crate::Outcome;
use crate::measure::Spread;
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
    pub(crate) fn at_least(
        what: impl Into<String>,
        goal: f64,
        got: impl Into<Got>,
        unit: &str,
    ) -> Self {
        let got = got.into();
        Self {
            what: what.into(),
            goal: format!("≥ {goal}{unit}"),
            got: got.show(1, unit),
            is_met: got.middle >= goal,
        }
    }

    pub(crate) fn at_most(
        what: impl Into<String>,
        goal: f64,
        got: impl Into<Got>,
        unit: &str,
    ) -> Self {
        let got = got.into();
        Self {
            what: what.into(),
            goal: format!("≤ {goal}{unit}"),
            got: got.show(if unit == " %" { 1 } else { 3 }, unit),
            is_met: got.middle <= goal,
        }
    }
}

/// A figure, and where it is the middle of many, how far these lie apart.
pub(crate) struct Got {
    middle: f64,
    half: Option<(f64, f64)>,
}

impl From<f64> for Got {
    fn from(middle: f64) -> Self {
        Self { middle, half: None }
    }
}

impl From<Spread> for Got {
    fn from(spread: Spread) -> Self {
        Self {
            middle: spread.middle,
            half: Some((spread.low, spread.high)),
        }
    }
}

impl Got {
    fn show(&self, digits: usize, unit: &str) -> String {
        let half = self
            .half
            .map(|(low, high)| format!(" ({low:.digits$} to {high:.digits$})"));
        format!("{:.digits$}{unit}{}", self.middle, half.unwrap_or_default())
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
