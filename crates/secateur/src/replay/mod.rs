//! `secateur replay`: what a policy does to the bill of recorded sessions, and what it keeps.

mod batch;
mod page;
mod plot;
mod show;
mod tally;

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use secateur_core::policy::Policy;
use secateur_core::{Request, prune};
use secateur_replay::{BodyPolicy, Policy as Replayed, Pricing, Session, Step, Totals, Unreadable};

use crate::args::ReplayArgs;
use crate::failure::Failure;
use crate::input::{write_file, write_stdout};
use batch::Batches;
use tally::Tally;

/// A policy with its name and what came of it.
struct Entrant {
    name: String,
    policy: Policy,
    tally: Tally,
    totals: Totals,
}

/// What a replay found.
struct Replay {
    entrants: Vec<Entrant>,
    sessions: usize,
    requests: usize,
    unreadable: Vec<Unreadable>,
}

/// The session that the page shows.
struct Shown {
    session: Session,
    bytes: usize,
}

pub(crate) fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let mut replay = Replay {
        entrants: entrants(args)?,
        sessions: 0,
        requests: 0,
        unreadable: Vec::new(),
    };
    let mut shown: Option<Shown> = None;
    let batches = Batches::new(&args.files)?;
    let bar = progress_bar(batches.total_bytes());
    for batch in batches {
        let batch = batch?;
        let sessions = &batch.sessions;
        let at =
            |done: usize| batch.bytes_before + batch.bytes * done as u64 / sessions.len() as u64;
        replay.add(sessions, args, &|done, _| bar.set_position(at(done)));
        replay.unreadable.extend(batch.unreadable);
        if args.html.is_some() {
            choose(&mut shown, sessions, args.session.as_deref());
        }
    }
    bar.finish_and_clear();
    if replay.sessions == 0 {
        return Err(nothing_read(&replay.unreadable));
    }
    if let Some(path) = &args.html {
        let Some(shown) = shown else {
            let id = args.session.as_deref().unwrap_or_default();
            return Err(Failure::bad_usage(format!("no session is called `{id}`")));
        };
        let traces: Vec<Vec<Step>> = replay
            .entrants
            .iter()
            .map(|entrant| entrant.trace(&shown.session, args.model.as_deref()))
            .collect();
        write_file(
            path,
            page::page(&replay, &shown.session.id, &traces).as_bytes(),
        )?;
    }
    if args.json {
        return write_stdout(format!("{:#}\n", show::json(&replay)).as_bytes());
    }
    show::print(&replay)?;
    Ok(())
}

fn entrants(args: &ReplayArgs) -> Result<Vec<Entrant>, Failure> {
    let entrant = |name: &str, policy| Entrant {
        name: name.to_owned(),
        policy,
        tally: Tally::default(),
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

/// Keeps the session that was asked for, else the largest so far; of equals the first.
fn choose(shown: &mut Option<Shown>, sessions: &[Session], wanted: Option<&str>) {
    for session in sessions {
        let bytes = session.messages.iter().map(|m| m.raw.len()).sum();
        let is_it = match wanted {
            Some(id) => shown.is_none() && session.id == id,
            None => shown.as_ref().is_none_or(|best| bytes > best.bytes),
        };
        if is_it {
            *shown = Some(Shown {
                session: session.clone(),
                bytes,
            });
        }
    }
}

fn nothing_read(unreadable: &[Unreadable]) -> Failure {
    let reasons: Vec<String> = unreadable
        .iter()
        .take(3)
        .map(|row| format!("{}: {}", row.place, row.reason))
        .collect();
    Failure::bad_input(format!("no session could be read\n{}", reasons.join("\n")))
}

impl Replay {
    /// Replays some sessions under all policies.
    fn add(
        &mut self,
        sessions: &[Session],
        args: &ReplayArgs,
        progress: secateur_replay::Progress<'_>,
    ) {
        let bodies: Vec<_> = self
            .entrants
            .iter()
            .map(|entrant| BodyPolicy(|body: &[u8]| entrant.apply(body, args.model.as_deref())))
            .collect();
        let replayed: Vec<&dyn Replayed> =
            bodies.iter().map(|body| body as &dyn Replayed).collect();
        let totals = secateur_replay::replay(
            sessions,
            &replayed,
            Pricing::default(),
            args.threads,
            progress,
        );
        self.sessions += sessions.len();
        self.requests += sessions
            .iter()
            .map(|session| session.boundaries().count())
            .sum::<usize>();
        for (entrant, total) in self.entrants.iter_mut().zip(totals) {
            entrant.totals.sessions.extend(total.sessions);
        }
    }
}

impl Entrant {
    /// Prunes one body and counts what was done; tells whether it took a round.
    fn apply(&self, body: &[u8], model: Option<&str>) -> (Vec<u8>, bool) {
        let request = Request {
            model,
            ..Request::default()
        };
        let outcome = prune(body, &request, &self.policy);
        self.tally.count(&outcome.report, model);
        let is_round = outcome
            .report
            .account
            .is_some_and(|account| account.is_round);
        (outcome.body.into_owned(), is_round)
    }

    /// One session, request by request.
    fn trace(&self, session: &Session, model: Option<&str>) -> Vec<Step> {
        let uncounted = Self {
            name: String::new(),
            policy: self.policy.clone(),
            tally: Tally::default(),
            totals: Totals::default(),
        };
        let policy = BodyPolicy(|body: &[u8]| uncounted.apply(body, model));
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
