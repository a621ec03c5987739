//! The quality of a workload: what was saved, what it cost, and whether the answers stayed good.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use askama::Template;
use secateur_canary::{CanaryOptions, STACK_OF_ORIGINALS, Standing, Verdict};
use secateur_ledger::moment::{self, DAY_MS};
use secateur_ledger::{
    Controls, DayScore, Holdout, Row, Score, SpentDay, StackEvent, StackEventKind, Totals,
};

use super::timeline::Entry;
use super::trend;
use super::workloads::{OffStack, off_stacks};
use crate::chip::Chip;
use crate::link;
use crate::markup::Markup;
use crate::numbers::{percent, signed, thousands, usd};
use crate::shell::Shell;
use crate::svg::{Across, Chart, Mark, Series, Shape, Unit};

/// What the ledger told about the last weeks.
#[derive(Clone, Debug, Default)]
pub(crate) struct QualityData {
    pub(crate) workload: String,
    /// By what the scores are judged; `None`: nothing is changed that could be.
    pub(crate) canary: Option<Arc<CanaryOptions>>,
    /// How each stack stands with the canary.
    pub(crate) standings: BTreeMap<String, Standing>,
    /// What the proxy's own calls cost, by day.
    pub(crate) spent: Vec<SpentDay>,
    pub(crate) holdout_pct: f64,
    pub(crate) days: Vec<Totals>,
    pub(crate) stacks: Vec<Totals>,
    pub(crate) day_scores: Vec<DayScore>,
    /// The newest scores by stack, newest first.
    pub(crate) scores: BTreeMap<String, Vec<Score>>,
    pub(crate) events: Vec<StackEvent>,
    pub(crate) holdout: Holdout,
    pub(crate) recent: Vec<Row>,
}

/// Whether the canary judges a stack of this name: not what was left alone, and not the originals.
pub(crate) fn is_judged(stack: &str) -> bool {
    !stack.is_empty() && stack != STACK_OF_ORIGINALS
}

/// What the scores of a stack are called in a legend.
fn series_name(stack: &str) -> String {
    match stack {
        "" => "left alone".to_owned(),
        STACK_OF_ORIGINALS => "original against itself (noise)".to_owned(),
        stack => stack.to_owned(),
    }
}

impl QualityData {
    /// Whether answers are compared, or clients post scores.
    fn is_measured(&self) -> bool {
        let is_sampled = |options: &Arc<CanaryOptions>| options.sample_pct > 0.0;
        self.canary.as_ref().is_some_and(is_sampled) || !self.day_scores.is_empty()
    }

    /// The canary's own floor, where anything is measured against it.
    fn floor(&self) -> Option<f64> {
        if !self.is_measured() {
            return None;
        }
        let standing = self.standings.values().next();
        let configured = || self.canary.as_ref().map(|options| options.floor);
        standing.map(|standing| standing.floor).or_else(configured)
    }
}

struct StackLine {
    chips: Vec<Chip>,
    requests: String,
    change: String,
    net: String,
    is_loss: bool,
    mean: String,
    samples: String,
    /// In words: what the canary makes of it.
    verdict: String,
    tone: &'static str,
}

struct HoldoutView {
    held: String,
    pruned: String,
    held_sessions: String,
    pruned_sessions: String,
    saving: String,
    /// `less` or `more`.
    way: &'static str,
    is_loss: bool,
    low: String,
    high: String,
    /// What the interval says.
    verdict: &'static str,
    picture: Markup,
}

#[derive(Template)]
#[template(path = "quality.html")]
pub(crate) struct QualityPage {
    shell: Shell,
    workload: String,
    audit: String,
    days: u32,
    is_empty: bool,
    charts: Vec<Markup>,
    stacks: Vec<StackLine>,
    off: Vec<OffStack>,
    events: Vec<Entry>,
    floor: Option<String>,
    rules: Option<String>,
    spent: Option<String>,
    is_measured: bool,
    holdout: Option<HoldoutView>,
    holdout_pct: Option<String>,
}

