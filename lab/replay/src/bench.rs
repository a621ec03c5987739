//! The engine as a client meets it, under any setting; a setting is replayed once.

use std::collections::HashMap;
use std::io::Write;

use secateur_core::policy::{Policy, PolicyError};
use secateur_core::{Request, prune};
use secateur_replay::{BodyPolicy, Policy as Replayed, Pricing, Session, Totals, replay, trace};

use crate::rows::Row;

/// Sessions, and what was replayed on them so far.
pub struct Bench<'s> {
    sessions: &'s [Session],
    pricing: Pricing,
    known: HashMap<String, Totals>,
}

impl<'s> Bench<'s> {
    pub fn of(sessions: &'s [Session], pricing: Pricing) -> Self {
        Self {
            sessions,
            pricing,
            known: HashMap::new(),
        }
    }

    pub fn sessions(&self) -> &'s [Session] {
        self.sessions
    }

    /// Each row with what the sessions come to under its setting.
    pub fn replay<'r>(&mut self, rows: &'r [Row]) -> Result<Vec<(&'r str, Totals)>, PolicyError> {
        let mut settings = Vec::new();
        for row in rows.iter().filter(|r| !self.known.contains_key(&r.setting)) {
            settings.push((row.setting.clone(), resolve(&row.setting)?));
        }
        let bodies: Vec<_> = settings.iter().map(|(_, policy)| engine(policy)).collect();
        let policies: Vec<&dyn Replayed> = bodies.iter().map(|body| body as _).collect();
        if !policies.is_empty() {
            let totals = replay(self.sessions, &policies, self.pricing, 0, &show_progress);
            let names = settings.iter().map(|(setting, _)| setting.clone());
            self.known.extend(names.zip(totals));
        }
        let with_totals = |row: &'r Row| Some((&*row.name, self.known.get(&row.setting)?.clone()));
        Ok(rows.iter().filter_map(with_totals).collect())
    }

    /// The requests of one session under a setting.
    pub fn print_trace(&self, id: &str, setting: &str) -> Result<(), PolicyError> {
        let policy = resolve(setting)?;
        let found = self
            .sessions
            .iter()
            .find(|session| session.id.starts_with(id));
        let Some(session) = found else {
            println!("no session {id}");
            return Ok(());
        };
        let steps = trace(session, &engine(&policy), self.pricing);
        println!("request  tokens    without   read      cost    without  round cold");
        for (at, (step, upto)) in steps.iter().zip(session.boundaries()).enumerate() {
            println!(
                "{at:>7} {:>9.0} {:>9.0} {:>9.0} {:>8.0} {:>8.0}  {:>5} {:>4}",
                step.tokens,
                step.full_tokens,
                step.cache_read,
                step.cost,
                step.full_cost,
                if step.round { "round" } else { "" },
                if session.cold.contains(&upto) {
                    "cold"
                } else {
                    ""
                },
            );
        }
        Ok(())
    }

    /// A table with a line for each row.
    pub fn print(&mut self, rows: &[Row]) -> Result<(), PolicyError> {
        print_table(&self.replay(rows)?);
        Ok(())
    }
}

/// The policy that a setting describes: `preset`, or `preset;key.path=value;…`.
pub fn resolve(setting: &str) -> Result<Policy, PolicyError> {
    let mut fields = setting.split(';').map(str::to_owned);
    let preset = fields.next();
    Policy::resolve(preset.as_deref(), None, &fields.collect::<Vec<_>>())
}

/// The engine under a policy.
pub fn engine(policy: &Policy) -> BodyPolicy<impl Fn(&[u8]) -> (Vec<u8>, bool) + Sync + '_> {
    BodyPolicy(|body: &[u8]| {
        let outcome = prune(body, &Request::default(), policy);
        let is_round = outcome.report.account.is_some_and(|a| a.is_round);
        (outcome.body.into_owned(), is_round)
    })
}

fn show_progress(done: usize, of: usize) {
    eprint!("\r{done} of {of} sessions");
    if done == of {
        eprintln!();
    }
    // What is not shown is not missed.
    drop(std::io::stderr().flush());
}

/// A table of names and totals.
pub fn print_table(rows: &[(impl AsRef<str>, Totals)]) {
    println!("{:46} bill   worst   over ids    lines  outcomes", "");
    for (name, t) in rows {
        println!(
            "{:46} {:.4} {:.4} {:>4}  {:.4} {:.4} {:.4}  tokens {:.3} cache reads {:.3} rounds {:.1}",
            name.as_ref(),
            t.bill(),
            t.worst(),
            t.over(),
            t.ids(),
            t.lines(),
            t.outcomes(),
            t.tokens(),
            t.cache_read_share(),
            t.rounds_per_session()
        );
    }
}

/// The ten sessions with the highest bill against no pruning.
pub fn print_worst(sessions: &[Session], totals: &Totals) {
    let mut rows: Vec<_> = sessions.iter().zip(&totals.sessions).collect();
    rows.sort_by(|a, b| (b.1.cost / b.1.full_cost).total_cmp(&(a.1.cost / a.1.full_cost)));
    for (session, score) in rows.iter().take(10) {
        println!(
            "{:46} {:.4} requests {:>4} cold {:>3} rounds {:>3} fixed {:.0}",
            session.id,
            score.cost / score.full_cost,
            score.requests,
            session.cold.len(),
            score.rounds,
            session.fixed_tokens
        );
    }
}
