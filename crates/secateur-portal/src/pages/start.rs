//! The start page: the day's figures, context and cost over time, workloads, the last events.

use askama::Template;
use secateur_ledger::moment::{Moment, midnight};
use secateur_ledger::{Row, StackEvent, StackEventKind, Totals};

use super::astray::Astray;
use super::timeline::Entry;
use super::trend;
use crate::link;
use crate::markup::Markup;
use crate::numbers::{micros, off_by, percent, share, signed, thousands, usd, usd_in, usd_places};
use crate::shell::Shell;

/// What the ledger told.
#[derive(Clone, Debug, Default)]
pub(crate) struct StartData {
    /// Since midnight UTC.
    pub(crate) today: Totals,
    /// Since midnight UTC, by workload.
    pub(crate) workloads: Vec<Totals>,
    /// The last weeks.
    pub(crate) days: Vec<Totals>,
    /// What comparing answers cost since midnight UTC, in US dollars.
    pub(crate) shadow_usd: f64,
    /// The newest rows.
    pub(crate) recent: Vec<Row>,
    /// The last weeks, newest first.
    pub(crate) events: Vec<StackEvent>,
}

/// One figure.
pub(crate) struct Tile {
    name: &'static str,
    value: String,
    note: String,
    tone: &'static str,
    /// Leads to exactly the rows that it counts.
    href: Option<String>,
    /// Leads to rows among which those are, and says so.
    among: Option<String>,
}

struct WorkloadLine {
    name: String,
    href: String,
    requests: String,
    changed: String,
    chars: String,
    tokens: String,
    billed: String,
    saved: String,
    is_loss: bool,
}

#[derive(Template)]
#[template(path = "start.html")]
pub(crate) struct StartPage {
    shell: Shell,
    day: String,
    is_empty: bool,
    astray: Astray,
    tiles: Vec<Tile>,
    charts: Vec<Markup>,
    workloads: Vec<WorkloadLine>,
    events: Vec<Entry>,
}

/// How far the predicted input cost was off, in sum, and both sums in words.
fn forecast(today: &Totals) -> (String, String) {
    let (predicted, billed) = (today.predicted_usd_with, today.reconciled_usd);
    if predicted <= 0.0 || billed <= 0.0 {
        return ("–".into(), "nothing predicted was billed".into());
    }
    let places = usd_places([predicted, billed]);
    let note = format!(
        "{} predicted, {} billed for input",
        usd_in(predicted, places),
        usd_in(billed, places)
    );
    (off_by(predicted, billed), note)
}

/// What was billed today. What the canary spent is apart: it is not part of any saving.
fn billed(today: &Totals, shadow_usd: f64) -> String {
    let billed = format!("{} billed", usd(today.billed_usd));
    if shadow_usd > 0.0 {
        let shadow = usd(shadow_usd);
        format!("{billed}; {shadow} for comparing answers is not taken off")
    } else {
        billed
    }
}

fn tiles(data: &StartData, rollbacks: u64, since: &str) -> Vec<Tile> {
    let today = &data.today;
    let tile = |name, value, note: String, tone| Tile {
        name,
        value,
        note,
        tone,
        href: None,
        among: None,
    };
    let (off, sums) = forecast(today);
    let chars_saved = i64::try_from(today.chars_before).unwrap_or(i64::MAX)
        - i64::try_from(today.chars_after).unwrap_or(i64::MAX);
    let cut = share(
        today.chars_before.saturating_sub(today.chars_after),
        today.chars_before,
    );
    let mean_us = today.added_us.checked_div(today.requests);
    let mut all = vec![
        tile(
            "Requests",
            thousands(today.requests),
            mean_us.map_or(String::new(), |mean| {
                format!("{} added to each", micros(mean))
            }),
            "",
        ),
        tile(
            "Changed",
            share(today.changed, today.requests).map_or("–".into(), percent),
            format!("{} requests", thousands(today.changed)),
            "",
        ),
        tile(
            "Characters saved",
            signed(chars_saved),
            cut.map_or(String::new(), |cut| {
                format!("{} of what came and was looked at", percent(cut))
            }),
            "",
        ),
        tile(
            "Tokens saved",
            signed(today.tokens_saved),
            format!(
                "{} sent, {} of them from cache",
                thousands(today.input_tokens),
                thousands(today.cache_read_tokens)
            ),
            "",
        ),
        tile(
            "Dollars saved, net",
            usd(today.saved_usd),
            billed(today, data.shadow_usd),
            if today.saved_usd < 0.0 { "bad" } else { "" },
        ),
        tile(
            "Net-negative",
            thousands(today.net_negative),
            "requests whose cut cost more than it saved".into(),
            if today.net_negative > 0 { "warn" } else { "" },
        ),
        tile("Predicted against billed", off, sums, ""),
        tile(
            "Failed open",
            thousands(today.failed_open),
            "the original was sent in doubt".into(),
            if today.failed_open > 0 { "warn" } else { "" },
        ),
        tile(
            "Rejected after a change",
            thousands(today.struck),
            "the original was sent again".into(),
            if today.struck > 0 { "warn" } else { "" },
        ),
        tile(
            "Rollbacks",
            thousands(rollbacks),
            "stacks switched off by themselves".into(),
            if rollbacks > 0 { "bad" } else { "" },
        ),
    ];
    for tile in &mut all {
        match tile.name {
            "Requests" => tile.href = Some(link::audit(&[("since", since)])),
            "Changed" => tile.href = Some(link::audit(&[("changed", "1"), ("since", since)])),
            "Failed open" if today.failed_open > 0 => tile.among = Some(trouble(since)),
            "Rejected after a change" if today.struck > 0 => tile.among = Some(trouble(since)),
            _ => {}
        }
    }
    all
}

