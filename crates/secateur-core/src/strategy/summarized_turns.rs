//! Replaces older turns with one message.
//!
//! ## What it cuts
//! Turns before the last `max_turns`; the cut moves earlier until it splits no tool exchange. In
//! their place there is one user message: `[Previous context: N turns summarized]`. With `summary =
//! "digest"` it goes on with an extract: the tools that were called and how often, the files they
//! were called on, what failed, and sentences in which the model settled on something. The extract
//! is made from the dropped turns alone and says the same for the same turns.
//!
//! With `summary = "model"` it goes on with what `summary_model` wrote about the dropped turns. The
//! proxy asks for it through the workload's upstream and keeps it under the content it stands for,
//! so that the same history always gets the same bytes; elsewhere there is no model to ask. The cut
//! then moves in steps of `summary_step_turns`, so that the turns after a summary, and with them
//! the cached prefix, stay the same in between. A summary that is not there within the workload's
//! budget is done without: `summary_on_miss = "digest"` puts the extract in its place, for good;
//! `"earlier"` keeps the cut at the newest earlier step that has its summary (none: nothing is cut)
//! and takes the new one when it is there.
//!
//! ## When it stays out
//! Conversations of `max_turns` turns or fewer, and histories that are shorter than the message in
//! their place. The system prompt, what comes before the first user turn, the last user turn, the
//! last turn, turns with images or documents and broken tool exchanges always stay; N counts what is
//! really dropped.
//!
//! ## Example
//! Of 101 turns with `max_turns = 6`, 95 become `[Previous context: 95 turns summarized]`.
//!
//! Idempotent: a summary that is all there is to drop stays.

mod by_model;
mod older;

use self::older::Older;
use super::turns_outside_window::conversation;
use super::{Strategy, Work, digest};
use crate::options::options;
use crate::plan::context::PlanContext;
use crate::plan::edit::{Plan, StrategyId};

/// What replaces dropped turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Summary {
    /// How many turns there were.
    #[default]
    Placeholder,
    /// That, and what can be extracted from them.
    Digest,
    /// That, and what a model wrote about them.
    Model,
}

/// What happens while a model's summary is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnMiss {
    /// The extract takes its place.
    #[default]
    Digest,
    /// The newest earlier summary is used; without one nothing is cut.
    Earlier,
}

options! {
    /// Options of `summarized-turns`.
    pub struct SummarizedTurns {
        /// Turns that stay at the end, at least the last one.
        max_turns: usize = 20,
        /// `placeholder`, `digest` or `model`.
        summary: Summary = Summary::Placeholder,
        /// The model that writes summaries, by its name on the wire (`model`).
        summary_model: String = String::new(),
        /// The cut moves in steps of so many turns (`model`).
        summary_step_turns: usize = 10,
        /// While a summary is not there: `digest` or `earlier` (`model`).
        summary_on_miss: OnMiss = OnMiss::Digest,
    }
}

impl SummarizedTurns {
    /// Its id.
    pub const ID: StrategyId = StrategyId("summarized-turns");
}

impl Strategy for SummarizedTurns {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn work(&self) -> Work<'_> {
        Work::Whole(Box::new(|context| self.plan(context)))
    }
}

impl SummarizedTurns {
    fn plan(&self, context: &PlanContext<'_, '_>) -> Plan {
        let turns = conversation(context);
        if self.summary == Summary::Model {
            return by_model::plan(self, context, &turns);
        }
        let older = match Older::before(context, &turns, self.max_turns) {
            Ok(older) => older,
            Err(reason) => return Plan::skip(Self::ID, reason),
        };
        match self.summary {
            Summary::Digest => {
                older.summarize(context, &[&digest::of(context, &older.dropped), ""])
            }
            Summary::Placeholder | Summary::Model => older.summarize(context, &[""]),
        }
    }
}

#[cfg(test)]
mod tests;
