//! `secateur savings`: what was billed and saved, on one screen.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;

use comfy_table::{Cell, CellAlignment, ColumnConstraint};
use secateur_ledger::moment::{DAY_MS, day_of, midnight, now};
use secateur_ledger::{Filter, GroupBy, Ledger, Millis, Money, Totals};
use serde_json::json;

use crate::audit::args::LedgerArgs;
use crate::audit::{answer, open};
use crate::failure::Failure;
use crate::input::{say, write_stdout};
use crate::table::{bold, counted, green_cell, name_of, red_cell, table, thousands, usd};

/// Days on the screen.
const DAYS: i64 = 30;
/// How often `--watch` asks again.
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
    money: Money,
}

impl Sum {
    fn of(totals: &Totals) -> Self {
        Self {
            requests: totals.requests,
            money: totals.money(),
        }
    }

    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.money += other.money;
    }

    fn percent(&self) -> String {
        let share = self.money.net_share();
        share.map_or("–".to_owned(), |share| format!("{:.0} %", share * 100.0))
    }

    fn json(&self) -> serde_json::Value {
        let mut json = serde_json::to_value(self.money).unwrap_or_default();
        json["requests"] = self.requests.into();
        json["net_usd"] = self.money.net_usd().into();
        json
    }
}

/// What the screen shows.
#[derive(Debug, Default)]
struct Screen {
    times: Vec<(&'static str, Sum)>,
    /// Net on each day, the oldest first.
    days: Vec<(String, f64)>,
    workloads: Vec<(String, Sum)>,
    models: Vec<(String, Sum)>,
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
        Ok(Self::of(now, &days, &workloads, &models))
    }

    fn of(now: Millis, days: &[Totals], workloads: &[Totals], models: &[Totals]) -> Self {
        let by_day: BTreeMap<&str, Sum> = days
            .iter()
            .map(|totals| (&*totals.group, Sum::of(totals)))
            .collect();
        let day = |back: i64| day_of(midnight(now) - back * DAY_MS);
        let of_day = |back: i64| by_day.get(&*day(back)).copied().unwrap_or_default();
        let since = |count: i64| {
            let mut sum = Sum::default();
            (0..count).for_each(|back| sum.add(of_day(back)));
            sum
        };
        let named = |totals: &Totals| (name_of(&totals.group), Sum::of(totals));
        Self {
            times: vec![
                ("today", since(1)),
                ("7 days", since(7)),
                ("30 days", since(DAYS)),
            ],
            days: (0..DAYS)
                .rev()
                .map(|back| (day(back), of_day(back).money.net_usd()))
                .collect(),
            workloads: largest(workloads.iter().map(named)),
            models: largest(models.iter().map(named)),
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
        let net: Vec<f64> = self.days.iter().map(|(_, net)| *net).collect();
        screen += &format!("\n{}  {}\n", bold("net per day"), sparkline(&net));
        screen += &format!(
            "\n{}\n",
            lines("30 days, by workload", self.workloads.iter().cloned())
        );
        screen += &format!(
            "\n{}\n",
            lines("30 days, by model", self.models.iter().cloned())
        );
        screen += "\nAt list prices. Net: saved, less what comparing answers and summaries cost.";
        if all.money.unpriced > 0 {
            screen += &format!(
                "\nWithout a known price, and in no sum: {}.",
                counted(all.money.unpriced, "request")
            );
        }
        screen
    }
}

fn largest(all: impl Iterator<Item = (String, Sum)>) -> Vec<(String, Sum)> {
    let mut all: Vec<(String, Sum)> = all.collect();
    all.sort_by(|(_, one), (_, other)| other.money.billed_usd.total_cmp(&one.money.billed_usd));
    let rest = all.split_off(MAX_LINES.min(all.len()));
    if !rest.is_empty() {
        let mut others = Sum::default();
        let count = rest.len() as u64;
        rest.into_iter().for_each(|(_, sum)| others.add(sum));
        all.push((counted(count, "other"), others));
    }
    all
}

fn lines(name: &str, all: impl Iterator<Item = (String, Sum)>) -> String {
    let mut rows = table(&[name, "requests", "billed", "saved", "net", "of the bill"]);
    for (name, sum) in all {
        let net = usd(sum.money.net_usd());
        rows.add_row([
            Cell::new(name),
            Cell::new(thousands(
                usize::try_from(sum.requests).unwrap_or(usize::MAX),
            )),
            Cell::new(usd(sum.money.billed_usd)),
            Cell::new(usd(sum.money.saved_usd)),
            if sum.money.net_usd() < 0.0 {
                red_cell(net)
            } else {
                green_cell(net)
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

    fn totals(group: &str, requests: u64, spent_usd: f64) -> Totals {
        Totals {
            group: group.to_owned(),
            requests,
            billed_usd: 1.0,
            saved_usd: 0.5,
            spent_usd,
            ..Totals::default()
        }
    }

    #[test]
    fn days_add_up_and_what_was_spent_is_taken_off() {
        let now = 20_000 * DAY_MS + 5;
        let day = |back: i64| day_of(now - back * DAY_MS);
        let days = [
            totals(&day(0), 2, 0.25),
            totals(&day(6), 3, 0.0),
            totals(&day(7), 4, 0.0),
        ];
        let workloads = [totals("agent", 9, 0.25)];
        let models = [totals("gpt\u{1b}", 9, 0.25)];
        let screen = Screen::of(now, &days, &workloads, &models);
        let sums: Vec<(u64, f64, f64)> = screen
            .times
            .iter()
            .map(|(_, sum)| (sum.requests, sum.money.billed_usd, sum.money.net_usd()))
            .collect();
        assert_eq!(sums, [(2, 1.0, 0.25), (5, 2.0, 0.75), (9, 3.0, 1.25)]);
        assert_eq!(screen.workloads[0].1.money.net_usd(), 0.25);
        let shown = anstream::adapter::strip_str(&screen.show()).to_string();
        assert!(
            shown.contains("$0.2500") && shown.contains("17 %"),
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
                    money: Money {
                        billed_usd: f64::from(at),
                        ..Money::default()
                    },
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
