//! One session under one policy: bill, ids, lines.

use std::sync::Arc;

use crate::index::Index;
use crate::outcomes;
use crate::price::{Meter, Priced, Pricing};
use crate::session::{PartKind, Role, Session};

/// A part as it is sent.
#[derive(Debug, Clone)]
pub struct PrunedPart {
    /// What it is.
    pub kind: PartKind,
    /// Its text as sent; a clone of the session's allocation where nothing changed.
    pub text: Arc<str>,
}

/// A message as it is sent.
#[derive(Debug, Clone)]
pub struct PrunedMessage {
    /// Who speaks.
    pub role: Role,
    /// The parts that are left.
    pub parts: Vec<PrunedPart>,
    /// The parts with a cache marker; `None`: where the client puts one.
    pub marked: Option<Vec<usize>>,
}

/// What is sent at one boundary.
#[derive(Debug, Clone, Default)]
pub struct Pruned {
    /// The messages that are left.
    pub messages: Vec<PrunedMessage>,
    /// New decisions were taken at this boundary.
    pub round: bool,
}

impl Pruned {
    /// Everything up to a boundary, as it is.
    pub fn whole(session: &Session, upto: usize) -> Self {
        let messages = session.messages[..upto]
            .iter()
            .map(|m| PrunedMessage {
                role: m.role,
                parts: m
                    .parts
                    .iter()
                    .map(|p| PrunedPart {
                        kind: p.kind,
                        text: Arc::clone(&p.text),
                    })
                    .collect(),
                marked: None,
            })
            .collect();
        Self {
            messages,
            round: false,
        }
    }
}

/// A policy: starts afresh on every session.
pub trait Policy: Sync {
    /// Begins a session.
    fn start<'s>(&'s self, session: &'s Session) -> Box<dyn Run + 's>;
}

/// A policy on its way through one session; called at each boundary in order.
pub trait Run {
    /// What is sent at the boundary `upto`.
    fn at(&mut self, upto: usize) -> Pruned;
}

struct Stateless<'s, F>(&'s F, &'s Session);

impl<F: Fn(&Session, usize) -> Pruned> Run for Stateless<'_, F> {
    fn at(&mut self, upto: usize) -> Pruned {
        (self.0)(self.1, upto)
    }
}

impl<F: Fn(&Session, usize) -> Pruned + Sync> Policy for F {
    fn start<'s>(&'s self, session: &'s Session) -> Box<dyn Run + 's> {
        Box::new(Stateless(self, session))
    }
}

/// What one session came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionScore {
    /// Requests made.
    pub requests: usize,
    /// Requests at which new decisions were taken.
    pub rounds: usize,
    /// Cost with the policy.
    pub cost: f64,
    /// Cost without.
    pub full_cost: f64,
    /// Tokens sent with the policy.
    pub tokens: f64,
    /// Tokens sent without.
    pub full_tokens: f64,
    /// Of `tokens`, those read from the cache.
    pub cache_read: f64,
    /// Identifiers asked for that the full context holds.
    pub ids: usize,
    /// Of these, still there.
    pub ids_kept: usize,
    /// Requests with more cache markers than the provider takes.
    pub rejected: usize,
    /// Lines asked for that the full context holds.
    pub lines: usize,
    /// Of these, still there.
    pub lines_kept: usize,
    /// Outcome lines of commands whose results the last request does not hold whole.
    pub outcomes: usize,
    /// Of these, still there.
    pub outcomes_kept: usize,
}

/// All sessions under one policy.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// One score per session, in the order of the sessions.
    pub sessions: Vec<SessionScore>,
}

impl Totals {
    fn sum(&self, of: impl Fn(&SessionScore) -> f64) -> f64 {
        self.sessions.iter().map(of).sum()
    }

    /// Cost of all requests over the cost without pruning.
    pub fn bill(&self) -> f64 {
        ratio(self.sum(|s| s.cost), self.sum(|s| s.full_cost))
    }

    /// The worst single session's bill.
    pub fn worst(&self) -> f64 {
        self.sessions
            .iter()
            .map(|s| ratio(s.cost, s.full_cost))
            .fold(0.0, f64::max)
    }

