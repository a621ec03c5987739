//! What was paid and what would have been paid: the sentence, the tables and the notes that text and page share.

use std::path::Path;

use secateur_ledger::moment::{DAY_MS, Moment, day_of};
use secateur_ledger::shown::in_line;
use secateur_replay::{Agent, Line, SessionLine};
use serde_json::{Value, json};

use super::Replay;
use crate::table::{counted, thousands};

/// Sessions in each of the lists of largest savings and losses.
const LISTED_SESSIONS: usize = 5;

/// Files that a note names; the others are counted.
const NAMED_FILES: usize = 5;

/// One table.
pub(super) struct Sheet {
    pub(super) title: String,
    /// Heads of the columns; the first `left` are texts, the others numbers.
    pub(super) heads: Vec<&'static str>,
    pub(super) left: usize,
    pub(super) rows: Vec<Vec<String>>,
}

/// `Last 30 days: 412 sessions, $318.20. With …`, for the policy of this number.
pub(super) fn headline(replay: &Replay, policy: usize) -> String {
    let total = &replay.spending.total;
    let with = total
        .with_usd
        .get(policy)
        .copied()
        .unwrap_or(total.paid_usd);
    let (paid, with) = (Cents::of(total.paid_usd), Cents::of(with));
    let saved = Cents(paid.0 - with.0);
    let change = match saved.0 {
        0 => "no change".to_owned(),
        _ => format!("{}, {} %", Cents(-saved.0).signed(), percent(saved, paid)),
    };
    format!(
        "{}: {}, {}. With `{}` you would have paid {} ({change}).",
        replay.since.describe(),
        counted(total.sessions as u64, "session"),
        paid.plain(),
        replay.entrants[policy].name,
        with.plain(),
    )
}

/// A whole number of cents: what is shown adds up as it is shown.
#[derive(Clone, Copy)]
struct Cents(i64);

impl Cents {
    #[expect(clippy::cast_possible_truncation, reason = "nobody pays 2^63 cents")]
    fn of(usd: f64) -> Self {
        Self((usd * 100.0).round() as i64)
    }

    /// `$1,234.56`.
    fn plain(self) -> String {
        let cents = self.0.unsigned_abs();
        let dollars = thousands(cents / 100);
        let minus = if self.0 < 0 { "−" } else { "" };
        format!("{minus}${dollars}.{:02}", cents % 100)
    }

    /// With a plus too.
    fn signed(self) -> String {
        let plus = if self.0 > 0 { "+" } else { "" };
        format!("{plus}{}", self.plain())
    }
}

#[expect(clippy::cast_precision_loss, reason = "for a percentage")]
fn percent(part: Cents, whole: Cents) -> String {
    let share = part.0.unsigned_abs() as f64 / (whole.0.unsigned_abs().max(1)) as f64;
    format!("{:.0}", share * 100.0)
}

/// Paid, with the policy, saved, and the share of it.
fn amounts(line: &Line) -> [String; 4] {
    let with = line.with_usd.first().copied().unwrap_or(line.paid_usd);
    let (paid, with) = (Cents::of(line.paid_usd), Cents::of(with));
    let saved = Cents(paid.0 - with.0);
    let minus = if saved.0 < 0 { "−" } else { "" };
    let share = format!("{minus}{} %", percent(saved, paid));
    [paid.plain(), with.plain(), saved.plain(), share]
}

fn agent_name(agent: Option<Agent>) -> &'static str {
    agent.map_or("other", Agent::name)
}

fn day_name(day: Option<i64>) -> String {
    day.map_or_else(|| "no date".to_owned(), |day| day_of(day * DAY_MS))
}

/// Models by what was paid for them, most first.
fn models(replay: &Replay) -> Vec<(&String, &Line)> {
    let mut models: Vec<(&String, &Line)> = replay.spending.by_model.iter().collect();
    models.sort_by(|a, b| b.1.paid_usd.total_cmp(&a.1.paid_usd));
    models
}

