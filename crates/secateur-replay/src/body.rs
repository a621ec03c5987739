//! Policies that work on body bytes: the engine as a client meets it.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::read::parts::{Calls, read_message};
use crate::score::{Policy, Pruned, PrunedMessage, PrunedPart, Run};
use crate::session::Session;

/// A policy given as a function from the body that the client sends to the body that goes out, and
/// whether new decisions were taken.
#[derive(Debug)]
pub struct BodyPolicy<F>(pub F);

impl<F: Fn(&[u8]) -> (Vec<u8>, bool) + Sync> Policy for BodyPolicy<F> {
    fn start<'s>(&'s self, session: &'s Session) -> Box<dyn Run + 's> {
        Box::new(BodyRun {
            prune: &self.0,
            session,
            known: HashMap::new(),
        })
    }
}

struct BodyRun<'s, F> {
    prune: &'s F,
    session: &'s Session,
    known: HashMap<Box<str>, PrunedMessage>,
}

impl<F: Fn(&[u8]) -> (Vec<u8>, bool)> Run for BodyRun<'_, F> {
    fn at(&mut self, upto: usize) -> Pruned {
        let (out, round) = (self.prune)(&self.session.body(upto));
        match read_body(&out, &mut self.known) {
            Some(messages) => Pruned { messages, round },
            None => Pruned::whole(self.session, upto),
        }
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
        if let Some(message) = known.get(raw.get()) {
            messages.push(message.clone());
            continue;
        }
        let value: Value = serde_json::from_str(raw.get()).ok()?;
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
        known.insert(raw.get().into(), message.clone());
        messages.push(message);
    }
    Some(messages)
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
