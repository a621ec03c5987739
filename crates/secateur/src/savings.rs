//! `secateur savings`: what was saved and paid, on one screen.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;

use comfy_table::{Cell, CellAlignment, ColumnConstraint};
use secateur_ledger::moment::{DAY_MS, day_of, midnight, now};
use secateur_ledger::{Filter, GroupBy, Ledger, Millis, ShadowCost, Totals};
use serde_json::json;

use crate::audit::args::LedgerArgs;
use crate::audit::stats::{name_of, usd};
use crate::audit::{answer, open};
use crate::failure::Failure;
use crate::input::{say, write_stdout};
use crate::table::{bold, counted, green_cell, red_cell, table, thousands};

/// Days on the screen.
const DAYS: i64 = 30;
/// How often `--watch` looks again.
const EVERY: Duration = Duration::from_secs(2);
/// Workloads and models that are listed; the largest first.
const MAX_LINES: usize = 8;

#[derive(Debug, clap::Args)]
pub(crate) struct SavingsArgs {
    #[command(flatten)]
    place: LedgerArgs,
    /// Show it again every two seconds, until interrupted.
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &SavingsArgs) -> Result<(), Failure> {
    let ledger = open(&args.place)?;
    loop {
        let screen = Screen::read(&ledger, now())?;
        if args.json {
            return write_stdout(format!("{:#}\n", screen.json()).as_bytes());
        }
        if args.watch && std::io::stdout().is_terminal() {
            // To the first line, and everything below it away.
            write_stdout(b"\x1b[H\x1b[2J")?;
        }
        say!("{}", screen.show())?;
        if !args.watch {
            return Ok(());
        }
        std::thread::sleep(EVERY);
    }
}

/// Requests and dollars of some time, workload or model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sum {
    requests: u64,
    paid: f64,
    /// Net of what comparing answers cost, where that is known.
    saved: f64,
}

impl Sum {
    fn add(&mut self, totals: &Totals) {
        self.requests += totals.requests;
        self.paid += totals.billed_usd;
        self.saved += totals.saved_usd;
    }

    fn percent(&self) -> String {
        let without = self.paid + self.saved;
        if without <= 0.0 {
            return "–".to_owned();
        }
        format!("{:.0} %", self.saved / without * 100.0)
    }

    fn json(&self) -> serde_json::Value {
        json!({ "requests": self.requests, "paid_usd": self.paid, "saved_usd": self.saved })
    }
}

/// What the screen shows.
#[derive(Debug, Default)]
struct Screen {
    times: Vec<(&'static str, Sum)>,
    /// Saved on each day, the oldest first.
    days: Vec<(String, f64)>,
    workloads: Vec<(String, Sum)>,
    models: Vec<(String, Sum)>,
    shadow_usd: f64,
}

impl Screen {
    fn read(ledger: &Ledger, now: Millis) -> Result<Self, Failure> {
        let first = midnight(now) - (DAYS - 1) * DAY_MS;
        let filter = Filter {
            since: Some(first),
            ..Filter::default()
        };
        let days = answer(ledger.totals(&filter, GroupBy::Day))?;
        let workloads = answer(ledger.totals(&filter, GroupBy::Workload))?;
        let models = answer(ledger.totals(&filter, GroupBy::Model))?;
        let shadow = answer(ledger.shadow_costs(None, first))?;
        Ok(Self::of(now, &days, &workloads, &models, &shadow))
    }

