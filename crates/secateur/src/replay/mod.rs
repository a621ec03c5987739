//! `secateur replay`: what a policy does to the bill of recorded sessions, and what it keeps.

mod bars;
mod feed;
mod gaps;
mod page;
mod plot;
mod sheet;
mod show;
mod sum;
mod tally;
mod work;

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use secateur_core::policy::Policy;
use secateur_core::{Request, prune};
use secateur_ledger::shown::in_line;
use secateur_replay::{
    BodyPolicy, Found, Measure, Pricing, RoundsSoFar, SentBody, Session, Spending, Step, Totals,
    fold_in_order,
};

use crate::args::ReplayArgs;
use crate::failure::Failure;
use crate::input::{write_file, write_stdout};
use crate::since::Since;
use feed::{Feed, Unit};
use gaps::Gaps;
use sum::Sum;
use tally::{Counted, Tally};
use work::{Shown, Work};

/// A policy with its name and its results.
struct Entrant {
    name: String,
    policy: Policy,
    counted: Counted,
    totals: Totals,
}

/// What a replay found.
struct Replay {
    entrants: Vec<Entrant>,
    since: Since,
    spending: Spending,
    /// Whether it was checked what is kept.
    measure: Measure,
    /// Conversations.
    sessions: usize,
    requests: usize,
    gaps: Gaps,
    older: usize,
}

pub(crate) fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let entrants = entrants(args)?;
    let since = args
        .since
        .clone()
        .unwrap_or_else(|| match args.files.as_slice() {
            [] => Since::usual(),
            _ => Since::All,
        });
    let found = feed::find(&args.files, since.millis())?;
    let names_files = args.files.iter().any(|path| path.is_file());
    let measure = if names_files || !args.compare.is_empty() {
        Measure::CostAndKept
    } else {
        Measure::Cost
    };
    let shown = args
        .html
        .as_ref()
        .map(|_| Shown::new(args.session.as_deref()));
    let work = Work {
        entrants: &entrants,
        model: args.model.as_deref(),
        measure,
        shown: shown.as_ref(),
    };
    let mut sum = Sum::new(&entrants, since.millis());
    work_through(&found, &work, args.threads, &mut sum);
    let replay = sum.finish(entrants, since, measure, found);
    if !replay.has_requests() {
        return Err(nothing_read(&replay));
    }
    if let (Some(path), Some(shown)) = (&args.html, shown) {
        let Some(session) = shown.into_session() else {
            let id = args.session.as_deref().unwrap_or_default();
            return Err(Failure::bad_usage(format!("no session is called `{id}`")));
        };
        let traces: Vec<Vec<Step>> = replay
            .entrants
            .iter()
            .map(|entrant| entrant.trace(&session, args.model.as_deref()))
            .collect();
        write_file(path, page::page(&replay, &session.id, &traces).as_bytes())?;
    }
    if args.json {
        return write_stdout(format!("{:#}\n", show::json(&replay)).as_bytes());
    }
    show::print(&replay)
}

fn work_through(found: &Found, work: &Work<'_>, threads: usize, sum: &mut Sum) {
    let size = |path: &std::path::PathBuf| std::fs::metadata(path).map_or(0, |facts| facts.len());
    let logs = found.sources.iter().map(|source| source.bytes);
    let bytes = logs.chain(found.records.iter().map(size)).sum();
    let bar = progress_bar(bytes);
    let on = |(number, unit): (usize, Unit)| {
        let bytes = match &unit {
            Unit::Log(source) => source.bytes,
            Unit::Record(record) => record.bytes() as u64,
            Unit::Broken { .. } => 0,
        };
        let done = work.on(number, unit);
        bar.inc(bytes);
        done
    };
    fold_in_order(Feed::new(found).enumerate(), threads, on, |done| {
        sum.add(done);
    });
    bar.finish_and_clear();
}

fn entrants(args: &ReplayArgs) -> Result<Vec<Entrant>, Failure> {
    let entrant = |name: &str, policy| Entrant {
        name: name.to_owned(),
        policy,
        counted: Counted::default(),
        totals: Totals::default(),
    };
    if args.compare.is_empty() {
        let file = args
            .policy
            .policy
            .as_ref()
            .map(|path| path.display().to_string());
        let name = args.policy.preset.clone().or(file);
        let name = name.unwrap_or_else(|| crate::args::DEFAULT_PRESET.to_owned());
        return Ok(vec![entrant(&name, args.policy.resolve()?)]);
    }
    let resolve = |preset: &String| {
        let policy = Policy::resolve(Some(preset), None, &args.policy.settings);
        policy
            .map(|policy| entrant(preset, policy))
            .map_err(|error| Failure::bad_usage(error.to_string()))
    };
    args.compare.iter().map(resolve).collect()
}

fn nothing_read(replay: &Replay) -> Failure {
    let reasons: Vec<String> = replay
        .gaps
        .unreadable
        .iter()
        .take(3)
        .map(|row| format!("{}: {}", in_line(&row.place), in_line(&row.reason)))
        .collect();
    let first = match replay.sessions {
        0 => "no session could be read",
        _ => "no request in that time: try --since all",
    };
    let mut words = vec![first.to_owned()];
    if replay.older > 0 {
        words.push(format!(
            "{} unchanged in that time: try --since all",
            crate::table::counted(replay.older as u64, "log")
        ));
    }
    if replay.gaps.empty_logs > 0 {
        words.push(format!(
            "{} without a request",
            crate::table::counted(replay.gaps.empty_logs as u64, "log")
        ));
    }
    words.extend(reasons);
    Failure::bad_input(words.join("\n"))
}

impl Replay {
    /// Whether any request is in the time asked for.
    fn has_requests(&self) -> bool {
        self.has_prices() || self.spending.unpriced.requests > 0
    }

    /// Whether there is anything with a price.
    fn has_prices(&self) -> bool {
        self.spending.total.requests > 0
    }
}

impl Entrant {
    /// Prunes one body and counts what was done; returns whether it took a round.
    fn apply(&self, body: &[u8], model: Option<&str>, tally: Option<&Tally>) -> (Vec<u8>, bool) {
        let request = Request {
            model,
            ..Request::default()
        };
        let outcome = prune(body, &request, &self.policy);
        if let Some(tally) = tally {
            tally.count(&outcome.report, model);
        }
        let is_round = outcome
            .report
            .account
            .is_some_and(|account| account.is_round);
        (outcome.body.into_owned(), is_round)
    }

    /// Prunes one body, with the number of rounds so far.
    fn send(&self, body: &[u8], model: Option<&str>) -> SentBody {
        let request = Request {
            model,
            ..Request::default()
        };
        let outcome = prune(body, &request, &self.policy);
        let account = outcome.report.account;
        SentBody {
            is_round: account.is_some_and(|account| account.is_round),
            rounds: account.map(|account| RoundsSoFar {
                requests: account.requests,
                last: account.last_round,
            }),
            body: outcome.body.into_owned(),
        }
    }

    /// One session, request by request.
    fn trace(&self, session: &Session, model: Option<&str>) -> Vec<Step> {
        let policy = BodyPolicy(|body: &[u8]| self.apply(body, model, None));
        secateur_replay::trace(session, &policy, Pricing::default())
    }
}

fn progress_bar(bytes: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(bytes);
    if let Ok(style) =
        ProgressStyle::with_template("{bar:40} {percent:>3} % of the sessions, {eta} left")
    {
        bar.set_style(style);
    }
    bar
}
