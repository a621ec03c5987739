//! The engine itself, as a client meets it: any preset, with any settings.

use secateur_core::policy::Policy;
use secateur_core::{Request, prune};
use secateur_replay::{BodyPolicy, Policy as Replayed, Session, replay};

use crate::tables::print_row;

/// One row per argument: `preset`, or `preset;key.path=value;…`.
pub fn rows(sessions: &[Session], arguments: impl Iterator<Item = String>) {
    let mut policies = Vec::new();
    for argument in arguments {
        let mut fields = argument.split(';').map(str::to_owned);
        let preset = fields.next().unwrap_or_default();
        let settings: Vec<String> = fields.collect();
        match Policy::resolve(Some(&preset), None, &settings) {
            Ok(policy) => policies.push((argument, policy)),
            Err(error) => println!("{argument}: {error}"),
        }
    }
    let bodies: Vec<_> = policies
        .iter()
        .map(|(_, policy)| {
            BodyPolicy(|body: &[u8]| {
                let outcome = prune(body, &Request::default(), policy);
                let account = outcome.report.account;
                let is_round = account.is_some_and(|account| account.is_round);
                (outcome.body.into_owned(), is_round)
            })
        })
        .collect();
    let replayed: Vec<&dyn Replayed> = bodies.iter().map(|body| body as &dyn Replayed).collect();
    for ((name, _), totals) in policies
        .iter()
        .zip(replay(sessions, &replayed, 0, &|_, _| {}))
    {
        print_row(name, &totals);
    }
}