/// Days in order.
pub(super) fn days(replay: &Replay) -> impl Iterator<Item = (String, &Line)> {
    let days = replay.spending.by_day.iter();
    days.map(|(day, line)| (day_name(*day), line))
}

/// Tables by agent, by model and by day, and the sessions with the largest savings and losses.
pub(super) fn sheets(replay: &Replay) -> Vec<Sheet> {
    let spending = &replay.spending;
    let table = |title: &str, first: &'static str, rows: Vec<(String, &Line)>| Sheet {
        title: title.to_owned(),
        heads: vec![first, "sessions", "requests", "paid", "with", "saved", ""],
        left: 1,
        rows: rows
            .into_iter()
            .map(|(name, line)| {
                let mut row = vec![
                    in_line(&name).into_owned(),
                    thousands(line.sessions),
                    thousands(line.requests),
                ];
                row.extend(amounts(line));
                row
            })
            .collect(),
    };
    let agents = spending.by_agent.iter();
    let agents = agents.map(|(agent, line)| (agent_name(*agent).to_owned(), line));
    let mut sheets = vec![
        table("By agent", "agent", agents.collect()),
        table(
            "By model",
            "model",
            models(replay)
                .into_iter()
                .map(|(name, line)| (name.clone(), line))
                .collect(),
        ),
        table("By day (UTC)", "day", days(replay).collect()),
    ];
    let (savings, losses) = extremes(replay);
    for (title, list) in [("Largest savings", savings), ("Largest losses", losses)] {
        if !list.is_empty() {
            sheets.push(Sheet {
                title: title.to_owned(),
                heads: vec![
                    "session", "agent", "began", "project", "paid", "with", "saved",
                ],
                left: 4,
                rows: list.iter().map(|session| session_row(session)).collect(),
            });
        }
    }
    sheets
}

fn session_row(session: &SessionLine) -> Vec<String> {
    let project = session.project.as_deref().unwrap_or_default();
    let folder = Path::new(project).file_name();
    let folder = folder.unwrap_or_default().to_string_lossy();
    let began = session.from_ms.map(|at| Moment(at).full());
    // The part of an id that distinguishes sessions on one screen.
    let id: String = session.session.chars().take(13).collect();
    let mut row = vec![
        in_line(&id).into_owned(),
        agent_name(session.agent).to_owned(),
        began.map_or_else(String::new, |began| began.chars().take(10).collect()),
        in_line(&folder).into_owned(),
    ];
    row.extend(amounts(&session.line).into_iter().take(3));
    row
}

/// The sessions with the largest savings and losses, of a cent at least.
fn extremes(replay: &Replay) -> (Vec<&SessionLine>, Vec<&SessionLine>) {
    let saved = |session: &SessionLine| session.line.saved_usd(0);
    let mut sessions: Vec<&SessionLine> = replay.spending.sessions.iter().collect();
    sessions.sort_by(|a, b| saved(b).total_cmp(&saved(a)));
    let savings = sessions.iter().take_while(|s| saved(s) >= 0.005);
    let losses = sessions.iter().rev().take_while(|s| saved(s) <= -0.005);
    (
        savings.take(LISTED_SESSIONS).copied().collect(),
        losses.take(LISTED_SESSIONS).copied().collect(),
    )
}

