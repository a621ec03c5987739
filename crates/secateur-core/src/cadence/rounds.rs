//! Pruning that keeps the prompt cache: decisions as a fold over the requests of a conversation.
//!
//! A body shows every request that came before it. Walking them in order, each request may shorten what
//! has just arrived (no cache holds it yet) and may take a *round*: new cuts in what is cached, if they
//! pay. Between rounds nothing that was sent changes.
//!
//! **Invariant:** what is decided at a request depends on the turns up to it alone. So the output for a
//! conversation that only grew begins with the bytes of the output before, except at a new round; on
//! every replica and after every restart, because nothing is stored.
//!
//! **Invariant:** the fold is linear in the body: each part is taken in once, and searches for rounds are paid for
//! by what arrives (see `work_budget`).
//!
//! **Invariant:** a round is taken only if its rewrite is covered by what was saved so far, and by what it saves at
//! the request itself, by the rules of the provider's cache. So no conversation costs more than without pruning,
//! wherever it ends.

use super::compose;
use super::versions::{Reads, Rewrites, Versions};
use crate::arrival::Chain;
use crate::cadence::candidates::{BestStart, RoundCandidates, RoundEconomics};
use crate::cadence::work_budget::WorkBudget;
use crate::cost::cache::{Patterns, Reach};
use crate::options::options;
use crate::plan::draft::{Draft, PartState};
use crate::plan::edit::{Action, Edit, Plan};
use crate::plan::guard;
use crate::plan::inputs::PlanInputs;
use crate::plan::settle::Settled;
use crate::read::view::{PartId, PartKind};
use crate::strategy::Strategy;
use crate::tools::call_args::CallArgs;

options! {
    /// When a round is taken, under `cadence = "rounds"`.
    pub struct Rounds {
        /// Further requests that a round may count on to pay for itself.
        horizon: f64 = 4.0,
        /// Fewest characters that a round frees.
        min_gain_chars: usize = 7800,
        /// Fewest characters that a round frees, as a share of the conversation as sent, in percent.
        min_gain_percent: f64 = 0.0,
        /// No round while the conversation as sent is shorter than this, in characters.
        trigger_chars: usize = 0,
        /// A round is tried again once this share of the conversation is new, in percent.
        retry_percent: f64 = 1.0,
    }
}

/// How the fold went: what the conversation cost so far, in characters at the price of input.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Account {
    /// Requests that the body shows, the present one included.
    pub requests: usize,
    /// Rounds that were taken.
    pub rounds: usize,
    /// What all requests would have cost without pruning.
    pub cost_without: f64,
    /// What they cost.
    pub cost_with: f64,
    /// What the present request would cost without pruning.
    pub request_without: f64,
    /// What it costs.
    pub request_with: f64,
    /// Whether the present request takes a round.
    pub is_round: bool,
    /// The request that took the last round, counted from 0.
    #[serde(skip)]
    pub last_round: Option<usize>,
    /// The first part that the present round cuts; the parts before it go out as they did before.
    #[serde(skip)]
    pub round_from: Option<PartId>,
    /// What the present request reads from the cache: without pruning, with it, and with it had no round been taken.
    #[serde(skip)]
    pub(crate) reads: Reads,
    /// The work that searching for rounds took, in visits of parts. Linear in the conversation.
    #[serde(skip)]
    pub visits: u64,
}

/// Folds over the requests of the inputs's conversation.
pub(crate) fn fold(
    inputs: &PlanInputs<'_, '_>,
    patterns: &Patterns,
    options: &Rounds,
    is_eligible: impl Fn(u32) -> bool,
    strategies: &[&dyn Strategy],
    draft: &mut Draft,
) -> Account {
    let mut fold = Fold {
        inputs,
        options,
        strategies,
        chain: compose::chain_of(strategies),
        candidates: RoundCandidates::of(strategies, inputs.view.parts().len()),
        weights: inputs
            .view
            .part_ids()
            .map(|part| weight(inputs, part, draft))
            .collect(),
        draft,
        account: Account::default(),
        versions: Versions::new(inputs.view, patterns),
        arrived_since_try: 0.0,
        work_budget: WorkBudget::default(),
    };
    let (mut cached, mut eligible) = (0, false);
    for (request, &visible) in inputs.timeline.requests().iter().enumerate() {
        eligible = eligible || is_eligible(visible);
        fold.request(
            u32::try_from(request).unwrap_or(u32::MAX),
            cached,
            visible,
            eligible,
        );
        cached = visible;
    }
    fold.account
}

/// Characters that a part costs before pruning. Thinking of earlier turns is not billed, and instructions count with
/// the head.
fn weight(inputs: &PlanInputs<'_, '_>, part: PartId, untouched: &Draft) -> f64 {
    const MEDIA_CHARS: usize = 8000;
    if inputs.view.part(part).turn.is_none() {
        return 0.0;
    }
    let chars = match inputs.view.part(part).kind {
        PartKind::Call => {
            CallArgs::once(&inputs.call_args, inputs.view).compact_chars(inputs.view, part)
        }
        PartKind::Media => MEDIA_CHARS,
        PartKind::Thinking => 0,
        PartKind::ServerTool | PartKind::Opaque => inputs.view.part(part).value.len(),
        PartKind::Text | PartKind::Result => untouched.chars(part),
    };
    chars as f64
}

