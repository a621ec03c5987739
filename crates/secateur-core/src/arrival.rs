//! Shortening a result the first time it is seen, before any cache holds it.
//!
//! The strategies that work on arrival form a chain over one text, line by line. What they do is a
//! selection of the text's own bytes plus notes, so it becomes one rewrite of the part.
//!
//! Most texts are read in the spelling of their literal, without decoding; see [`Spelling`].
//!
//! **Invariant:** what is decided for a part depends on it and on what came before it, never on what
//! comes later. So the decision is the same in every later request.

use crate::plan::arriving_text::{ArrivalText, ScanScratch};
use crate::plan::context::PlanContext;
use crate::plan::edit::{Action, Edit, Effect};
use crate::read::view::PartId;

/// A strategy's memory of what has arrived so far.
pub trait Arrivals {
    /// Takes in a result that has just arrived; may shorten its text.
    fn result(&mut self, context: &PlanContext<'_, '_>, part: PartId, text: &mut ArrivalText<'_>);

    /// Whether it needs the decoded text of such a result: [`Spelling::Json`] is not enough.
    fn wants_decoded(&self, _scene: &PlanContext<'_, '_>, _part: PartId) -> bool {
        false
    }

    /// Takes in a call that has just arrived.
    fn call(&mut self, _scene: &PlanContext<'_, '_>, _part: PartId) {}

    /// The part's text is not there any more.
    fn forget(&mut self, _part: PartId) {}
}

/// The strategies that work on arrival, one after the other.
pub(crate) struct Chain<'o> {
    links: Vec<Box<dyn Arrivals + 'o>>,
    scratch: ScanScratch,
}

impl<'o> Chain<'o> {
    pub(crate) fn of(links: Vec<Box<dyn Arrivals + 'o>>) -> Self {
        Self {
            links,
            scratch: ScanScratch::default(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    pub(crate) fn call(&mut self, context: &PlanContext<'_, '_>, part: PartId) {
        for link in &mut self.links {
            link.call(context, part);
        }
    }

    pub(crate) fn forget(&mut self, part: PartId) {
        for link in &mut self.links {
            link.forget(part);
        }
    }

    /// What is left of a result; `None` if nothing was saved.
    pub(crate) fn result(
        &mut self,
        context: &PlanContext<'_, '_>,
        part: PartId,
    ) -> Option<Shortened> {
        let wants_decoded = self
            .links
            .iter()
            .any(|link| link.wants_decoded(context, part));
        let mut arriving = ArrivalText::of(context, part, wants_decoded, &mut self.scratch);
        for link in &mut self.links {
            link.result(context, part, &mut arriving);
        }
        let is_replaced = arriving.is_replaced();
        if is_replaced {
            for link in &mut self.links {
                link.forget(part);
            }
        }
        let (chars_after, cites) = (arriving.chars(), arriving.take_cites());
        let finished = arriving.finish();
        let memory = arriving.into_memory();
        self.scratch.take_back(memory);
        let (pieces, strategy, why) = finished?;
        let edit = Edit {
            action: Action::Rewrite(part, pieces),
            strategy,
            why,
            effect: match is_replaced {
                true => Effect::Removes,
                false => Effect::KeepsContent,
            },
            chars_before: context.chars(part),
            chars_after,
        };
        Some(Shortened { edit, cites })
    }
}

/// A result that was shortened on arrival.
pub(crate) struct Shortened {
    pub(crate) edit: Edit,
    /// Parts that notes in it point to.
    pub(crate) cites: Vec<PartId>,
}
