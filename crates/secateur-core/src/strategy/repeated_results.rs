//! Turns the older copies of a repeated tool output into pointers to the latest one.
//!
//! ## What it cuts
//! A result whose exact text appears again in a later result; and, with `same_call`, a result whose
//! call (same tool, same arguments) was made again later, because the later output is the newer
//! state of the same thing. The older text becomes one sentence that says so.
//!
//! ## When it stays out
//! Results under `min_chars`, results with images or documents, and calls without result. A later
//! output of the same call with other text stands in only if it is no error and has at least
//! `min_later_pct` of the older one's characters: "unchanged since the last read" is no stand-in.
//! The later copy must be whole: if any strategy cuts it, the older copy stays. So list this one
//! behind strategies that cut results: a pointer that has to be taken back saves nothing.
//!
//! ## Example
//! `git status` is run in turns 4 and 20. The output in turn 4 becomes
//! `[This output was removed to save space: the same call was made again later in this conversation,
//! with newer output.]`
//!
//! Idempotent: a result that is such a note is never pointed at or replaced.

use std::borrow::Cow;

use super::pointer_notes::{self, SAME_CALL, SAME_OUTPUT};
use super::{Strategy, options};
use crate::edit::{Need, Plan, SkipReason, StrategyId, Why};
use crate::hash::{QuickMap, quick_map};
use crate::scene::{PartState, Scene};
use crate::view::{PartId, PartKind};

options! {
    /// Options of `repeated-results`.
    pub struct RepeatedResults {
        /// Results with fewer characters than this stay.
        min_chars: usize = 300,
        /// Whether the same tool with the same arguments counts as a repetition when the text differs.
        same_call: bool = true,
        /// The least size of a differing later output, in percent of the older one's characters.
        min_later_pct: usize = 50,
    }
}

impl RepeatedResults {
    /// Its id.
    pub const ID: StrategyId = StrategyId("repeated-results");

    /// Results that can be cut or pointed at.
    fn results(&self, scene: &Scene<'_, '_>) -> Vec<PartId> {
        let parts = scene.turns().flat_map(|turn| scene.parts(turn));
        parts
            .filter(|&part| {
                scene.kind(part) == PartKind::Result
                    && scene.state(part) == PartState::Whole
                    && scene.call_of(part).is_some()
                    && !scene.has_media(part)
                    && !pointer_notes::is_in(scene, part)
            })
            .collect()
    }

    fn stands_in(&self, scene: &Scene<'_, '_>, later: PartId, older: PartId) -> bool {
        !scene.is_error(later)
            && scene.chars(later) * 100 >= scene.chars(older) * self.min_later_pct
    }
}

impl Strategy for RepeatedResults {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn plan(&self, scene: &Scene<'_, '_>) -> Plan {
        let results = self.results(scene);
        // Texts of one length only are compared at all.
        let mut lengths: QuickMap<usize, usize> = quick_map(results.len());
        for &result in &results {
            *lengths.entry(scene.chars(result)).or_default() += 1;
        }
        let mut latest_text: QuickMap<Cow<'_, str>, PartId> = QuickMap::default();
        let mut latest_call: QuickMap<(Cow<'_, str>, Cow<'_, str>), PartId> =
            quick_map(results.len());
        let mut plan = Plan::default();
        for &result in results.iter().rev() {
            let chars = scene.chars(result);
            if chars < self.min_chars {
                // Too short to cut, and its text is too short to stand in for a longer one. As the
                // latest output of its call it still hides the ones before it.
                if self.same_call
                    && let Some(key) = call_key(scene, result)
                {
                    latest_call.insert(key, result);
                }
                continue;
            }
            let text = (lengths.get(&chars) > Some(&1)).then(|| scene.text(result));
            let key = call_key(scene, result).filter(|_| self.same_call);
            let same_text = text.as_ref().and_then(|text| latest_text.get(text));
            let same_call = key
                .as_ref()
                .and_then(|key| latest_call.get(key))
                .filter(|&&later| self.stands_in(scene, later, result));
            let found = match (same_text, same_call) {
                (Some(&later), _) => Some((later, SAME_OUTPUT, Why::RepeatedOutput)),
                (None, Some(&later)) => Some((later, SAME_CALL, Why::RepeatedCall)),
                (None, None) => None,
            };
            if let Some((stand_in, words, why)) = found
                && words.chars().count() < chars
            {
                plan.edits
                    .push(scene.replace(result, words.into(), Self::ID, why));
                plan.needs.push(Need {
                    edited: result,
                    strategy: Self::ID,
                    stand_in,
                });
                continue;
            }
            if let Some(text) = text {
                latest_text.insert(text, result);
            }
            if let Some(key) = key {
                latest_call.insert(key, result);
            }
        }
        if plan.edits.is_empty() {
            return Plan::skip(Self::ID, SkipReason::NothingToCut);
        }
        plan.edits.reverse();
        plan.needs.reverse();
        plan
    }
}

fn call_key<'a>(scene: &Scene<'_, 'a>, result: PartId) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    let call = scene.call_of(result)?;
    Some((scene.tool_name(call)?, scene.args(call)))
}