struct Fold<'f, 's, 'a> {
    inputs: &'f PlanInputs<'s, 'a>,
    options: &'f Rounds,
    strategies: &'f [&'f dyn Strategy],
    chain: Chain<'f>,
    candidates: Option<RoundCandidates<'f>>,
    weights: Vec<f64>,
    draft: &'f mut Draft,
    account: Account,
    versions: Versions<'f>,
    arrived_since_try: f64,
    work_budget: WorkBudget,
}

/// New cuts, and the first part that they touch.
struct Round {
    plan: Settled,
    from: PartId,
}

impl Fold<'_, '_, '_> {
    fn request(&mut self, request: u32, cached: u32, visible: u32, eligible: bool) {
        let cached_parts = self.inputs.parts_before(cached);
        let parts = self.inputs.parts_before(visible);
        let weights = &self.weights[cached_parts..parts];
        let arrived = (self.versions).begin(self.inputs.view, request, visible, weights);
        self.work_budget.earn(parts - cached_parts, arrived);
        self.account.is_round = false;
        self.account.round_from = None;
        let eligible = eligible && self.versions.is_cacheable();
        if eligible {
            compose::arrive(
                self.inputs,
                request,
                cached,
                visible,
                &mut self.chain,
                self.draft,
            );
            compose::decide_on_arrival(
                self.inputs,
                request,
                cached,
                visible,
                self.strategies,
                self.draft,
            );
        }
        self.add_up(cached_parts..parts);
        if let Some(candidates) = &mut self.candidates {
            let context = self.inputs.context(request, visible, self.draft);
            candidates.arrive(&context, cached_parts..parts, self.versions.sent_up_to());
        }
        let before_round = self.versions.read_unchanged();
        let mut with = Reach {
            prefix: before_round,
            anchor: None,
        };
        if eligible && self.is_round_due(cached_parts) {
            self.arrived_since_try = 0.0;
            if let Some(round) = self.round(request, cached, visible) {
                let from = round.from;
                with = self.rewrites().reach(from);
                self.account.round_from = Some(from);
                self.versions.change(from);
                self.take(round, visible);
                self.add_up(from.index()..parts);
                self.account.is_round = true;
                self.account.rounds += 1;
                self.account.last_round = Some(self.account.requests);
            }
        }
        let user_turns = |turns| self.inputs.timeline.user_turns(turns);
        let user_spoke = user_turns(visible) > user_turns(cached);
        let (without, costs) = self.versions.send(with, user_spoke);
        self.account.visits = self.work_budget.spent();
        self.account.requests += 1;
        self.account.request_without = costs.without;
        self.account.request_with = costs.with;
        self.account.cost_without += costs.without;
        self.account.cost_with += costs.with;
        self.account.reads = Reads {
            without,
            with,
            before_round,
        };
    }

    /// Whether to search for a round: enough is new, the conversation is long enough, and the work budget
    /// is not overdrawn.
    fn is_round_due(&mut self, cached_parts: usize) -> bool {
        let sent = self.versions.sent();
        self.arrived_since_try += sent - self.versions.sent_up_to()[cached_parts];
        let is_due = self.arrived_since_try * 100.0 >= self.options.retry_percent * sent;
        let is_long = sent >= self.options.trigger_chars as f64;
        is_due && is_long && self.work_budget.can_search()
    }

    fn rewrites(&self) -> Rewrites<'_> {
        self.versions.rewrites(self.inputs.view, self.draft)
    }

    /// Adds up what is sent of these parts, which are the last ones that are visible.
    fn add_up(&mut self, parts: std::ops::Range<usize>) {
        let (draft, weights) = (&*self.draft, &self.weights);
        let sent = parts.clone().map(|at| sent_part(draft, weights, at));
        self.versions.set_sent(parts.start, sent);
    }

    fn sent_part(&self, at: usize) -> f64 {
        sent_part(self.draft, &self.weights, at)
    }

    /// The round that pays best among the cached parts, if any does.
    fn round(&mut self, request: u32, cached: u32, visible: u32) -> Option<Round> {
        if self.candidates.is_some() && self.draft.only_rewrites() {
            self.search(request, cached, visible)
        } else {
            self.plan_whole(request, cached, visible)
        }
    }

    /// Searches the open parts for the round that pays best.
    fn search(&mut self, request: u32, cached: u32, visible: u32) -> Option<Round> {
        let economics = self.economics();
        let cached_parts = self.inputs.parts_before(cached);
        if guard::open_exchange_waits(self.inputs, visible, cached_parts, self.draft) {
            return None;
        }
        let context = self.inputs.context(request, visible, self.draft);
        let rewrites = self.versions.rewrites(self.inputs.view, self.draft);
        let candidates = self.candidates.as_mut()?;
        let from = candidates.best_start(&context, cached_parts, economics, &rewrites);
        self.work_budget.spend(candidates.take_visits());
        let from = from?;
        // The parts from there on are added up again, and searched for thinking.
        let parts_after = self.inputs.parts_before(visible) - from.index();
        self.work_budget.spend(parts_after);
        if guard::open_exchange_needs_thinking(self.inputs, visible, from, self.draft) {
            return None;
        }
        let plan = Settled::of_allowed(candidates.take(from));
        self.work_budget.spend(candidates.take_visits());
        Some(Round { plan, from })
    }

    /// The round out of a plan for everything that is visible, made from scratch.
    fn plan_whole(&mut self, request: u32, cached: u32, visible: u32) -> Option<Round> {
        let economics = self.economics();
        let cached_parts = self.inputs.parts_before(cached);
        self.work_budget.spend_on_plan();
        let plan = compose::propose(self.inputs, request, visible, self.strategies, self.draft);
        if plan.edits.is_empty() {
            // What would be cut once it is summarized can be no round before.
            self.draft.want(plan.wants);
            return None;
        }
        let mut freed_by_part = vec![0.0; cached_parts];
        for edit in &plan.edits {
            for (part, freed) in self.frees(edit) {
                if let Some(literal) = freed_by_part.get_mut(part.index()) {
                    *literal = freed;
                }
            }
        }
        let rewrites = self.rewrites();
        let mut best = BestStart::new(economics, &rewrites);
        for (at, &gain) in freed_by_part.iter().enumerate().rev() {
            best.offer(PartId(u32::try_from(at).unwrap_or(u32::MAX)), gain);
        }
        let from = best.part?;
        if guard::open_exchange_needs_thinking(self.inputs, visible, from, self.draft) {
            return None;
        }
        let edits = plan.edits.into_iter().filter(|edit| {
            let position = guard::position(self.inputs.view, edit);
            position >= from && position.index() < freed_by_part.len()
        });
        let plan = Plan {
            edits: edits.collect(),
            skips: plan.skips,
            chunks: plan.chunks,
            wants: plan.wants,
            drops_block: plan.drops_block,
        };
        let plan = compose::settle_again(self.inputs, request, visible, plan, self.draft);
        (!plan.plan().edits.is_empty()).then_some(Round { plan, from })
    }

    /// What an edit frees, part by part.
    fn frees(&self, edit: &Edit) -> Vec<(PartId, f64)> {
        match &edit.action {
            Action::DropTurn(turn) => {
                let parts = self.inputs.view.parts_of(*turn);
                parts
                    .map(|part| (part, self.sent_part(part.index())))
                    .collect()
            }
            Action::DropPart(part) => vec![(*part, self.sent_part(part.index()))],
            Action::Rewrite(part, _) | Action::ReplaceInput(part, _) => {
                vec![(
                    *part,
                    self.sent_part(part.index()) - edit.chars_after as f64,
                )]
            }
            Action::InsertTurn(..) | Action::Mark(_) => Vec::new(),
            Action::Arrange(arranged) => {
                let sent = |part: &PartId| (*part, self.sent_part(part.index()));
                let mut freed: Vec<(PartId, f64)> = arranged.blocks.iter().map(sent).collect();
                if let Some((_, first)) = freed.first_mut() {
                    *first -= edit.chars_after as f64;
                }
                freed
            }
        }
    }

    fn economics(&self) -> RoundEconomics {
        let prices = self.versions.prices();
        RoundEconomics {
            value_per_freed: prices.read * self.options.horizon,
            cost_per_rewritten: prices.write - prices.read,
            saved_so_far: self.account.cost_without - self.account.cost_with,
            immediate_saving: prices.read,
            min_freed: (self.options.min_gain_chars as f64)
                .max(self.options.min_gain_percent / 100.0 * self.versions.sent()),
            max_freed: self.versions.max_freed(),
        }
    }

    fn take(&mut self, round: Round, visible: u32) {
        let touched: Vec<PartId> = round
            .plan
            .plan()
            .edits
            .iter()
            .flat_map(|edit| self.inputs.parts_of(edit.target()))
            .collect();
        compose::merge(self.inputs, visible, round.plan, self.draft);
        guard::remove_bound_thinking(self.inputs, visible, round.from, self.draft);
        for part in touched {
            if !self.draft.state(part).is_shown() {
                self.chain.forget(part);
            }
        }
    }
}

/// Characters that are sent of a part.
fn sent_part(draft: &Draft, weights: &[f64], at: usize) -> f64 {
    let part = PartId(u32::try_from(at).unwrap_or(u32::MAX));
    match draft.state(part) {
        PartState::Whole => weights[at],
        PartState::Gone => 0.0,
        PartState::Trimmed | PartState::Cleared => draft.chars(part) as f64,
    }
}

#[cfg(test)]
mod tests;
