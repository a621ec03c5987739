//! A plan in memory: what becomes of each part of a session.

use std::sync::Arc;

use secateur_replay::{PartKind, Pruned, PrunedMessage, PrunedPart, Session};

/// What becomes of a part.
#[derive(Debug, Clone, Default)]
pub enum Cut {
    /// Sent as it is.
    #[default]
    Keep,
    /// Replaced by a shorter text.
    Text(Arc<str>),
}

/// The place of a part: message and part number.
pub type Place = (usize, usize);

/// What becomes of every part of a session.
#[derive(Debug, Clone)]
pub struct Plan {
    cuts: Vec<Vec<Cut>>,
}

impl Plan {
    pub fn keep_all(session: &Session) -> Self {
        Self {
            cuts: session
                .messages
                .iter()
                .map(|m| vec![Cut::Keep; m.parts.len()])
                .collect(),
        }
    }

    pub fn get(&self, at: Place) -> &Cut {
        &self.cuts[at.0][at.1]
    }

    pub fn set(&mut self, at: Place, cut: Cut) {
        self.cuts[at.0][at.1] = cut;
    }

    /// Characters of a part as the plan sends it.
    pub fn chars(&self, session: &Session, at: Place) -> usize {
        let part = &session.messages[at.0].parts[at.1];
        match self.get(at) {
            _ if part.kind == PartKind::Thinking => 0,
            Cut::Keep => session.messages[at.0].parts[at.1].text.chars().count(),
            Cut::Text(text) => text.chars().count(),
        }
    }

    pub fn total_chars(&self, session: &Session, upto: usize) -> usize {
        places(session, upto)
            .map(|at| self.chars(session, at))
            .sum()
    }

    pub fn render(&self, session: &Session, upto: usize) -> Pruned {
        let mut messages = Vec::with_capacity(upto);
        for (message, cuts) in session.messages[..upto].iter().zip(&self.cuts) {
            let parts: Vec<PrunedPart> = message
                .parts
                .iter()
                .zip(cuts)
                .map(|(part, cut)| {
                    let text = match cut {
                        Cut::Keep => Arc::clone(&part.text),
                        Cut::Text(text) => Arc::clone(text),
                    };
                    PrunedPart {
                        kind: part.kind,
                        text,
                    }
                })
                .collect();
            if !parts.is_empty() {
                messages.push(PrunedMessage {
                    role: message.role,
                    parts,
                    marked: None,
                });
            }
        }
        Pruned {
            messages,
            round: false,
        }
    }
}

/// All parts before a boundary, in order.
pub fn places(session: &Session, upto: usize) -> impl DoubleEndedIterator<Item = Place> + '_ {
    (0..upto).flat_map(|m| (0..session.messages[m].parts.len()).map(move |p| (m, p)))
}

/// All tool results before a boundary, in order.
pub fn results(session: &Session, upto: usize) -> Vec<Place> {
    places(session, upto)
        .filter(|&(m, p)| session.messages[m].parts[p].kind == PartKind::ToolResult)
        .collect()
}