/// How far back the page looks.
pub(crate) const DAYS: u32 = 30;

/// Single scores are drawn when they reach back less than this; days else.
const FINE_SPAN: i64 = 2 * DAY_MS;
/// A point of the fine drawing is the mean of the scores up to it, of at most so many.
const FINE_WINDOW: usize = 30;

/// The mean of the last scores at each score, oldest first.
fn running(scores: &[Score]) -> Vec<(f64, f64)> {
    let mut sorted: Vec<(i64, f64)> = scores.iter().map(|score| (score.at, score.score)).collect();
    sorted.sort_by_key(|(at, _)| *at);
    let mean = |end: usize| {
        let window = sorted.get(end.saturating_sub(FINE_WINDOW - 1)..=end)?;
        let sum: f64 = window.iter().map(|(_, score)| score).sum();
        Some((sorted.get(end)?.0 as f64, sum / window.len() as f64))
    };
    let mut points: Vec<(f64, f64)> = (0..sorted.len()).filter_map(mean).collect();
    // Of scores of one moment the last holds.
    points.reverse();
    points.dedup_by(|later, kept| later.0 == kept.0);
    points.reverse();
    points
}

fn scores_chart(data: &QualityData) -> Chart {
    let all = || data.scores.values().flatten();
    let first = all().map(|score| score.at).min();
    let last = all().map(|score| score.at).max();
    let is_fine = first
        .zip(last)
        .is_some_and(|(first, last)| last - first < FINE_SPAN)
        && data
            .day_scores
            .iter()
            .map(|day| &day.day)
            .collect::<BTreeSet<_>>()
            .len()
            <= 2;
    let (across, series): (Across, Vec<Series>) = if is_fine {
        let series = |(stack, scores): (&String, &Vec<Score>)| Series {
            name: series_name(stack),
            points: running(scores),
        };
        (Across::Moments, data.scores.iter().map(series).collect())
    } else {
        let mut by_stack: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for score in &data.day_scores {
            if let Some(day) = moment::read(&score.day) {
                by_stack
                    .entry(&score.stack)
                    .or_default()
                    .push((day as f64, score.mean));
            }
        }
        let series = |(stack, mut points): (&str, Vec<(f64, f64)>)| {
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            Series {
                name: series_name(stack),
                points,
            }
        };
        (Across::Days, by_stack.into_iter().map(series).collect())
    };
    let breach = |event: &StackEvent| {
        let at = if across == Across::Days {
            moment::midnight(event.at)
        } else {
            event.at
        };
        let is_breach = event.kind == StackEventKind::RolledBack;
        is_breach.then(|| Mark {
            x: at as f64,
            label: format!("{} rolled back, {}", event.stack, event.reason),
        })
    };
    Chart {
        id: "score",
        title: "Canary score by stack".into(),
        about: if is_fine {
            format!(
                "Mean of the last {FINE_WINDOW} scores up to each moment; 1 is an answer as good as without cuts."
            )
        } else {
            "Mean score of each day; 1 is an answer as good as without cuts.".into()
        },
        unit: Unit::Score,
        across,
        shape: Shape::Line,
        series,
        floor: data
            .floor()
            .map(|floor| (floor, format!("floor {floor:.2}"))),
        marks: data.events.iter().filter_map(breach).collect(),
        empty: "No scores yet. Switch the canary on for this workload, or post scores to /v1/secateur/scores.",
    }
}

/// What the canary makes of a stack, and the class of its colour.
fn verdict(standing: &Standing, is_off: bool) -> (String, &'static str) {
    let Verdict {
        samples,
        mean,
        is_breach,
        ..
    } = standing.verdict;
    let min_samples = standing.min_samples;
    if is_off {
        ("switched off".into(), "bad")
    } else if samples == 0 {
        (String::new(), "")
    } else if samples < min_samples {
        let words = format!("{samples} of {min_samples} scores, no verdict yet");
        (words, "")
    } else if is_breach {
        ("under the floor".into(), "bad")
    } else if mean < standing.floor {
        ("under the floor, not yet sure".into(), "warn")
    } else {
        ("not under the floor".into(), "good")
    }
}

