//! Replays one session under one policy, request by request.

use crate::index::{Index, Wanted};
use crate::outcomes;
use crate::policy::{Policy, Pruned};
use crate::price::{Charge, Meter, Priced, Pricing};
use crate::score::SessionScore;
use crate::session::{Role, Session};

/// A request as version numbers; messages are distinguished by their role.
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

/// What a replay finds out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// What requests cost. Takes a fraction of the time.
    Cost,
    /// Also what is kept of what the model's next messages used.
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

/// Replays one session under several policies, request by request; the session is searched once for all of them.
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
    let replay = |policy: &&dyn Policy| replay_one(session, &mut index, *policy, pricing);
    policies.iter().map(replay).collect()
}

/// One session under one policy, request by request.
pub fn trace(session: &Session, policy: &dyn Policy, pricing: Pricing) -> Vec<Step> {
    replay_one(session, &mut Index::of(session), policy, pricing).steps
}

/// Replays one session under several policies; the session is searched once for all of them.
pub fn replay_session(
    session: &Session,
    policies: &[&dyn Policy],
    pricing: Pricing,
) -> Vec<SessionScore> {
    let replayed = replay_steps(session, policies, pricing, Measure::CostAndKept);
    replayed.into_iter().map(|one| one.score).collect()
}

fn replay_one(
    session: &Session,
    index: &mut Index,
    policy: &dyn Policy,
    pricing: Pricing,
) -> Replayed {
    let mut run = policy.start(session);
    let mut replay = Replay {
        kept: Kept::new(index.target_count),
        score: SessionScore::default(),
        meter: Meter::new(session, pricing),
        full_meter: Meter::new(session, pricing),
        sent: Sequence::new(),
        full: Sequence::new(),
        seen: 0,
        session,
        index,
    };
    let mut steps = Vec::new();
    let mut last_sent = None;
    for upto in session.boundaries() {
        let without = replay.send_whole(upto);
        let pruned = run.at(upto);
        let with = replay.send_pruned(upto, &pruned);
        steps.push(Step {
            tokens: with.tokens,
            full_tokens: without.tokens,
            cache_read: with.cache_read,
            cost: with.cost,
            full_cost: without.cost,
            round: pruned.round,
        });
        last_sent = Some((upto, pruned));
    }
    Replayed {
        score: replay.finish(last_sent),
        steps,
    }
}

/// A session while it is replayed under a policy.
struct Replay<'r> {
    session: &'r Session,
    index: &'r mut Index,
    kept: Kept,
    score: SessionScore,
    meter: Meter,
    full_meter: Meter,
    /// The last request as it was sent.
    sent: Sequence,
    /// The last request without pruning.
    full: Sequence,
    /// Messages that are in `full`.
    seen: usize,
}

impl Replay<'_> {
    fn is_cold(&self, upto: usize) -> bool {
        self.session.cold.binary_search(&upto).is_ok()
    }

    /// The request without pruning.
    fn send_whole(&mut self, upto: usize) -> Charge {
        for message in &self.session.messages[self.seen..upto] {
            for part in &message.parts {
                let version = self.index.version(part.kind, &part.text);
                self.full.push((message.role, version));
                self.kept.see(self.index, version);
            }
        }
        self.seen = upto;
        let is_cold = self.is_cold(upto);
        let last = [self.full.len().saturating_sub(1)];
        self.full_meter
            .add(priced(self.index, &self.full, &last), is_cold)
    }

    /// The request as the policy sends it.
    fn send_pruned(&mut self, upto: usize, pruned: &Pruned) -> Charge {
        self.score.requests += 1;
        self.score.rounds += usize::from(pruned.round);
        let (next, marked) = self.sequence_of(pruned);
        let is_cold = self.is_cold(upto);
        let charge = self.meter.add(priced(self.index, &next, &marked), is_cold);
        let before = self.sent.iter().zip(&next);
        let same = before.take_while(|(a, b)| a == b).count();
        self.kept
            .replace(self.index, &self.sent[same..], &next[same..]);
        self.sent = next;
        if let Some(wanted) = self.index.wanted.get(&upto) {
            self.kept.count(wanted, &mut self.score);
        }
        charge
    }

    /// A request as version numbers, and which of them carry a cache marker.
    fn sequence_of(&mut self, pruned: &Pruned) -> (Sequence, Vec<usize>) {
        let (mut next, mut marked) = (Sequence::new(), Vec::new());
        for message in &pruned.messages {
            let marks = message.marked.as_deref().unwrap_or_default();
            marked.extend(marks.iter().map(|at| next.len() + at));
            for part in &message.parts {
                next.push((message.role, self.index.version(part.kind, &part.text)));
            }
        }
        let mut messages = pruned.messages.iter();
        if messages.all(|message| message.marked.is_none()) {
            marked.push(next.len().saturating_sub(1));
        }
        (next, marked)
    }

    fn finish(mut self, last_sent: Option<(usize, Pruned)>) -> SessionScore {
        let score = &mut self.score;
        if let Some((upto, pruned)) = last_sent
            && self.index.has_targets()
        {
            (score.outcomes, score.outcomes_kept) = outcomes::kept(self.session, upto, &pruned);
        }
        score.cost = self.meter.sum.cost;
        score.tokens = self.meter.sum.tokens;
        score.cache_read = self.meter.sum.cache_read;
        score.full_cost = self.full_meter.sum.cost;
        score.full_tokens = self.full_meter.sum.tokens;
        score.rejected = self.meter.rejected;
        self.score
    }
}

/// Which targets the full context and the request hold.
struct Kept {
    /// How many parts of the request hold a target.
    live: Vec<u32>,
    first_seen: Vec<bool>,
}

impl Kept {
    fn new(target_count: usize) -> Self {
        Self {
            live: vec![0; target_count],
            first_seen: vec![false; target_count],
        }
    }

    fn see(&mut self, index: &Index, version: u32) {
        for &target in &index.versions[version as usize].hits {
            self.first_seen[target as usize] = true;
        }
    }

    fn replace(&mut self, index: &Index, gone: &[(Role, u32)], new: &[(Role, u32)]) {
        for &(_, version) in gone {
            for &target in &index.versions[version as usize].hits {
                self.live[target as usize] -= 1;
            }
        }
        for &(_, version) in new {
            for &target in &index.versions[version as usize].hits {
                self.live[target as usize] += 1;
            }
        }
    }

    fn count(&self, wanted: &Wanted, score: &mut SessionScore) {
        let is_held = |target: &&u32| self.first_seen[**target as usize];
        let is_live = |target: &&u32| self.live[**target as usize] > 0;
        let count = |targets: &[u32]| {
            let held = targets.iter().filter(is_held);
            (held.clone().count(), held.filter(is_live).count())
        };
        let ((ids, ids_kept), (lines, lines_kept)) = (count(&wanted.ids), count(&wanted.lines));
        score.ids += ids;
        score.ids_kept += ids_kept;
        score.lines += lines;
        score.lines_kept += lines_kept;
    }
}

/// A request as the blocks that are priced.
fn priced<'s>(
    index: &'s Index,
    parts: &'s [(Role, u32)],
    marked: &'s [usize],
) -> impl Iterator<Item = Priced> + 's {
    let parts = parts.iter().enumerate();
    parts.map(move |(at, &(role, version))| Priced {
        key: (role as u64) << 32 | u64::from(version),
        chars: index.versions[version as usize].chars,
        is_marked: marked.contains(&at),
    })
}
