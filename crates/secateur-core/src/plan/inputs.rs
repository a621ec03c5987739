//! What stays the same while a body is planned.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};

use super::context::{ModelFacts, PlanContext};
use super::draft::Draft;
use super::edit::Target;
use super::summary::Summaries;
use super::timeline::Timeline;
use crate::read::view::{Exchanges, PartId, TurnId, View};
use crate::text::hash::QuickMap;
use crate::tools::call_args::CallArgs;
use crate::tools::facts::ToolFacts;

/// What stays the same while a body is planned.
#[derive(Debug)]
pub(crate) struct PlanInputs<'s, 'a> {
    pub(crate) view: &'s View<'a>,
    pub(crate) exchanges: Exchanges,
    pub(crate) model: ModelFacts,
    pub(crate) timeline: Timeline,
    pub(crate) call_args: OnceCell<CallArgs>,
    pub(crate) facts: OnceCell<ToolFacts>,
    pub(crate) summaries: Option<&'s dyn Summaries>,
    /// Descriptions of results, which depend on the result alone.
    pub(crate) described: RefCell<QuickMap<PartId, Option<Cow<'static, str>>>>,
}

impl<'s, 'a> PlanInputs<'s, 'a> {
    pub(crate) fn new(
        view: &'s View<'a>,
        model: ModelFacts,
        summaries: Option<&'s dyn Summaries>,
    ) -> Self {
        Self {
            summaries,
            view,
            exchanges: view.exchanges(),
            model,
            timeline: Timeline::of(view),
            call_args: OnceCell::new(),
            facts: OnceCell::new(),
            described: RefCell::default(),
        }
    }

    /// How many parts come before this turn (system texts before it included).
    pub(crate) fn parts_before(&self, turns: u32) -> usize {
        match turns.checked_sub(1) {
            Some(last) => self.view.parts_end(TurnId(last)),
            None => 0,
        }
    }

    /// The parts that an edit of this target touches.
    pub(crate) fn parts_of(&self, target: Target) -> impl Iterator<Item = PartId> + use<> {
        let (first, end) = match target {
            Target::Part(part) => (part.0, part.0 + 1),
            Target::Turn(turn) => (
                self.view.parts_start(turn).0,
                u32::try_from(self.view.parts_end(turn)).unwrap_or(u32::MAX),
            ),
            Target::Request => (0, 0),
        };
        (first..end).map(PartId)
    }

    /// The context at the present request, for a mechanic's gate.
    pub(crate) fn present<'d>(&'d self, draft: &'d Draft) -> PlanContext<'d, 'a> {
        let (request, visible) = self.now();
        self.context(request, visible, draft)
    }

    /// The number of the present request, and how many turns it has.
    pub(crate) fn now(&self) -> (u32, u32) {
        let visible = u32::try_from(self.view.turns().len()).unwrap_or(u32::MAX);
        let request = self.timeline.requests().len().saturating_sub(1);
        (u32::try_from(request).unwrap_or(u32::MAX), visible)
    }

    /// The context at a request, for strategies and guards.
    pub(crate) fn context<'d>(
        &'d self,
        request: u32,
        visible: u32,
        draft: &'d Draft,
    ) -> PlanContext<'d, 'a> {
        PlanContext {
            view: self.view,
            exchanges: &self.exchanges,
            timeline: &self.timeline,
            call_args: &self.call_args,
            facts: &self.facts,
            described: &self.described,
            draft,
            model: self.model,
            summaries: self.summaries,
            visible,
            request,
            ends: self.timeline.ends(visible),
        }
    }
}