    /// How many sessions cost more than without pruning.
    pub fn over(&self) -> usize {
        let is_over = |s: &&SessionScore| ratio(s.cost, s.full_cost) > 1.0 + 1e-9;
        self.sessions.iter().filter(is_over).count()
    }

    /// Requests that the provider would have rejected for their markers.
    pub fn rejected(&self) -> usize {
        self.sessions.iter().map(|s| s.rejected).sum()
    }

    /// Tokens sent over those sent without pruning.
    pub fn tokens(&self) -> f64 {
        ratio(self.sum(|s| s.tokens), self.sum(|s| s.full_tokens))
    }

    /// Share of the tokens that came from the cache.
    pub fn cache_read_share(&self) -> f64 {
        ratio(self.sum(|s| s.cache_read), self.sum(|s| s.tokens))
    }

    /// Rounds per session.
    pub fn rounds_per_session(&self) -> f64 {
        ratio(self.sum(|s| count(s.rounds)), count(self.sessions.len()))
    }

    /// Share of the identifiers still there.
    pub fn ids(&self) -> f64 {
        ratio(self.sum(|s| count(s.ids_kept)), self.sum(|s| count(s.ids)))
    }

    /// Share of the lines still there.
    pub fn lines(&self) -> f64 {
        ratio(
            self.sum(|s| count(s.lines_kept)),
            self.sum(|s| count(s.lines)),
        )
    }
}

impl Totals {
    /// Share of the outcome lines of changed command results that the last request of each session still has.
    pub fn outcomes(&self) -> f64 {
        ratio(
            self.sum(|s| count(s.outcomes_kept)),
            self.sum(|s| count(s.outcomes)),
        )
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn count(n: usize) -> f64 {
    n as f64
}

/// 1 when there is nothing to divide by: nothing asked for, nothing lost.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 1.0 }
}

/// A request as version numbers; messages are told apart by their role.
type Sequence = Vec<(Role, u32)>;

/// One request of a session, in tokens with the fixed prefix.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Step {
    /// Sent with the policy.
    pub tokens: f64,
    /// Sent without.
    pub full_tokens: f64,
    /// Of `tokens`, those read from the cache.
    pub cache_read: f64,
    /// What it costs with the policy.
    pub cost: f64,
    /// What it costs without.
    pub full_cost: f64,
    /// New decisions were taken.
    pub round: bool,
}

/// One session under one policy, request by request.
pub fn trace(session: &Session, policy: &dyn Policy, pricing: Pricing) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut index = Index::of(session);
    replay_one(session, &mut index, policy, pricing, &mut |step| {
        steps.push(step);
    });
    steps
}

/// What a replay finds out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// What requests cost. Takes a fraction of the time.
    Cost,
    /// And what is kept of what the model went on to use.
    CostAndKept,
}

/// One session under one policy.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// In sum.
    pub score: SessionScore,
    /// Request by request, in the order of the boundaries.
    pub steps: Vec<Step>,
}

/// Replays one session under several policies, request by request.
pub fn replay_steps(
    session: &Session,
    policies: &[&dyn Policy],
    pricing: Pricing,
    measure: Measure,
) -> Vec<Replayed> {
    let mut index = match measure {
        Measure::Cost => Index::without_targets(),
        Measure::CostAndKept => Index::of(session),
    };
    let replay = |policy: &&dyn Policy| {
        let mut steps = Vec::new();
        let score = replay_one(session, &mut index, *policy, pricing, &mut |step| {
            steps.push(step);
        });
        Replayed { score, steps }
    };
    policies.iter().map(replay).collect()
}

/// Replays one session under several policies; the session is searched once for all of them.
pub fn replay_session(
    session: &Session,
    policies: &[&dyn Policy],
    pricing: Pricing,
) -> Vec<SessionScore> {
    let mut index = Index::of(session);
    policies
        .iter()
        .map(|policy| replay_one(session, &mut index, *policy, pricing, &mut |_| {}))
        .collect()
}

