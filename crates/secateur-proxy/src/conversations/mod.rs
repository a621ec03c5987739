//! What this process remembers of conversations, to explain the provider's bill: the hashes of the blocks of the
//! last incoming requests, when they came in, and how many characters a token has.
//!
//! **Invariants:** hashes and numbers only, no text. Memory is bounded, and the least recently used conversation is
//! forgotten first. Nothing here delays or fails a request: blocks are hashed while the chain runs, and a
//! request whose blocks are not ready in time leaves its conversation without any, so that a later miss has an
//! unknown cause instead of a wrong one.

mod memory;
mod pending;
mod ratio;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use secateur_core::Dialect;
use secateur_core::cost::cache::{BlockList, BlockPlace, Life};
use tokio::sync::Semaphore;

use self::memory::{Memory, SeenRequest};
pub(crate) use self::pending::PendingBlocks;
use self::ratio::Sample;
use crate::audit::{AuditEvent, ChangedPlace, ClientChange, Recalled};

/// The memory of all conversations, and the learned token ratios.
#[derive(Debug)]
pub(crate) struct Conversations {
    memory: Mutex<Memory>,
    /// Bodies that are hashed at a time; others are left out.
    hashing: Arc<Semaphore>,
}

/// A request of a conversation.
#[derive(Debug)]
pub(crate) struct Turn<'t> {
    /// The conversation's key.
    pub(crate) session: String,
    pub(crate) workload: &'t str,
    /// The model that answers.
    pub(crate) model: Option<&'t str>,
    pub(crate) started: Instant,
    /// The blocks of its body, where they are known.
    pub(crate) blocks: Option<&'t BlockList>,
}

/// What was known of a request before it, and what is to be remembered of it.
#[derive(Debug)]
pub(crate) struct Recollection {
    recalled: Recalled,
    session: String,
    model: u64,
    opening: Option<u64>,
    started: Instant,
    seen: Option<SeenRequest>,
}

impl Recollection {
    /// What was known before.
    pub(crate) fn recalled(&self) -> Recalled {
        self.recalled
    }
}

impl Default for Conversations {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            memory: Mutex::default(),
            hashing: Arc::new(Semaphore::new(cores * 2)),
        }
    }
}

impl Conversations {
    /// Starts to hash the blocks of an incoming body, beside the request's own path.
    pub(crate) fn hash_blocks(
        &self,
        body: Bytes,
        dialect: Dialect,
        path_model: Option<String>,
    ) -> PendingBlocks {
        match Arc::clone(&self.hashing).try_acquire_owned() {
            Ok(permit) => PendingBlocks::start(permit, body, dialect, path_model),
            Err(_) => PendingBlocks::default(),
        }
    }

    /// What is known of a request from the earlier ones of its conversation.
    pub(crate) fn recall(&self, turn: Turn<'_>) -> Recollection {
        let Turn {
            session,
            workload,
            model,
            started,
            blocks,
        } = turn;
        let model = model.map_or(0, hash_of);
        let opening = blocks.and_then(|list| opening(workload, list));
        let seen = blocks.map(|list| SeenRequest {
            model,
            started,
            first_message: first_message(list),
            keys: list.keys().into(),
        });
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier = seen
            .as_ref()
            .and_then(|seen| memory.earlier(&session, opening, seen));
        let idle_since = earlier
            .as_ref()
            .map(|earlier| earlier.started)
            .or_else(|| memory.last_started(&session));
        let recalled = Recalled {
            idle: idle_since.map(|at| started.saturating_duration_since(at)),
            life: blocks.and_then(tail_life),
            change: blocks
                .zip(earlier.as_ref())
                .and_then(|(list, earlier)| change(list, earlier, model)),
            chars_per_token: memory.chars_per_token(&session, model),
        };
        Recollection {
            recalled,
            session,
            model,
            opening,
            started,
            seen,
        }
    }

    /// A request is over: remembers it, unless it failed.
    pub(crate) fn remember(&self, request: Recollection, event: &AuditEvent) {
        if event.status == 0 || event.status >= 400 {
            return;
        }
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sample) = Sample::of(event) {
            memory.learn(&request.session, request.model, sample);
        }
        let Recollection {
            session,
            opening,
            started,
            seen,
            ..
        } = request;
        memory.remember(&session, opening, started, seen);
    }

    /// Both, as at the end of a request.
    #[cfg(test)]
    pub(crate) fn observe(
        &self,
        event: &mut AuditEvent,
        blocks: Option<&BlockList>,
        started: Instant,
    ) {
        let Some(session) = event.session.clone() else {
            return;
        };
        let answering = event.routed_to.as_deref().or(event.model.as_deref());
        let recollection = self.recall(Turn {
            session,
            workload: &event.workload,
            model: answering,
            started,
            blocks,
        });
        event.recalled = recollection.recalled();
        self.remember(recollection, event);
    }
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Names a conversation by its first message, for clients whose session key changes with their instructions.
fn opening(workload: &str, list: &BlockList) -> Option<u64> {
    let first = list.blocks.get(first_message(list))?;
    let mut hasher = DefaultHasher::new();
    (workload, first.key).hash(&mut hasher);
    Some(hasher.finish())
}

fn first_message(list: &BlockList) -> usize {
    let is_message = |place: BlockPlace| matches!(place, BlockPlace::Message(..));
    list.blocks
        .partition_point(|block| !is_message(block.place))
}

/// The lifetime of the deepest entry: that of the last marker.
fn tail_life(list: &BlockList) -> Option<Life> {
    let on_blocks = list.blocks.iter().rev().find_map(|block| block.marker);
    list.top_level.or(on_blocks)
}

fn change(list: &BlockList, earlier: &SeenRequest, model: u64) -> Option<ClientChange> {
    if earlier.model != model {
        return Some(ClientChange {
            place: ChangedPlace::Model,
            share_before: 0.0,
        });
    }
    let at = list.first_difference(&earlier.keys)?;
    let bytes =
        |upto: usize| -> usize { list.blocks[..upto].iter().map(|block| block.bytes).sum() };
    Some(ClientChange {
        place: ChangedPlace::Block(list.blocks[at].place),
        share_before: bytes(at) as f64 / bytes(list.blocks.len()).max(1) as f64,
    })
}

#[cfg(test)]
mod tests;
