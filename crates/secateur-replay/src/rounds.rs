//! Policies that decide in rounds, replayed without pruning every request.
//!
//! Between two rounds the output only grows: the request before is the beginning of the next. So the last request before
//! a round tells what all requests since the round before sent, and the places of rounds are found by bisection. Requests
//! that depend on more than their content are pruned themselves: those with many new blocks, where a cache marker
//! inside the conversation may count, and cold ones.

use std::collections::BTreeMap;

use crate::body::BodyReader;
use crate::policy::{Policy, Pruned, PrunedMessage, Run};
use crate::session::Session;

/// Up to so many new blocks the marker on the last block finds the entry of the request before.
const NEAR_BLOCKS: usize = 12;

/// What a policy made of a body.
#[derive(Debug)]
pub struct SentBody {
    /// The body that goes out.
    pub body: Vec<u8>,
    /// Whether new decisions were taken.
    pub is_round: bool,
    /// Rounds taken in the conversation so far; `None`: the policy does not decide in rounds.
    pub rounds: Option<usize>,
}

/// A policy given as a function from the body that the client sends to what goes out.
#[derive(Debug)]
pub struct RoundPolicy<F>(pub F);

impl<F: Fn(&[u8]) -> SentBody + Sync> Policy for RoundPolicy<F> {
    fn start<'s>(&'s self, session: &'s Session) -> Box<dyn Run + 's> {
        Box::new(RoundRun {
            prune: &self.0,
            session,
            reader: BodyReader::new(session),
            ends: session.boundaries().collect(),
            counts: BTreeMap::new(),
            cover: None,
            wait: 0,
        })
    }
}

struct RoundRun<'s, F> {
    prune: &'s F,
    session: &'s Session,
    reader: BodyReader<'s>,
    /// The boundaries.
    ends: Vec<usize>,
    /// Rounds up to a boundary, by its number.
    counts: BTreeMap<usize, usize>,
    /// The output at a boundary that begins with those of all boundaries up to it.
    cover: Option<(usize, Vec<PrunedMessage>)>,
    /// Boundaries that are pruned without another search: the last one took more than it saved. So never more than
    /// twice as many requests are pruned as there are.
    wait: usize,
}

/// An output that was read.
struct Output {
    pruned: Pruned,
    rounds: Option<usize>,
}

impl<F: Fn(&[u8]) -> SentBody> Run for RoundRun<'_, F> {
    fn at(&mut self, upto: usize) -> Pruned {
        let Ok(number) = self.ends.binary_search(&upto) else {
            return self.output(upto).pruned;
        };
        if let Some((until, messages)) = &self.cover
            && number <= *until
            && self.is_plain(number)
        {
            return first(messages, upto);
        }
        let now = self.output(upto);
        self.wait = self.wait.saturating_sub(1);
        if self.wait == 0
            && let Some(rounds) = now.rounds
            && self.cover.as_ref().is_none_or(|(until, _)| number > *until)
        {
            self.counts.insert(number, rounds);
            self.cover = self.find_cover(number, rounds, &now.pruned.messages);
        }
        now.pruned
    }
}

/// The messages that were sent at a boundary, with the client's marker alone.
fn first(messages: &[PrunedMessage], upto: usize) -> Pruned {
    let mut messages: Vec<PrunedMessage> = messages[..upto].to_vec();
    for message in &mut messages {
        message.marked = None;
    }
    Pruned {
        messages,
        round: false,
    }
}

impl<F: Fn(&[u8]) -> SentBody> RoundRun<'_, F> {
    fn output(&mut self, upto: usize) -> Output {
        let sent = (self.prune)(&self.session.body(upto));
        match self.reader.read(&sent.body) {
            Some(messages) => Output {
                pruned: Pruned {
                    messages,
                    round: sent.is_round,
                },
                rounds: sent.rounds,
            },
            None => Output {
                pruned: Pruned::whole(self.session, upto),
                rounds: None,
            },
        }
    }

    /// Whether what a request costs depends on its content alone.
    fn is_plain(&self, number: usize) -> bool {
        let Some(before) = number.checked_sub(1).map(|before| self.ends[before]) else {
            return false;
        };
        let upto = self.ends[number];
        let new = self.session.messages[before..upto].iter();
        let blocks: usize = new.map(|message| message.parts.len()).sum();
        blocks <= NEAR_BLOCKS && self.session.cold.binary_search(&upto).is_err()
    }

    /// The last boundary with as many rounds as this one.
    fn find_cover(
        &mut self,
        number: usize,
        rounds: usize,
        messages: &[PrunedMessage],
    ) -> Option<(usize, Vec<PrunedMessage>)> {
        let mut cover = None;
        let mut probes = 0;
        let (mut low, mut high) = (number, self.ends.len());
        // What earlier searches know already.
        if let Some((&known, _)) = self
            .counts
            .range(number + 1..)
            .find(|&(_, &count)| count > rounds)
        {
            high = known;
        }
        let mut probe = high.saturating_sub(1);
        while low + 1 < high {
            probes += 1;
            let upto = self.ends[probe];
            let output = self.output(upto);
            let count = output.rounds?;
            self.counts.insert(probe, count);
            let found = output.pruned.messages;
            if count == rounds && found.len() == upto && begins_with(&found, messages) {
                low = probe;
                cover = Some((probe, found));
            } else {
                high = probe;
            }
            probe = low.midpoint(high);
        }
        self.wait = (probes + number + 1).saturating_sub(low);
        cover
    }
}

/// Whether an output has the same content up to where another ends.
fn begins_with(longer: &[PrunedMessage], shorter: &[PrunedMessage]) -> bool {
    let same = |(a, b): (&PrunedMessage, &PrunedMessage)| {
        a.role == b.role
            && a.parts.len() == b.parts.len()
            && a.parts
                .iter()
                .zip(&b.parts)
                .all(|(a, b)| a.kind == b.kind && a.text == b.text)
    };
    longer.len() >= shorter.len() && longer.iter().zip(shorter).all(same)
}