fn replay_one(
    session: &Session,
    index: &mut Index,
    policy: &dyn Policy,
    pricing: Pricing,
    on_step: &mut dyn FnMut(Step),
) -> SessionScore {
    let mut run = policy.start(session);
    let mut score = SessionScore::default();
    let mut meter = Meter::new(session, pricing);
    let mut full_meter = meter.clone();
    let mut live = vec![0u32; index.target_count];
    let mut first_seen = vec![false; index.target_count];
    let mut last_sent = None;
    let (mut sent, mut full, mut seen) = (Sequence::new(), Sequence::new(), 0);
    for upto in session.boundaries() {
        for message in &session.messages[seen..upto] {
            for part in &message.parts {
                let version = index.version(part.kind, &part.text);
                full.push((message.role, version));
                let version = &index.versions[version as usize];
                version
                    .hits
                    .iter()
                    .for_each(|&t| first_seen[t as usize] = true);
            }
        }
        seen = upto;
        let is_cold = session.cold.binary_search(&upto).is_ok();
        let full_before = (full_meter.tokens, full_meter.cost);
        let last = [full.len().saturating_sub(1)];
        full_meter.add(priced(index, &full, &last), is_cold);

        let pruned = run.at(upto);
        score.rounds += usize::from(pruned.round);
        let (mut next, mut marked) = (Sequence::new(), Vec::new());
        for message in &pruned.messages {
            let marks = message.marked.as_deref().unwrap_or_default();
            marked.extend(marks.iter().map(|at| next.len() + at));
            for part in &message.parts {
                next.push((message.role, index.version(part.kind, &part.text)));
            }
        }
        if pruned
            .messages
            .iter()
            .all(|message| message.marked.is_none())
        {
            marked.push(next.len().saturating_sub(1));
        }
        let same = sent.iter().zip(&next).take_while(|(a, b)| a == b).count();
        let (tokens_before, read_before) = (meter.tokens, meter.cache_read);
        let cost_before = meter.cost;
        meter.add(priced(index, &next, &marked), is_cold);
        on_step(Step {
            tokens: meter.tokens - tokens_before,
            full_tokens: full_meter.tokens - full_before.0,
            cache_read: meter.cache_read - read_before,
            cost: meter.cost - cost_before,
            full_cost: full_meter.cost - full_before.1,
            round: pruned.round,
        });
        for part in &sent[same..] {
            index.versions[part.1 as usize]
                .hits
                .iter()
                .for_each(|&t| live[t as usize] -= 1);
        }
        for part in &next[same..] {
            index.versions[part.1 as usize]
                .hits
                .iter()
                .for_each(|&t| live[t as usize] += 1);
        }
        sent = next;
        last_sent = Some((upto, pruned));

        score.requests += 1;
        if let Some(wanted) = index.wanted.get(&upto) {
            let held = |list: &[u32]| list.iter().filter(|&&t| first_seen[t as usize]).count();
            let kept = |list: &[u32]| {
                list.iter()
                    .filter(|&&t| first_seen[t as usize] && live[t as usize] > 0)
                    .count()
            };
            score.ids += held(&wanted.ids);
            score.ids_kept += kept(&wanted.ids);
            score.lines += held(&wanted.lines);
            score.lines_kept += kept(&wanted.lines);
        }
    }
    if let Some((upto, pruned)) = &last_sent
        && index.has_targets()
    {
        (score.outcomes, score.outcomes_kept) = outcomes::kept(session, *upto, pruned);
    }
    score.cost = meter.cost;
    score.tokens = meter.tokens;
    score.cache_read = meter.cache_read;
    score.full_cost = full_meter.cost;
    score.full_tokens = full_meter.tokens;
    score.rejected = meter.rejected;
    score
}

/// A request as the blocks that are priced.
fn priced<'s>(
    index: &'s Index,
    parts: &'s [(Role, u32)],
    marked: &'s [usize],
) -> impl Iterator<Item = Priced> + 's {
    parts
        .iter()
        .enumerate()
        .map(move |(at, &(role, version))| Priced {
            key: (role as u64) << 32 | u64::from(version),
            chars: index.versions[version as usize].chars,
            is_marked: marked.contains(&at),
        })
}
