//! Replays one unit of work under all policies.

use std::sync::{Mutex, PoisonError};

use secateur_replay::{
    BodyPolicy, ConversationCost, Loaded, Measure, Policy, Pricing, ReadLimits, Replayed,
    RoundPolicy, Session, SessionScore, read_log, replay_steps,
};

use super::Entrant;
use super::feed::Unit;
use super::gaps::Gaps;
use super::tally::{Counted, Tally};

/// The result of replaying one unit of work.
pub(super) struct Done {
    pub(super) costs: Vec<ConversationCost>,
    /// For each policy, the scores of the sessions and what was counted.
    pub(super) policies: Vec<(Vec<SessionScore>, Counted)>,
    pub(super) requests: usize,
    pub(super) gaps: Gaps,
}

/// How units of work are replayed.
pub(super) struct Work<'w> {
    pub(super) entrants: &'w [Entrant],
    pub(super) model: Option<&'w str>,
    pub(super) measure: Measure,
    /// The session that the page shows, where there is a page.
    pub(super) shown: Option<&'w Shown<'w>>,
}

impl Work<'_> {
    /// Reads and replays a unit.
    pub(super) fn on(&self, number: usize, unit: Unit) -> Done {
        let is_log = matches!(unit, Unit::Log(_));
        let mut loaded = read(unit);
        let gaps = Gaps::of(&mut loaded, is_log);
        let tallies: Vec<Tally> = self.entrants.iter().map(|_| Tally::default()).collect();
        let mut scores = vec![Vec::new(); self.entrants.len()];
        let (mut costs, mut requests) = (Vec::new(), 0);
        for mut session in loaded.sessions {
            if session.model.is_none() {
                session.model = self.model.map(str::to_owned);
            }
            let replayed = self.replay(&session, &tallies);
            requests += session.boundaries().count();
            costs.push(ConversationCost::of(&session, &replayed));
            for (scores, replayed) in scores.iter_mut().zip(replayed) {
                scores.push(replayed.score);
            }
            if let Some(shown) = self.shown {
                shown.offer(number, session);
            }
        }
        let counted = tallies.iter().map(Tally::get);
        Done {
            costs,
            policies: scores.into_iter().zip(counted).collect(),
            requests,
            gaps,
        }
    }

    /// What is kept and what was done needs every request; costs alone only those at which something is decided.
    fn replay(&self, session: &Session, tallies: &[Tally]) -> Vec<Replayed> {
        let pricing = Pricing::default();
        let entrants = self.entrants.iter();
        if self.measure == Measure::Cost {
            let policies: Vec<_> = entrants
                .map(|entrant| RoundPolicy(|body: &[u8]| entrant.send(body, self.model)))
                .collect();
            let policies: Vec<&dyn Policy> = policies.iter().map(|p| p as &dyn Policy).collect();
            return replay_steps(session, &policies, pricing, self.measure);
        }
        let policies: Vec<_> = entrants
            .zip(tallies)
            .map(|(entrant, tally)| {
                BodyPolicy(|body: &[u8]| entrant.apply(body, self.model, Some(tally)))
            })
            .collect();
        let policies: Vec<&dyn Policy> = policies.iter().map(|p| p as &dyn Policy).collect();
        replay_steps(session, &policies, pricing, self.measure)
    }
}

fn read(unit: Unit) -> Loaded {
    let failed = |place: String, reason: String| {
        let mut loaded = Loaded::default();
        loaded.reject(place, reason);
        loaded
    };
    match unit {
        Unit::Log(source) => read_log(&source, &ReadLimits::default())
            .unwrap_or_else(|error| failed(source.path.display().to_string(), error.to_string())),
        Unit::Record(record) => record.read(),
        Unit::Broken { name, reason } => failed(name, reason),
    }
}

/// The session that the page shows: the one asked for, else the largest; of equals the first.
#[derive(Default)]
pub(super) struct Shown<'w> {
    wanted: Option<&'w str>,
    best: Mutex<Option<Best>>,
}

struct Best {
    bytes: usize,
    number: usize,
    session: Session,
}

impl<'w> Shown<'w> {
    pub(super) fn new(wanted: Option<&'w str>) -> Self {
        Self {
            wanted,
            best: Mutex::new(None),
        }
    }

    fn offer(&self, number: usize, session: Session) {
        let bytes = session.messages.iter().map(|m| m.raw.len()).sum();
        let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        let is_wanted = |id: &str| session.id == id;
        let is_better = best.as_ref().is_none_or(|best| match self.wanted {
            Some(_) => number < best.number,
            None => bytes > best.bytes || (bytes == best.bytes && number < best.number),
        });
        if is_better && self.wanted.is_none_or(is_wanted) {
            *best = Some(Best {
                bytes,
                number,
                session,
            });
        }
    }

    pub(super) fn into_session(self) -> Option<Session> {
        let best = self
            .best
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        best.map(|best| best.session)
    }
}