    fn of(
        now: Millis,
        days: &[Totals],
        workloads: &[Totals],
        models: &[Totals],
        shadow: &[ShadowCost],
    ) -> Self {
        let mut by_day: BTreeMap<&str, Sum> = BTreeMap::new();
        for totals in days {
            by_day.entry(&totals.group).or_default().add(totals);
        }
        let mut by_workload: BTreeMap<&str, Sum> = BTreeMap::new();
        for totals in workloads {
            by_workload.entry(&totals.group).or_default().add(totals);
        }
        for cost in shadow {
            by_day.entry(&cost.day).or_default().saved -= cost.usd;
            by_workload.entry(&cost.workload).or_default().saved -= cost.usd;
        }
        let day = |back: i64| day_of(midnight(now) - back * DAY_MS);
        let since = |count: i64| {
            let mut sum = Sum::default();
            for back in 0..count {
                let of_day = by_day.get(day(back).as_str()).copied().unwrap_or_default();
                sum.requests += of_day.requests;
                sum.paid += of_day.paid;
                sum.saved += of_day.saved;
            }
            sum
        };
        let saved = |back: i64| {
            let name = day(back);
            let saved = by_day.get(name.as_str()).map_or(0.0, |sum| sum.saved);
            (name, saved)
        };
        let of_model = |totals: &Totals| {
            let mut sum = Sum::default();
            sum.add(totals);
            (name_of(&totals.group), sum)
        };
        let named = |(name, sum): (&str, Sum)| (name_of(name), sum);
        Self {
            times: vec![
                ("today", since(1)),
                ("7 days", since(7)),
                ("30 days", since(DAYS)),
            ],
            days: (0..DAYS).rev().map(saved).collect(),
            workloads: largest(by_workload.into_iter().map(named)),
            models: largest(models.iter().map(of_model)),
            shadow_usd: shadow.iter().fold(0.0, |sum, cost| sum + cost.usd),
        }
    }

    fn json(&self) -> serde_json::Value {
        let named = |list: &[(String, Sum)]| {
            let one = |(name, sum): &(String, Sum)| (name.clone(), sum.json());
            list.iter().map(one).collect::<serde_json::Map<_, _>>()
        };
        let time = |(name, sum): &(&str, Sum)| (name.replace(' ', "_"), sum.json());
        json!({
            "times": self.times.iter().map(time).collect::<serde_json::Map<_, _>>(),
            "workloads": named(&self.workloads),
            "models": named(&self.models),
            "canary_usd": self.shadow_usd,
        })
    }

