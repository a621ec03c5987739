//! Shortening a result the first time it is seen, before any cache holds it.
//!
//! The strategies that work on arrival form a chain over one text, line by line. What they do is a
//! selection of the text's own bytes plus notes, so it becomes one rewrite of the part.
//!
//! A text is looked at as its literal spells it, so that nothing is decoded for most of them; see [`Spelling`].
//!
//! **Invariant:** what is decided for a part depends on it and on what came before it, never on what
//! comes later. So the decision is the same in every later request.

mod text;

use crate::edit::{Action, Edit};
use crate::scene::Scene;
use crate::strategy::Strategy;
use crate::view::PartId;

pub(crate) use text::LookScratch;
pub use text::{ArrivalText, Line, Spelling};

/// A strategy's memory of what has arrived so far.
pub trait Arrivals {
    /// Looks at a result that has just arrived; may shorten its text.
    fn result(&mut self, scene: &Scene<'_, '_>, part: PartId, text: &mut ArrivalText<'_>);

    /// Whether it looks for more in such a result than [`Spelling::Json`] lets it see.
    fn wants_decoded(&self, _scene: &Scene<'_, '_>, _part: PartId) -> bool {
        false
    }

    /// Looks at a call that has just arrived.
    fn call(&mut self, _scene: &Scene<'_, '_>, _part: PartId) {}

    /// The part's text is not there any more.
    fn forget(&mut self, _part: PartId) {}
}

/// The strategies that work on arrival, one behind the other.
pub(crate) struct Chain<'o> {
    links: Vec<Box<dyn Arrivals + 'o>>,
    scratch: LookScratch,
}

impl<'o> Chain<'o> {
    pub(crate) fn of(strategies: &[&'o dyn Strategy]) -> Self {
        let links = strategies.iter().filter_map(|strategy| strategy.arrivals());
        Self {
            links: links.collect(),
            scratch: LookScratch::default(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    pub(crate) fn call(&mut self, scene: &Scene<'_, '_>, part: PartId) {
        for link in &mut self.links {
            link.call(scene, part);
        }
    }

    pub(crate) fn forget(&mut self, part: PartId) {
        for link in &mut self.links {
            link.forget(part);
        }
    }

    /// What is left of a result; `None` if nothing was saved.
    pub(crate) fn result(&mut self, scene: &Scene<'_, '_>, part: PartId) -> Option<Shortened> {
        let wants_decoded = self
            .links
            .iter()
            .any(|link| link.wants_decoded(scene, part));
        let mut arriving = ArrivalText::of(scene, part, wants_decoded, &mut self.scratch);
        for link in &mut self.links {
            link.result(scene, part, &mut arriving);
        }
        if arriving.is_replaced() {
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
            chars_before: scene.chars(part),
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
