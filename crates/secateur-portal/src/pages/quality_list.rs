//! The workloads with what their quality pages say in short.

use askama::Template;
use secateur_ledger::{Controls, DayScore, Totals};

use super::quality::is_judged;
use super::row_line::change;
use super::workloads::off_stacks;
use crate::link;
use crate::numbers::{signed, thousands, usd_in, usd_places};
use crate::shell::Shell;

/// What the ledger told about one workload.
pub(crate) struct QualityBrief {
    pub(crate) name: String,
    pub(crate) totals: Totals,
    pub(crate) scores: Vec<DayScore>,
}

struct QualityLine {
    name: String,
    href: String,
    requests: String,
    change: String,
    tokens: String,
    net: String,
    is_loss: bool,
    /// Mean and number of the scores of stacks.
    score: Option<(String, String)>,
    off: Vec<String>,
}

#[derive(Template)]
#[template(path = "quality_list.html")]
pub(crate) struct QualityListPage {
    shell: Shell,
    days: u32,
    lines: Vec<QualityLine>,
}

/// Scores of the original against itself, and of what was left alone, say nothing about a stack.
fn score(scores: &[DayScore]) -> Option<(String, String)> {
    let of_stacks = || scores.iter().filter(|score| is_judged(&score.stack));
    let samples: u64 = of_stacks().map(|score| score.samples).sum();
    let sum: f64 = of_stacks()
        .map(|score| score.mean * score.samples as f64)
        .sum();
    (samples > 0).then(|| (format!("{:.3}", sum / samples as f64), thousands(samples)))
}

impl QualityListPage {
    pub(crate) fn of(
        briefs: &[QualityBrief],
        days: u32,
        controls: &Controls,
        shell: Shell,
    ) -> Self {
        let places = usd_places(briefs.iter().map(|brief| brief.totals.money().net_usd()));
        let line = |brief: &QualityBrief| {
            let totals = &brief.totals;
            QualityLine {
                name: brief.name.clone(),
                href: link::quality(&brief.name),
                requests: thousands(totals.requests),
                change: change(totals.chars_before, totals.chars_after)
                    .unwrap_or_else(|| "–".into()),
                tokens: signed(totals.tokens_saved),
                net: usd_in(totals.money().net_usd(), places),
                is_loss: totals.money().net_usd() < 0.0,
                score: score(&brief.scores),
                off: off_stacks(controls, &brief.name)
                    .into_iter()
                    .map(|off| off.stack)
                    .collect(),
            }
        };
        Self {
            shell,
            days,
            lines: briefs.iter().map(line).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_is_that_of_all_stacks_and_not_of_the_original() {
        let day = |stack: &str, samples, mean| DayScore {
            day: "2026-11-16".into(),
            stack: stack.into(),
            samples,
            mean,
        };
        let scores = [
            day("m7", 3, 1.0),
            day("m3", 1, 0.0),
            day("", 90, 0.1),
            day("original", 50, 0.1),
        ];
        assert_eq!(score(&scores), Some(("0.750".into(), "4".into())));
        assert_eq!(score(&scores[2..]), None);
    }
}