    fn show(&self) -> String {
        let all = self.times.last().map(|(_, sum)| *sum).unwrap_or_default();
        if all.requests == 0 {
            return "No requests in the last 30 days. Start with: secateur run claude".to_owned();
        }
        let times = self
            .times
            .iter()
            .map(|(name, sum)| ((*name).to_owned(), *sum));
        let mut screen = format!("{}\n", lines("UTC days", times));
        let saved: Vec<f64> = self.days.iter().map(|(_, saved)| *saved).collect();
        screen += &format!("\n{}  {}\n", bold("saved per day"), sparkline(&saved));
        screen += &format!(
            "\n{}\n",
            lines("30 days, by workload", self.workloads.iter().cloned())
        );
        screen += &format!(
            "\n{}\n",
            lines("30 days, by model", self.models.iter().cloned())
        );
        screen += "\nAt list prices; saved is net of the cache that a cut rewrites.";
        if self.shadow_usd > 0.0 {
            screen += &format!(
                "\nComparing answers (canary) cost {}, taken off above except by model.",
                usd(self.shadow_usd)
            );
        }
        screen
    }
}

fn largest(all: impl Iterator<Item = (String, Sum)>) -> Vec<(String, Sum)> {
    let mut all: Vec<(String, Sum)> = all.collect();
    all.sort_by(|(_, one), (_, other)| other.paid.total_cmp(&one.paid));
    let rest = all.split_off(MAX_LINES.min(all.len()));
    if !rest.is_empty() {
        let mut others = Sum::default();
        for (_, sum) in &rest {
            others.requests += sum.requests;
            others.paid += sum.paid;
            others.saved += sum.saved;
        }
        all.push((counted(rest.len() as u64, "other"), others));
    }
    all
}

fn lines(name: &str, all: impl Iterator<Item = (String, Sum)>) -> String {
    let mut rows = table(&[name, "requests", "paid", "saved", "of the bill"]);
    for (name, sum) in all {
        let saved = usd(sum.saved);
        rows.add_row([
            Cell::new(name),
            Cell::new(thousands(
                usize::try_from(sum.requests).unwrap_or(usize::MAX),
            )),
            Cell::new(usd(sum.paid)),
            if sum.saved < 0.0 {
                red_cell(saved)
            } else {
                green_cell(saved)
            },
            Cell::new(sum.percent()),
        ]);
    }
    for column in rows.column_iter_mut().skip(1) {
        column.set_constraint(ColumnConstraint::ContentWidth);
        column.set_cell_alignment(CellAlignment::Right);
    }
    rows.to_string()
}

/// A bar for each day; `·` where nothing was saved, `-` where pruning cost more than it saved.
fn sparkline(days: &[f64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = days.iter().copied().fold(0.0, f64::max);
    let bar = |&saved: &f64| {
        if saved < 0.0 {
            return '-';
        }
        if saved == 0.0 || most <= 0.0 {
            return '·';
        }
        let step = (saved / most * BARS.len() as f64).ceil() as usize;
        BARS.get(step.saturating_sub(1)).copied().unwrap_or('█')
    };
    days.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(group: &str, requests: u64, paid: f64, saved: f64) -> Totals {
        Totals {
            group: group.to_owned(),
            requests,
            billed_usd: paid,
            saved_usd: saved,
            ..Totals::default()
        }
    }

    #[test]
    fn days_add_up_and_comparing_answers_is_taken_off() {
        let now = 20_000 * DAY_MS + 5;
        let day = |back: i64| day_of(now - back * DAY_MS);
        let days = [
            totals(&day(0), 2, 1.0, 0.5),
            totals(&day(6), 3, 1.0, 0.5),
            totals(&day(7), 4, 1.0, 0.0),
        ];
        let shadow = [ShadowCost {
            day: day(0),
            workload: "agent".into(),
            calls: 1,
            usd: 0.25,
        }];
        let workloads = [totals("agent", 9, 3.0, 1.0)];
        let models = [totals("gpt\u{1b}", 9, 3.0, 1.0)];
        let screen = Screen::of(now, &days, &workloads, &models, &shadow);
        let sums: Vec<(u64, f64, f64)> = screen
            .times
            .iter()
            .map(|(_, sum)| (sum.requests, sum.paid, sum.saved))
            .collect();
        assert_eq!(sums, [(2, 1.0, 0.25), (5, 2.0, 0.75), (9, 3.0, 0.75)]);
        assert_eq!(screen.workloads[0].1.saved, 0.75);
        let shown = anstream::adapter::strip_str(&screen.show()).to_string();
        assert!(
            shown.contains("$0.2500") && shown.contains("20 %"),
            "{shown}"
        );
        assert!(!shown.contains('\u{1b}'), "{shown}");
        assert!(
            shown.lines().all(|line| line.chars().count() <= 80),
            "{shown}"
        );
        assert!(Screen::default().show().starts_with("No requests"));
    }

    #[test]
    fn a_sparkline_has_a_bar_for_each_day() {
        assert_eq!(sparkline(&[0.0, 1.0, 8.0, -1.0, 4.0]), "·▁█-▄");
        assert_eq!(sparkline(&[0.0, 0.0]), "··");
    }

    #[test]
    fn a_long_list_ends_with_the_rest_in_sum() {
        let all = (0..10).map(|at| {
            (
                format!("m{at}"),
                Sum {
                    requests: 1,
                    paid: f64::from(at),
                    saved: 0.0,
                },
            )
        });
        let shown = largest(all);
        assert_eq!(shown.len(), MAX_LINES + 1);
        assert_eq!(
            (shown[0].0.as_str(), shown[MAX_LINES].0.as_str()),
            ("m9", "2 others")
        );
    }
}
