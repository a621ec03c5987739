//! The guards applied to a plan: the edits that they let through, and why the others stay out.

use super::context::PlanContext;
use super::draft::Draft;
use super::edit::{Action, Edit, Plan, SkipReason};
use super::guard;
use crate::read::view::{PartId, View};

/// A plan that passed the guards. Only this becomes a part of a draft.
#[derive(Clone, Debug)]
pub(crate) struct Settled(Plan);

impl Settled {
    /// Edits of parts that the guards let through one by one, together with what notes point to.
    pub(crate) fn of_allowed(edits: Vec<Edit>) -> Self {
        Self(Plan {
            edits,
            ..Plan::default()
        })
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.0
    }

    /// Makes it a part of the draft.
    pub(crate) fn merge_into(self, view: &View<'_>, draft: &mut Draft) {
        draft.merge(view, self.0);
    }
}

/// The edits of a plan that the guards let through; the others become skips.
pub(crate) fn settle(context: &PlanContext<'_, '_>, plan: Plan, reach: guard::Reach) -> Settled {
    let mut outcome = Plan {
        edits: Vec::with_capacity(plan.edits.len()),
        skips: plan.skips,
        chunks: plan.chunks,
        drops_block: plan.drops_block,
        wants: plan.wants,
    };
    let mut wanted = Vec::new();
    for edit in &plan.edits {
        if let Action::DropTurn(turn) = edit.action {
            wanted.resize(context.view.turns().len(), false);
            wanted[turn.index()] = true;
        }
    }
    let strategy = plan.edits.first().map(|edit| edit.strategy);
    let is_summary = |edit: &Edit| matches!(edit.action, Action::InsertTurn(..));
    let has_summary = plan.edits.iter().any(is_summary);
    let settled = guard::settle_drops(context, wanted, has_summary, strategy, &mut outcome);
    let any_drop = settled.contains(&true);
    for edit in plan.edits {
        let verdict = match &edit.action {
            Action::DropTurn(turn) if settled[turn.index()] => Ok(()),
            // Its reason is already among the skips.
            Action::DropTurn(_) => continue,
            Action::InsertTurn(..) if any_drop => Ok(()),
            Action::InsertTurn(..) => Err(SkipReason::NothingToCut),
            Action::Mark(_) => Ok(()),
            Action::DropPart(part) | Action::Rewrite(part, _) | Action::ReplaceInput(part, _) => {
                if settled_turn(context.view, *part, &settled) {
                    continue;
                }
                guard::veto_part(context, &edit, *part, reach)
            }
            Action::Arrange(arranged) => {
                if arranged
                    .blocks
                    .iter()
                    .any(|block| settled_turn(context.view, *block, &settled))
                {
                    continue;
                }
                guard::veto_arrangement(context, &edit, arranged, reach)
            }
        };
        match verdict {
            Ok(()) => outcome.edits.push(edit),
            Err(reason) => outcome.leave(Some(edit.strategy), edit.target(), reason),
        }
    }
    guard::keep_what_is_pointed_to(context, &mut outcome);
    Settled(outcome)
}

fn settled_turn(view: &View<'_>, part: PartId, settled: &[bool]) -> bool {
    let turn = view.part(part).turn;
    turn.is_some_and(|turn| settled.get(turn.index()) == Some(&true))
}