fn trouble(since: &str) -> String {
    link::audit(&[("trouble", "1"), ("since", since)])
}

impl StartPage {
    pub(crate) fn of(data: &StartData, astray: Astray, shell: Shell) -> Self {
        let midnight = Moment(midnight(shell.made.0));
        let is_rollback = |event: &&StackEvent| {
            event.kind == StackEventKind::RolledBack && event.at >= midnight.0
        };
        let rollbacks = data.events.iter().filter(is_rollback).count() as u64;
        let places = |of: fn(&Totals) -> f64| usd_places(data.workloads.iter().map(of));
        let billed = places(|totals| totals.billed_usd);
        let saved = places(|totals| totals.saved_usd);
        let workload = |totals: &Totals| WorkloadLine {
            name: totals.group.clone(),
            href: link::quality(&totals.group),
            requests: thousands(totals.requests),
            changed: share(totals.changed, totals.requests).map_or("–".into(), percent),
            chars: super::row_line::change(totals.chars_before, totals.chars_after)
                .unwrap_or_else(|| "–".into()),
            tokens: signed(totals.tokens_saved),
            billed: usd_in(totals.billed_usd, billed),
            saved: usd_in(totals.saved_usd, saved),
            is_loss: totals.saved_usd < 0.0,
        };
        Self {
            day: midnight.day(),
            is_empty: data.recent.is_empty(),
            astray,
            tiles: tiles(data, rollbacks, &midnight.field()),
            charts: vec![
                trend::context(&data.recent).figure(),
                trend::cost(&data.days).figure(),
                trend::volume(&data.days).figure(),
                trend::requests(&data.days).figure(),
            ],
            workloads: data.workloads.iter().map(workload).collect(),
            events: data.events.iter().take(8).map(Entry::of).collect(),
            shell,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_leads_to_exactly_its_rows_or_says_among_which_they_are() {
        let of_day = |today: Totals| StartData {
            today,
            workloads: Vec::new(),
            days: Vec::new(),
            shadow_usd: 0.5,
            recent: Vec::new(),
            events: Vec::new(),
        };
        let day = of_day(Totals {
            requests: 10,
            failed_open: 1,
            struck: 2,
            net_negative: 3,
            predicted_usd_with: 0.30,
            reconciled_usd: 0.25,
            ..Totals::default()
        });
        let all = tiles(&day, 0, "2026-11-16T00:00");
        let tile = |name: &str| all.iter().find(|tile| tile.name == name).unwrap();
        assert!(tile("Changed").href.as_ref().unwrap().contains("changed=1"));
        for name in ["Failed open", "Rejected after a change"] {
            assert_eq!(tile(name).href, None);
            assert!(tile(name).among.as_ref().unwrap().contains("trouble=1"));
        }
        assert_eq!(tile("Net-negative").value, "3");
        let saved = &tile("Dollars saved, net").note;
        assert!(
            saved.ends_with("$0.5000 for comparing answers is not taken off"),
            "{saved}"
        );
        let forecast = tile("Predicted against billed");
        assert_eq!(forecast.value, "20.0 % over");
        assert!(
            forecast
                .note
                .starts_with("$0.3000 predicted, $0.2500 billed")
        );
        let quiet = tiles(&of_day(Totals::default()), 0, "");
        assert!(quiet.iter().all(|tile| tile.among.is_none()));
        assert_eq!(all.len() % 10, 0, "as many as the rows of the page take");
    }
}
