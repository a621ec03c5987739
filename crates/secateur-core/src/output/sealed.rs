//! The last state of a plan: nothing is decided any more, and it can be lowered.

use super::lower::Lowering;
use super::recall::{self, Recall};
use crate::plan::edit::{Edit, Plan};
use crate::plan::recall_id::RecallId;
use crate::read::view::View;

/// A plan whose placeholders carry their ids. Only this is lowered.
#[derive(Debug)]
pub(crate) struct Sealed {
    plan: Plan,
    /// The id of each edit.
    ids: Vec<Option<RecallId>>,
}

impl Sealed {
    pub(crate) fn new(view: &View<'_>, mut plan: Plan, recall: Recall) -> Self {
        let ids = recall::tag_cuts(view, &mut plan, recall);
        Self { plan, ids }
    }

    /// Lowers edit by edit. What does not fit the body becomes a skip.
    pub(crate) fn lower<'v, 'a>(&mut self, view: &'v View<'a>) -> Lowering<'v, 'a> {
        let edits = std::mem::take(&mut self.plan.edits);
        let ids = std::mem::take(&mut self.ids);
        let mut lowering = Lowering::new(view, &edits);
        self.plan.edits.reserve(edits.len());
        self.ids.reserve(ids.len());
        for (edit, id) in edits.into_iter().zip(ids) {
            self.add(&mut lowering, edit, id);
        }
        lowering
    }

    /// Adds an edit after the others: a cache marker, which needs the sizes of those.
    pub(crate) fn add(
        &mut self,
        lowering: &mut Lowering<'_, '_>,
        edit: Edit,
        id: Option<RecallId>,
    ) {
        match lowering.add(&edit) {
            Ok(()) => {
                self.plan.edits.push(edit);
                self.ids.push(id);
            }
            Err(reason) => self.plan.leave(Some(edit.strategy), edit.target(), reason),
        }
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The plan, and the id of each of its edits.
    pub(crate) fn into_parts(self) -> (Plan, Vec<Option<RecallId>>) {
        (self.plan, self.ids)
    }
}
