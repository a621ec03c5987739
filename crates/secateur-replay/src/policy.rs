//! A policy, and what it sends at each boundary of a session.

use std::sync::Arc;

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
