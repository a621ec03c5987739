//! Putting plans together: each strategy sees what the ones before it decided, and every edit
//! passes the guards before it counts.

use crate::arrival::{Chain, Shortened};
use crate::plan::draft::Draft;
use crate::plan::edit::{Plan, Target};
use crate::plan::guard;
use crate::plan::inputs::PlanInputs;
use crate::plan::settle::{Settled, settle};
use crate::plan::timeline::Use;
use crate::read::view::{PartKind, TurnId};
use crate::strategy::{self, Strategy, Work};

/// Plans the whole body from scratch: arrivals first, then the strategies in order, then the guard of
/// signed thinking.
pub(crate) fn run(inputs: &PlanInputs<'_, '_>, strategies: &[&dyn Strategy], draft: &mut Draft) {
    let (request, visible) = inputs.now();
    let mut chain = chain_of(strategies);
    arrive(inputs, request, 0, visible, &mut chain, draft);
    for strategy in strategies {
        let context = inputs.context(request, visible, draft);
        let plan = strategy::plan(*strategy, &context);
        let settled = settle(&context, plan, strategy.may_touch());
        settled.merge_into(inputs.view, draft);
    }
    draft.tidy(inputs.view, visible);
    let open = inputs.timeline.ends(visible).open_exchange;
    guard::signed_thinking(inputs.view, inputs.model, visible, open, draft);
}

/// The strategies that work on arrival.
pub(crate) fn chain_of<'s>(strategies: &[&'s dyn Strategy]) -> Chain<'s> {
    let works = strategies.iter().map(|strategy| strategy.work());
    let links = works.filter_map(|work| match work {
        Work::OnArrival(link) => Some(link),
        _ => None,
    });
    Chain::of(links.collect())
}

/// Lets the parts of the turns `from..visible` arrive, one after the other.
pub(crate) fn arrive(
    inputs: &PlanInputs<'_, '_>,
    request: u32,
    from: u32,
    visible: u32,
    chain: &mut Chain<'_>,
    draft: &mut Draft,
) {
    if chain.is_empty() {
        return;
    }
    for id in (from..visible).flat_map(|turn| inputs.view.parts_of(TurnId(turn))) {
        let context = inputs.context(request, visible, draft);
        match context.kind(id) {
            PartKind::Call => chain.call(&context, id),
            PartKind::Result if context.may_shorten(id) => {
                let Some(Shortened { edit, cites }) = chain.result(&context, id) else {
                    continue;
                };
                match guard::veto_part(&context, &edit, id, guard::Reach::default()) {
                    Ok(()) => {
                        let seen = inputs.timeline.first_use(TurnId(visible.saturating_sub(1)));
                        draft.take(inputs.view, edit);
                        draft.cite(id, &cites, Use { request, ..seen });
                    }
                    Err(reason) => {
                        chain.forget(id);
                        let target = Target::Part(id);
                        draft.leave(edit.strategy, target, reason);
                    }
                }
            }
            _ => {}
        }
    }
}

/// What strategies decide about the turns `from..visible` once, when they arrive.
pub(crate) fn decide_on_arrival(
    inputs: &PlanInputs<'_, '_>,
    request: u32,
    from: u32,
    visible: u32,
    strategies: &[&dyn Strategy],
    draft: &mut Draft,
) {
    for strategy in strategies {
        let Work::PerTurn(plan) = strategy.work() else {
            continue;
        };
        let context = inputs.context(request, visible, draft);
        let plan = plan(&context, Some(TurnId(from)));
        let settled = settle(&context, plan, strategy.may_touch());
        settled.merge_into(inputs.view, draft);
    }
}

/// What the strategies that do not work on arrival would add to the draft at a request.
pub(crate) fn propose(
    inputs: &PlanInputs<'_, '_>,
    request: u32,
    visible: u32,
    strategies: &[&dyn Strategy],
    draft: &Draft,
) -> Plan {
    let mut proposal = Plan::default();
    let mut trial: Option<Draft> = None;
    let mut planners = strategies
        .iter()
        .filter(|strategy| strategy.work().is_for_rounds())
        .peekable();
    while let Some(strategy) = planners.next() {
        let context = inputs.context(request, visible, trial.as_ref().unwrap_or(draft));
        let settled = settle(
            &context,
            strategy::plan(*strategy, &context),
            strategy.may_touch(),
        );
        let found = settled.plan();
        proposal.wants.extend(found.wants.iter().cloned());
        proposal.edits.extend(found.edits.iter().cloned());
        // Only a strategy after this one has to see what it decided.
        if planners.peek().is_some() && !found.edits.is_empty() {
            settled.merge_into(inputs.view, trial.get_or_insert_with(|| draft.clone()));
        }
    }
    proposal
}

/// The part of a proposal that is safe on its own.
pub(crate) fn settle_again(
    inputs: &PlanInputs<'_, '_>,
    request: u32,
    visible: u32,
    plan: Plan,
    draft: &Draft,
) -> Settled {
    settle(
        &inputs.context(request, visible, draft),
        plan,
        guard::Reach::default(),
    )
}

/// Adds a settled plan to the draft.
pub(crate) fn merge(inputs: &PlanInputs<'_, '_>, visible: u32, plan: Settled, draft: &mut Draft) {
    plan.merge_into(inputs.view, draft);
    draft.tidy(inputs.view, visible);
}