/// What the numbers rest on, and what is not in them.
pub(super) fn notes(replay: &Replay) -> Vec<String> {
    let spending = &replay.spending;
    let mut notes = vec![format!(
        "Paid: the usage billed in the logs at list prices of {}; a subscription is billed otherwise.",
        secateur_core::models::TABLE_DATE
    )];
    if let Some(tokens) = spending.fixed_tokens {
        notes.push(format!(
            "Estimate: system prompt and tool definitions are not in the logs. Their size is the input billed for the \
             first request minus its messages: {} tokens on average.",
            thousands(whole(tokens))
        ));
    }
    if spending.estimated_requests > 0 {
        notes.push(format!(
            "Estimate: {} without billed usage, priced by characters, without system prompt and tools.",
            counted(spending.estimated_requests as u64, "request")
        ));
    }
    let unpriced = &spending.unpriced;
    if unpriced.requests > 0 {
        let models = unpriced.models.iter();
        let models: Vec<String> = models
            .map(|(name, count)| format!("{} ({count})", in_line(name)))
            .collect();
        notes.push(format!(
            "Not in the sums: {} with models whose price is not known ({} without any other): {}.",
            counted(unpriced.requests as u64, "request"),
            counted(unpriced.sessions as u64, "session"),
            models.join(", ")
        ));
    }
    if spending.repeated_requests > 0 {
        notes.push(format!(
            "Counted once: {} found in more than one log or branch.",
            counted(spending.repeated_requests as u64, "request")
        ));
    }
    if replay.gaps.empty_logs > 0 {
        notes.push(format!(
            "{} without a request.",
            counted(replay.gaps.empty_logs as u64, "log")
        ));
    }
    if replay.older > 0 {
        notes.push(format!(
            "{} not opened: unchanged in that time.",
            counted(replay.older as u64, "log")
        ));
    }
    if !replay.gaps.cut_short.is_empty() {
        notes.push(format!(
            "Too large, read in part and counted as far as read: {}.",
            listed(&replay.gaps.cut_short)
        ));
    }
    notes
}

/// The first names of a list, and how many more there are.
fn listed(names: &[String]) -> String {
    let shown = names.iter().take(NAMED_FILES);
    let shown: Vec<_> = shown.map(|name| in_line(name)).collect();
    let more = match names.len().saturating_sub(NAMED_FILES) {
        0 => String::new(),
        more => format!(" and {} more", thousands(more)),
    };
    shown.join(", ") + &more
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of tokens"
)]
fn whole(tokens: f64) -> usize {
    tokens.round() as usize
}

/// The same numbers for programs.
pub(super) fn json(replay: &Replay) -> Value {
    let spending = &replay.spending;
    let line = |name: &str, value: Value, line: &Line| {
        let policies = replay.entrants.iter().enumerate().map(|(at, entrant)| {
            let usd = line.with_usd.get(at).copied().unwrap_or(line.paid_usd);
            json!({ "policy": entrant.name, "usd": usd, "saved_usd": line.saved_usd(at) })
        });
        let mut row = json!({
            "sessions": line.sessions,
            "requests": line.requests,
            "paid_usd": line.paid_usd,
            "policies": policies.collect::<Value>(),
        });
        if !name.is_empty() {
            row[name] = value;
        }
        row
    };
    let session = |session: &&SessionLine| {
        let mut row = line("session", session.session.clone().into(), &session.line);
        row["agent"] = agent_name(session.agent).into();
        row["project"] = session.project.clone().into();
        row["began"] = session.from_ms.map(|at| Moment(at).full()).into();
        row
    };
    let (savings, losses) = extremes(replay);
    json!({
        "headline": headline(replay, 0),
        "since": replay.since.millis().map(|at| Moment(at).full()),
        "total": line("", Value::Null, &spending.total),
        "by_agent": spending.by_agent.iter()
            .map(|(agent, sum)| line("agent", agent_name(*agent).into(), sum)).collect::<Value>(),
        "by_model": models(replay).into_iter()
            .map(|(model, sum)| line("model", model.clone().into(), sum)).collect::<Value>(),
        "by_day": spending.by_day.iter()
            .map(|(day, sum)| line("day", day.map(|_| day_name(*day)).into(), sum)).collect::<Value>(),
        "largest_savings": savings.iter().map(session).collect::<Value>(),
        "largest_losses": losses.iter().map(session).collect::<Value>(),
        "unpriced": {
            "sessions": spending.unpriced.sessions,
            "requests": spending.unpriced.requests,
            "models": spending.unpriced.models,
        },
        "estimated_requests": spending.estimated_requests,
        "estimated_fixed_tokens": spending.fixed_tokens,
        "repeated_requests": spending.repeated_requests,
        "price_date": secateur_core::models::TABLE_DATE,
    })
}
