//! Policies that work on body bytes, as a client uses the engine.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::policy::{Policy, Pruned, PrunedMessage, PrunedPart, Run};
use crate::read::parts::{Calls, read_message};
use crate::session::{Part, Session};

/// A policy given as a function from the body that the client sends to the body that goes out, and
/// whether new decisions were taken.
#[derive(Debug)]
pub struct BodyPolicy<F>(pub F);

impl<F: Fn(&[u8]) -> (Vec<u8>, bool) + Sync> Policy for BodyPolicy<F> {
    fn start<'s>(&'s self, session: &'s Session) -> Box<dyn Run + 's> {
        Box::new(BodyRun {
            prune: &self.0,
            session,
            reader: BodyReader::new(session),
        })
    }
}

struct BodyRun<'s, F> {
    prune: &'s F,
    session: &'s Session,
    reader: BodyReader<'s>,
}

impl<F: Fn(&[u8]) -> (Vec<u8>, bool)> Run for BodyRun<'_, F> {
    fn at(&mut self, upto: usize) -> Pruned {
        let (out, round) = (self.prune)(&self.session.body(upto));
        match self.reader.read(&out) {
            Some(messages) => Pruned { messages, round },
            None => Pruned::whole(self.session, upto),
        }
    }
}

/// A message with the bytes that it was read from.
type Sent = (Box<[u8]>, PrunedMessage);

/// Reads the outputs of one session.
pub(crate) struct BodyReader<'s> {
    session: &'s Session,
    known: HashMap<Box<str>, PrunedMessage>,
    /// The output before, where it was read.
    before: Vec<Sent>,
}

impl<'s> BodyReader<'s> {
    pub(crate) fn new(session: &'s Session) -> Self {
        Self {
            session,
            known: HashMap::new(),
            before: Vec::new(),
        }
    }

    /// The messages of an output.
    pub(crate) fn read(&mut self, out: &[u8]) -> Option<Vec<PrunedMessage>> {
        self.read_by_comparison(out)
            .or_else(|| read_body(out, &mut self.known))
    }

    /// Reads an output whose messages are mostly those of the session or of the request before: these are compared and
    /// not parsed. `None`: it is laid out in another way.
    fn read_by_comparison(&mut self, out: &[u8]) -> Option<Vec<PrunedMessage>> {
        let mut rest = out.strip_prefix(self.session.head().as_bytes())?;
        let mut sent: Vec<Sent> = Vec::new();
        let mut before = std::mem::take(&mut self.before).into_iter();
        while !rest.starts_with(b"]") {
            if !sent.is_empty() {
                rest = rest.strip_prefix(b",")?;
            }
            let same = before.next().filter(|(bytes, _)| rest.starts_with(bytes));
            let own = || self.recorded(sent.len(), rest);
            let next = match same.or_else(own) {
                Some(next) => next,
                None => self.parsed(rest)?,
            };
            rest = &rest[next.0.len()..];
            sent.push(next);
        }
        let messages = sent.iter().map(|(_, message)| message.clone()).collect();
        self.before = sent;
        (rest == b"]}").then_some(messages)
    }

    /// The session's message of this number, if the bytes begin with it.
    fn recorded(&self, number: usize, bytes: &[u8]) -> Option<Sent> {
        let message = self.session.messages.get(number)?;
        let raw = message.raw.as_bytes();
        if !bytes.starts_with(raw) || memchr::memmem::find(raw, b"\"cache_control\"").is_some() {
            return None;
        }
        let part = |part: &Part| PrunedPart {
            kind: part.kind,
            text: Arc::clone(&part.text),
        };
        let message = PrunedMessage {
            role: message.role,
            parts: message.parts.iter().map(part).collect(),
            marked: Some(Vec::new()),
        };
        Some((raw.into(), message))
    }

    /// The message that the bytes begin with.
    fn parsed(&mut self, bytes: &[u8]) -> Option<Sent> {
        let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<&RawValue>();
        let raw = values.next()?.ok()?.get();
        let message = read_known(raw, &mut self.known)?;
        Some((raw.as_bytes().into(), message))
    }
}

/// The messages of a body. Messages whose bytes are in `known` are not parsed again, and share their text.
pub fn read_body(
    body: &[u8],
    known: &mut HashMap<Box<str>, PrunedMessage>,
) -> Option<Vec<PrunedMessage>> {
    let fields: HashMap<String, &RawValue> = serde_json::from_slice(body).ok()?;
    let raws: Vec<&RawValue> = serde_json::from_str(fields.get("messages")?.get()).ok()?;
    let mut messages = Vec::with_capacity(raws.len());
    for raw in raws {
        messages.push(read_known(raw.get(), known)?);
    }
    Some(messages)
}

fn read_known(raw: &str, known: &mut HashMap<Box<str>, PrunedMessage>) -> Option<PrunedMessage> {
    if let Some(message) = known.get(raw) {
        return Some(message.clone());
    }
    let value: Value = serde_json::from_str(raw).ok()?;
    let message = read_message("", &value, &mut Calls::new())?;
    let parts = message
        .parts
        .into_iter()
        .map(|p| PrunedPart {
            kind: p.kind,
            text: Arc::clone(&p.text),
        })
        .collect();
    let message = PrunedMessage {
        role: message.role,
        parts,
        marked: Some(marked_blocks(&value)),
    };
    known.insert(raw.into(), message.clone());
    Some(message)
}

/// The blocks of a message with a cache marker, on them or inside them.
fn marked_blocks(message: &Value) -> Vec<usize> {
    let has_marker = |block: &Value| {
        block
            .get("cache_control")
            .is_some_and(|mark| !mark.is_null())
    };
    let Some(Value::Array(blocks)) = message.get("content") else {
        return Vec::new();
    };
    let inside = |block: &Value| match block.get("content") {
        Some(Value::Array(inner)) => inner.iter().any(has_marker),
        _ => false,
    };
    let is_marked = |block: &Value| has_marker(block) || inside(block);
    (0..)
        .zip(blocks)
        .filter_map(|(at, block)| is_marked(block).then_some(at))
        .collect()
}