fn stack_lines(data: &QualityData, controls: &Controls) -> Vec<StackLine> {
    let names: BTreeSet<&str> = data
        .stacks
        .iter()
        .map(|totals| totals.group.as_str())
        .chain(data.day_scores.iter().map(|score| score.stack.as_str()))
        .filter(|stack| *stack != STACK_OF_ORIGINALS)
        .collect();
    let line = |name: &str| {
        let totals = data.stacks.iter().find(|totals| totals.group == name);
        let standing = data.standings.get(name);
        let is_off = controls.is_retired(&data.workload, name);
        let (verdict, tone) =
            standing.map_or_else(|| (String::new(), ""), |standing| verdict(standing, is_off));
        // What is not judged has the mean of its days.
        let (samples, mean) = standing.map_or_else(
            || of_days(&data.day_scores, name),
            |standing| (standing.verdict.samples as u64, standing.verdict.mean),
        );
        StackLine {
            chips: Chip::all(name),
            requests: totals.map_or("0".into(), |totals| thousands(totals.requests)),
            change: totals
                .and_then(|totals| super::row_line::change(totals.chars_before, totals.chars_after))
                .unwrap_or_else(|| "–".into()),
            net: totals.map_or("–".into(), |totals| {
                format!(
                    "{} ({} tokens)",
                    usd(totals.money().net_usd()),
                    signed(totals.tokens_saved)
                )
            }),
            is_loss: totals.is_some_and(|totals| totals.money().net_usd() < 0.0),
            mean: if samples > 0 {
                format!("{mean:.3}")
            } else {
                "–".into()
            },
            samples: thousands(samples),
            verdict,
            tone,
        }
    };
    names.into_iter().map(line).collect()
}

/// How many scores a stack got in all the days, and their mean.
fn of_days(day_scores: &[DayScore], stack: &str) -> (u64, f64) {
    let scores = || day_scores.iter().filter(|score| score.stack == stack);
    let samples: u64 = scores().map(|score| score.samples).sum();
    let sum: f64 = scores()
        .map(|score| score.mean * score.samples as f64)
        .sum();
    (samples, sum / samples.max(1) as f64)
}

/// Which scores count, and what makes the floor, in words.
fn rules(data: &QualityData) -> Option<String> {
    let options = data.canary.as_ref()?;
    let hours = options.window_age.as_secs_f64() / 3600.0;
    let noise = data.standings.values().find_map(|standing| standing.noise);
    let noise = noise.map_or(String::new(), |noise| {
        format!(
            " The floor of {:.2} is lowered to {:.0} % of it: so far do originals agree with themselves.",
            options.floor,
            noise * 100.0
        )
    });
    Some(format!(
        "Judged are the newest {} scores of the last {hours:.0} hours since the stack was last resumed; a verdict takes {}.{noise}",
        thousands(options.window),
        thousands(options.min_samples)
    ))
}

fn spent(days: &[SpentDay]) -> Option<String> {
    let calls: u64 = days.iter().map(|day| day.calls).sum();
    let unpriced: u64 = days.iter().map(|day| day.unpriced).sum();
    let spent: f64 = days.iter().map(|day| day.usd).sum();
    let unknown = match unpriced {
        0 => String::new(),
        count => format!(", {} of them at an unknown cost", thousands(count)),
    };
    (calls > 0).then(|| {
        format!(
            "Comparing answers and summaries cost {} in {} calls{unknown}. Net has it taken off.",
            usd(spent),
            thousands(calls)
        )
    })
}

/// A share as less or more of something.
fn way(share: f64) -> &'static str {
    if share < 0.0 { "more" } else { "less" }
}

fn less_or_more(share: f64) -> String {
    format!("{} {}", percent(share.abs()), way(share))
}

