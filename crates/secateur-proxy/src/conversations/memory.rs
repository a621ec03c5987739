//! The bounded memory of conversations.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::ratio::{LearnedRatio, Sample};

/// Limits of the memory: about 8 MB of block hashes.
const MAX_CONVERSATIONS: usize = 1024;
const MAX_BLOCKS: usize = 1 << 20;
/// Threads of one session that are told apart: agents ask for titles and run subagents under the same session.
const MAX_THREADS: usize = 4;
/// Models with a learned ratio, in all and in one conversation.
const MAX_MODELS: usize = 256;
const MAX_MODELS_OF_CONVERSATION: usize = 4;

/// One incoming request.
#[derive(Clone, Debug)]
pub(super) struct SeenRequest {
    /// A hash of the model's name.
    pub(super) model: u64,
    pub(super) started: Instant,
    /// How many blocks come before the messages.
    pub(super) first_message: usize,
    pub(super) keys: Arc<[u64]>,
}

impl SeenRequest {
    /// How many blocks of messages are the same, place by place.
    fn shared_blocks(&self, other: &Self) -> usize {
        let both = self.messages().iter().zip(other.messages());
        both.filter(|(ours, theirs)| ours == theirs).count()
    }

    /// Whether one is the start of the other.
    fn is_clean(&self, other: &Self) -> bool {
        self.keys
            .iter()
            .zip(&*other.keys)
            .all(|(ours, theirs)| ours == theirs)
    }

    fn messages(&self) -> &[u64] {
        self.keys.get(self.first_message..).unwrap_or_default()
    }
}

#[derive(Debug, Default)]
struct Conversation {
    /// When it was last used, by the count of uses.
    used: u64,
    opening: Option<u64>,
    last_started: Option<Instant>,
    /// The last request of each thread.
    threads: Vec<SeenRequest>,
    ratios: Vec<(u64, LearnedRatio)>,
}

impl Conversation {
    fn blocks(&self) -> usize {
        self.threads.iter().map(|seen| seen.keys.len()).sum()
    }

    /// The thread that a request continues: of the same model the one that it only adds to, else the one that shares
    /// most messages with it, else one of another model.
    fn continued(&self, seen: &SeenRequest) -> Option<usize> {
        let fits = |same_model: bool| {
            let threads = self.threads.iter().enumerate();
            threads
                .filter(|(_, known)| (known.model == seen.model) == same_model)
                .map(|(at, known)| {
                    let shared = known.shared_blocks(seen);
                    (known.is_clean(seen), shared, known.started, at)
                })
                .filter(|(_, shared, ..)| *shared > 0)
                .max()
                .map(|(.., at)| at)
        };
        fits(true).or_else(|| fits(false))
    }
}

/// The last request of each conversation, the least recently used forgotten first.
#[derive(Debug, Default)]
pub(super) struct Memory {
    conversations: HashMap<String, Conversation>,
    /// The session that last had an opening.
    openings: HashMap<u64, String>,
    models: HashMap<u64, LearnedRatio>,
    blocks: usize,
    uses: u64,
}

impl Memory {
    /// The request that this one continues.
    pub(super) fn earlier(
        &self,
        session: &str,
        opening: Option<u64>,
        seen: &SeenRequest,
    ) -> Option<SeenRequest> {
        let by_session = self.conversations.get(session);
        let of_opening = || self.conversations.get(self.openings.get(&opening?)?);
        let conversation = by_session.or_else(of_opening)?;
        let at = conversation.continued(seen)?;
        conversation.threads.get(at).cloned()
    }

    pub(super) fn last_started(&self, session: &str) -> Option<Instant> {
        self.conversations.get(session)?.last_started
    }

    /// The learned ratio: of the conversation, else of the model.
    pub(super) fn chars_per_token(&self, session: &str, model: u64) -> Option<f64> {
        let conversation = self.conversations.get(session);
        let of_conversation = conversation.and_then(|conversation| {
            let mut ratios = conversation.ratios.iter();
            ratios.find(|(of, _)| *of == model)?.1.get()
        });
        of_conversation.or_else(|| self.models.get(&model)?.get())
    }

    pub(super) fn learn(&mut self, session: &str, model: u64, sample: Sample) {
        if self.models.len() < MAX_MODELS || self.models.contains_key(&model) {
            self.models.entry(model).or_default().add_of_model(sample);
        }
        let ratios = &mut self.used(session).ratios;
        let known = ratios.iter().position(|(of, _)| *of == model);
        let at = known.unwrap_or_else(|| {
            if ratios.len() >= MAX_MODELS_OF_CONVERSATION {
                ratios.remove(0);
            }
            ratios.push((model, LearnedRatio::default()));
            ratios.len() - 1
        });
        ratios[at].1.add_of_conversation(sample);
    }

    /// Remembers a request that was answered. Without its blocks (`seen`) those before it are no longer the last ones.
    pub(super) fn remember(
        &mut self,
        session: &str,
        opening: Option<u64>,
        started: Instant,
        seen: Option<SeenRequest>,
    ) {
        let conversation = self.used(session);
        let before = conversation.blocks();
        conversation.last_started = Some(started);
        let old_opening = std::mem::replace(&mut conversation.opening, opening);
        match seen {
            None => conversation.threads.clear(),
            Some(seen) => {
                // A thread that the client changed is kept: what it wrote to the cache is still there if the client
                // changes back.
                let grows = |at: &usize| {
                    let known = &conversation.threads[*at];
                    known.model == seen.model && known.is_clean(&seen)
                };
                match conversation.continued(&seen).filter(grows) {
                    Some(at) => conversation.threads[at] = seen,
                    None => {
                        if conversation.threads.len() >= MAX_THREADS {
                            let threads = conversation.threads.iter().enumerate();
                            let oldest = threads.min_by_key(|(_, known)| known.started);
                            let oldest = oldest.map_or(0, |(at, _)| at);
                            conversation.threads.remove(oldest);
                        }
                        conversation.threads.push(seen);
                    }
                }
            }
        }
        let after = conversation.blocks();
        self.blocks = self.blocks - before + after;
        self.forget_opening(old_opening, session);
        if let Some(opening) = opening {
            self.openings.insert(opening, session.to_owned());
        }
        while self.conversations.len() > MAX_CONVERSATIONS || self.blocks > MAX_BLOCKS {
            self.forget_oldest();
        }
    }

    fn used(&mut self, session: &str) -> &mut Conversation {
        self.uses += 1;
        let conversation = self.conversations.entry(session.to_owned()).or_default();
        conversation.used = self.uses;
        conversation
    }

    fn forget_opening(&mut self, opening: Option<u64>, session: &str) {
        if let Some(opening) = opening
            && self.openings.get(&opening).is_some_and(|of| of == session)
        {
            self.openings.remove(&opening);
        }
    }

    fn forget_oldest(&mut self) {
        let conversations = self.conversations.iter();
        let oldest = conversations.min_by_key(|(_, conversation)| conversation.used);
        let Some(session) = oldest.map(|(session, _)| session.clone()) else {
            return;
        };
        if let Some(conversation) = self.conversations.remove(&session) {
            self.blocks -= conversation.blocks();
            self.forget_opening(conversation.opening, &session);
        }
    }

    #[cfg(test)]
    pub(super) fn sizes(&self) -> [usize; 3] {
        let blocks = self.conversations.values().map(Conversation::blocks);
        assert_eq!(self.blocks, blocks.sum::<usize>());
        [self.conversations.len(), self.openings.len(), self.blocks]
    }
}
