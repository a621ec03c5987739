//! The start page: the day's figures, context and cost over time, workloads, the last events.

use askama::Template;
use secateur_ledger::moment::{Moment, midnight};
use secateur_ledger::{Row, StackEvent, StackEventKind, Totals};

use super::timeline::Entry;
use super::trend;
use crate::link;
use crate::markup::Markup;
use crate::numbers::{micros, percent, share, signed, thousands, usd};
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
    href: Option<String>,
}

struct WorkloadLine {
    name: String,
    href: String,
    requests: String,
    changed: String,
    chars: String,
    tokens: String,
    paid: String,
    saved: String,
    is_loss: bool,
}

#[derive(Template)]
#[template(path = "start.html")]
pub(crate) struct StartPage {
    shell: Shell,
    day: String,
    is_empty: bool,
    tiles: Vec<Tile>,
    charts: Vec<Markup>,
    workloads: Vec<WorkloadLine>,
    events: Vec<Entry>,
}

/// What was paid today. What the canary spent is apart: it is not part of any saving.
fn paid(today: &Totals, shadow_usd: f64) -> String {
    let paid = format!("{} paid", usd(today.actual_usd));
    if shadow_usd > 0.0 {
        let shadow = usd(shadow_usd);
        format!("{paid}; {shadow} for comparing answers is not taken off")
    } else {
        paid
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
    };
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
                format!("{} of what came", percent(cut))
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
            paid(today, data.shadow_usd),
            if today.saved_usd < 0.0 { "bad" } else { "" },
        ),
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
    let linked = [("Failed open", "trouble"), ("Changed", "changed")];
    for tile in &mut all {
        let filter = linked.iter().find(|(name, _)| *name == tile.name);
        tile.href = filter.map(|(_, filter)| link::audit(&[(filter, "1"), ("since", since)]));
    }
    all
}

impl StartPage {
    pub(crate) fn of(data: &StartData, shell: Shell) -> Self {
        let midnight = Moment(midnight(shell.made.0));
        let is_rollback = |event: &&StackEvent| {
            event.kind == StackEventKind::RolledBack && event.at >= midnight.0
        };
        let rollbacks = data.events.iter().filter(is_rollback).count() as u64;
        let workload = |totals: &Totals| WorkloadLine {
            name: totals.group.clone(),
            href: link::quality(&totals.group),
            requests: thousands(totals.requests),
            changed: share(totals.changed, totals.requests).map_or("–".into(), percent),
            chars: super::row_line::change(totals.chars_before, totals.chars_after)
                .unwrap_or_else(|| "–".into()),
            tokens: signed(totals.tokens_saved),
            paid: usd(totals.actual_usd),
            saved: usd(totals.saved_usd),
            is_loss: totals.saved_usd < 0.0,
        };
        Self {
            day: midnight.day(),
            is_empty: data.recent.is_empty(),
            tiles: tiles(data, rollbacks, &midnight.field()),
            charts: vec![
                trend::context(&data.recent).figure(),
                trend::cost(&data.days).figure(),
                trend::volume(&data.days).figure(),
            ],
            workloads: data.workloads.iter().map(workload).collect(),
            events: data.events.iter().take(8).map(Entry::of).collect(),
            shell,
        }
    }
}