/// The interval as a bar over a line at zero.
fn interval(holdout: &Holdout) -> Markup {
    let reach = [holdout.low, holdout.high, holdout.saving]
        .into_iter()
        .filter(|end| end.is_finite())
        .fold(0.05f64, |reach, end| reach.max(end.abs()))
        .min(2.0);
    // Room for a label outside of either end.
    let x = |share: f64| 150.0 + (share / reach).clamp(-1.0, 1.0) * 80.0;
    let (low, high, mid) = (x(holdout.low), x(holdout.high), x(holdout.saving));
    let mut out = Markup::new();
    out.tags("<svg class=\"interval\" aria-hidden=\"true\" viewBox=\"0 0 300 54\">");
    out.tags(
        "<line class=\"zero\" x1=\"150\" x2=\"150\" y1=\"2\" y2=\"28\"/><line class=\"span\" x1=\"",
    );
    out.number(low)
        .tags("\" x2=\"")
        .number(high)
        .tags("\" y1=\"15\" y2=\"15\"/>");
    for end in [low, high] {
        out.tags("<line class=\"span\" x1=\"")
            .number(end)
            .tags("\" x2=\"")
            .number(end)
            .tags("\" y1=\"9\" y2=\"21\"/>");
    }
    out.tags("<circle class=\"mid\" r=\"4\" cy=\"15\" cx=\"")
        .number(mid)
        .tags("\"/>");
    let ends = [("end", low, holdout.low), ("start", high, holdout.high)];
    for (anchor, x, share) in ends {
        out.tags("<text class=\"tick\" text-anchor=\"")
            .text(anchor)
            .tags("\" x=\"")
            .number(x)
            .tags("\" y=\"36\">")
            .text(less_or_more(share))
            .tags("</text>");
    }
    out.tags("<text class=\"tick\" text-anchor=\"middle\" x=\"150\" y=\"52\">0 %</text></svg>");
    out
}

fn holdout(holdout: &Holdout) -> Option<HoldoutView> {
    if holdout.held_sessions == 0 || holdout.pruned_sessions == 0 {
        return None;
    }
    Some(HoldoutView {
        held: usd(holdout.held_mean_usd),
        pruned: usd(holdout.pruned_mean_usd),
        held_sessions: thousands(holdout.held_sessions),
        pruned_sessions: thousands(holdout.pruned_sessions),
        saving: percent(holdout.saving.abs()),
        way: way(holdout.saving),
        is_loss: holdout.saving < 0.0,
        low: less_or_more(holdout.low),
        high: less_or_more(holdout.high),
        verdict: if holdout.low > 0.0 {
            "The saving is real: the whole interval is above zero."
        } else if holdout.high < 0.0 {
            "Pruning costs more here: the whole interval is below zero."
        } else {
            "Not settled yet: the interval holds zero. More sessions narrow it."
        },
        picture: interval(holdout),
    })
}

impl QualityPage {
    pub(crate) fn of(data: &QualityData, controls: &Controls, shell: Shell) -> Self {
        Self {
            shell,
            workload: data.workload.clone(),
            audit: link::audit(&[("workload", &data.workload)]),
            days: DAYS,
            is_empty: data.recent.is_empty()
                && data.events.is_empty()
                && data.day_scores.is_empty(),
            charts: vec![
                scores_chart(data).figure(),
                trend::ratio(&data.days).figure(),
                trend::cost(&data.days).figure(),
                trend::volume(&data.days).figure(),
                trend::context(&data.recent).figure(),
            ],
            stacks: stack_lines(data, controls),
            off: off_stacks(controls, &data.workload),
            events: data.events.iter().map(Entry::of).collect(),
            floor: data.floor().map(|floor| format!("{floor:.2}")),
            rules: rules(data),
            spent: spent(&data.spent),
            is_measured: data.is_measured(),
            holdout: holdout(&data.holdout),
            holdout_pct: (data.holdout_pct > 0.0).then(|| percent(data.holdout_pct / 100.0)),
        }
    }
}

#[cfg(test)]
mod tests;
