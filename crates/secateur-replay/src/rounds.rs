//! Policies that decide in rounds, replayed without pruning every request.
//!
//! Between two rounds the output only grows: the request before is the beginning of the next. So the last request before
//! a round shows what all requests since the round before sent. A request shows when the last round was, so these
//! requests are found from the last one on backwards. Requests that depend on more than their content are pruned
//! themselves: those that take a round, those with many new blocks, where a cache marker inside the conversation may
//! count, and cold ones.

use std::collections::VecDeque;

use crate::body::BodyReader;
use crate::policy::{Policy, Pruned, PrunedMessage, Run};
use crate::session::Session;

/// Up to so many new blocks the marker on the last block finds the entry of the request before.
const NEAR_BLOCKS: usize = 12;

/// Messages of outputs that are held for later; further outputs are made again when they are needed.
const MAX_HELD_MESSAGES: usize = 50_000;

/// What a policy made of a body.
#[derive(Debug)]
pub struct SentBody {
    /// The body that goes out.
    pub body: Vec<u8>,
    /// Whether new decisions were taken.
    pub is_round: bool,
    /// The rounds so far; `None`: the policy does not decide in rounds.
    pub rounds: Option<RoundsSoFar>,
}

/// When a conversation took its last round.
#[derive(Debug, Clone, Copy)]
pub struct RoundsSoFar {
    /// The requests of the conversation, the present one included.
    pub requests: usize,
    /// The request that took the last round, counted from 0.
    pub last: Option<usize>,
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
            spans: None,
        })
    }
}

/// Requests from one that takes a round to the last before the next round, by their numbers.
struct Span {
    first: usize,
    last: usize,
    /// What the last one sends; it begins with what the others send.
    output: Option<Pruned>,
}

struct RoundRun<'s, F> {
    prune: &'s F,
    session: &'s Session,
    reader: BodyReader<'s>,
    /// The boundaries.
    ends: Vec<usize>,
    /// Those that are still to come; `None`: not searched for yet.
    spans: Option<VecDeque<Span>>,
}

impl<F: Fn(&[u8]) -> SentBody> Run for RoundRun<'_, F> {
    fn at(&mut self, upto: usize) -> Pruned {
        let Ok(number) = self.ends.binary_search(&upto) else {
            return self.output(upto).0;
        };
        let mut spans = match self.spans.take() {
            Some(spans) => spans,
            None => self.find_spans(),
        };
        while spans.front().is_some_and(|span| span.last < number) {
            spans.pop_front();
        }
        let pruned = match spans.front_mut() {
            Some(span) if span.first <= number => self.in_span(span, number),
            _ => self.output(upto).0,
        };
        self.spans = Some(spans);
        pruned
    }
}

impl<F: Fn(&[u8]) -> SentBody> RoundRun<'_, F> {
    /// What is sent at a boundary, and the rounds so far.
    fn output(&mut self, upto: usize) -> (Pruned, Option<RoundsSoFar>) {
        let sent = (self.prune)(&self.session.body(upto));
        match self.reader.read(&sent.body) {
            Some(messages) => {
                let round = sent.is_round;
                (Pruned { messages, round }, sent.rounds)
            }
            None => (Pruned::whole(self.session, upto), None),
        }
    }

    /// The spans from the last request back to the first one, or to one of which it is not known when the last round was.
    fn find_spans(&mut self) -> VecDeque<Span> {
        let mut spans = VecDeque::new();
        let (mut next, mut held) = (self.ends.len(), 0);
        while let Some(last) = next.checked_sub(1) {
            let upto = self.ends[last];
            let (output, rounds) = self.output(upto);
            // The engine may see other requests in a body than there were.
            let rounds = rounds.filter(|rounds| rounds.requests == next);
            let is_whole = output.messages.len() == upto;
            let first = rounds
                .filter(|_| is_whole)
                .map(|rounds| rounds.last.unwrap_or(0).min(last));
            held += output.messages.len();
            spans.push_front(Span {
                first: first.unwrap_or(last),
                last,
                output: (held <= MAX_HELD_MESSAGES).then_some(output),
            });
            let Some(first) = first else { break };
            next = first;
        }
        spans
    }

    fn in_span(&mut self, span: &mut Span, number: usize) -> Pruned {
        let (upto, last) = (self.ends[number], self.ends[span.last]);
        let output = match span.output.take() {
            Some(output) => output,
            None => self.output(last).0,
        };
        if number == span.last {
            return output;
        }
        let pruned = if number > span.first && self.is_plain(number) {
            first(&output.messages, upto)
        } else {
            self.output(upto).0
        };
        if number == span.first && !begins_with(&output.messages, &pruned.messages) {
            // The others are pruned one by one.
            span.first = span.last;
        }
        span.output = Some(output);
        pruned
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
