//! The flow: read, plan, guard, lower, apply, verify. Fail-open is one `match`, here.

use std::borrow::Cow;

use crate::cadence::rounds::{self, Account};
use crate::cadence::versions::Reads;
use crate::cadence::{cache_use, compose};
use crate::cost::cache::{self, MarkerPattern, Patterns};
use crate::cost::{Terms, models};
use crate::output::lower::Lowering;
use crate::output::recall::Recall;
use crate::output::sealed::Sealed;
use crate::output::splice::Splices;
use crate::output::thinking_escape::{self, Escape, ThinkingBinding};
use crate::output::verify::{Allowed, verify};
use crate::plan::context::ModelFacts;
use crate::plan::draft::Draft;
use crate::plan::edit::{Edit, Plan, SkipReason, Target};
use crate::plan::guard;
use crate::plan::inputs::PlanInputs;
use crate::plan::mechanic::{self, Claim, Mechanic, MechanicSkip};
use crate::plan::summary::WantedSummary;
use crate::plan::timeline::{Timeline, newest_turn};
use crate::policy::{Cadence, Policy};
use crate::read::dialect::Dialect;
use crate::read::view::{TurnId, View};
use crate::read::wire;
use crate::report::{EngineError, Findings, Report, Size};
use crate::request::Request;

/// What goes out, and what was done.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome<'a> {
    /// The output. Borrowed: it is the input, the same bytes.
    pub body: Cow<'a, [u8]>,
    /// What was done.
    pub report: Report,
    /// Why the engine gave up, if it did.
    pub error: Option<EngineError>,
    /// Summaries that are missing, where [`Request::summaries`] was given. Once they are there, the
    /// same request comes out with them.
    pub wanted: Vec<WantedSummary>,
}

/// Prunes one body. Never fails: on any doubt the original goes out, with the reason.
#[must_use]
pub fn prune<'a>(body: &'a [u8], request: &Request<'_>, policy: &Policy) -> Outcome<'a> {
    match try_prune(body, request, policy) {
        Ok(outcome) => outcome,
        Err(error) => Outcome {
            body: Cow::Borrowed(body),
            report: Report::unread(body, &error),
            error: Some(error),
            wanted: Vec::new(),
        },
    }
}

fn try_prune<'a>(
    body: &'a [u8],
    request: &Request<'_>,
    policy: &Policy,
) -> Result<Outcome<'a>, EngineError> {
    let Applied {
        view,
        findings,
        output,
        items_after,
    } = apply(body, request, policy)?;
    let plan = &findings.plan;
    let wanted = match request.summaries {
        Some(_) => plan
            .wants
            .iter()
            .map(|want| want.write_out(&view))
            .collect(),
        None => Vec::new(),
    };
    let output = match output {
        Cow::Borrowed(_) => None,
        Cow::Owned(output) => {
            let may = Allowed {
                edit_system: findings.claim.winner == Some(Mechanic::M3),
                reorder: plan.edits.iter().any(Edit::reorders),
                marker_bytes: plan.edits.iter().map(Edit::may_add_bytes).sum(),
            };
            verify(&view, items_after, &output, &request.limits, may)?;
            Some(output)
        }
    };
    let after = output.as_ref().map(|output| Size {
        bytes: output.len(),
        chars: secateur_json::strings::count_chars(output.as_bytes()),
        messages: items_after,
    });
    Ok(Outcome {
        report: Report::of(&view, findings, after, policy),
        body: output.map_or(Cow::Borrowed(body), |output| {
            Cow::Owned(output.into_bytes())
        }),
        error: None,
        wanted,
    })
}

/// A body with its plan carried out and not verified yet.
#[derive(Debug)]
#[doc(hidden)]
pub struct Applied<'a> {
    view: View<'a>,
    findings: Findings,
    output: Cow<'a, str>,
    items_after: usize,
}

/// Read, plan, guard, lower and apply: everything but verification and the report. Public for benchmarks.
///
/// # Errors
/// What makes [`prune`] fail open before it verifies.
#[doc(hidden)]
pub fn apply<'a>(
    body: &'a [u8],
    request: &Request<'_>,
    policy: &Policy,
) -> Result<Applied<'a>, EngineError> {
    let dialect = match request.dialect {
        Some(dialect) => dialect,
        None => wire::detect(body, &request.limits)?,
    };
    let view = wire::read(body, dialect, &request.limits)?;
    let caching = Caching::of(&view, request, policy);
    let Decision { claim, planned } = decide(&view, request, policy, &caching.patterns);
    let Planned { plan, account } = planned;
    let recall = match claim.winner {
        Some(Mechanic::M7) => policy.recall,
        _ => Recall::Off,
    };
    let mut sealed = Sealed::new(&view, plan, recall);
    let mut lowering = sealed.lower(&view);
    let reads = caching.reads(&view, sealed.plan(), account, claim.winner);
    for mark in caching.marks(&view, &reads, &lowering) {
        sealed.add(&mut lowering, mark, None);
    }
    let mut lowered = lowering.finish();
    let (plan, ids) = sealed.into_parts();
    let escape = plan.drops_block.then(|| Escape::of(view.body())).flatten();
    let insert = escape.and_then(|escape| escape.splice(&mut lowered.fragments));
    lowered.splices.extend(insert);
    let splices = Splices::new(view.body(), lowered.splices, lowered.fragments)?;
    let findings = Findings {
        mechanics: skips(&view, &claim),
        claim,
        account,
        beta: escape.map(|_| thinking_escape::BETA),
        first_edit_at: splices.first_edit_at().map(|at| at as usize),
        cached: cache_use::cached(
            &view,
            &caching.patterns,
            &splices,
            &reads,
            caching.has_earlier,
        ),
        terms: caching.terms,
        plan,
        recall_ids: ids,
    };
    let output = splices.apply(view.body());
    Ok(Applied {
        view,
        findings,
        output,
        items_after: lowered.items_after,
    })
}

/// How the provider caches the request: its model's rules, and who marks what.
struct Caching {
    terms: Terms,
    patterns: Patterns,
    /// Whether the body shows an earlier request.
    has_earlier: bool,
}

impl Caching {
    fn of(view: &View<'_>, request: &Request<'_>, policy: &Policy) -> Self {
        let body_model = view.model();
        let model = request.model.or(body_model.as_deref());
        let mut terms = policy.terms(model, Some(view.dialect()));
        let markers = cache::markers(view, terms.rules.kind);
        let ratio = models::chars_per_token(model);
        let client = MarkerPattern::of(view, terms.rules, terms.cache, ratio, &markers);
        terms.set_cache_prices(client.prices);
        let has_earlier = newest_turn(view).is_some();
        let tokens = (view.body().len() as f64 / ratio) as usize;
        // A first request would pay for an entry that nobody may read.
        let pays = has_earlier && terms.rules.is_cacheable(tokens) && !view.history_is_elsewhere();
        let own = (policy.cache.mark && pays)
            .then(|| MarkerPattern::of_own_marks(view, &client, &markers))
            .flatten();
        Self {
            terms,
            patterns: Patterns::new(view, client, own),
            has_earlier,
        }
    }

    /// What the request reads from the cache.
    fn reads(
        &self,
        view: &View<'_>,
        plan: &Plan,
        account: Option<Account>,
        winner: Option<Mechanic>,
    ) -> Reads {
        if let Some(account) = account.filter(|_| !self.patterns.are_assumed()) {
            return account.reads;
        }
        let first_edit = plan
            .edits
            .iter()
            .map(|edit| guard::position(view, edit))
            .min();
        // M3 does to a text what it did to it before.
        let first_edit = first_edit.filter(|_| winner != Some(Mechanic::M3));
        cache_use::reads_from_scratch(view, &Timeline::of(view), &self.patterns, first_edit)
    }

    /// The markers that the engine adds. An anchor only where the output stays smaller than the input.
    fn marks(&self, view: &View<'_>, reads: &Reads, lowering: &Lowering<'_, '_>) -> Vec<Edit> {
        let anchor = self.patterns.sent().anchor.as_ref().zip(reads.with.anchor);
        let anchor = anchor.map(|(anchor, block)| cache_use::anchor_edit(view, anchor, block));
        let fits = |edit: &Edit| edit.bytes_added() < lowering.bytes_saved();
        let mut marks: Vec<Edit> = anchor.filter(fits).into_iter().collect();
        if let Some(own) = &self.patterns.own {
            let last_tool = cache::last_tool(view.body());
            marks.extend(cache_use::own_marks(view, own, last_tool));
        }
        marks
    }
}

/// Who claims a request, and what is then done to it.
struct Decision {
    claim: Claim,
    planned: Planned,
}

/// A plan, and what the conversation cost so far if it is pruned in rounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Planned {
    /// What to cut.
    pub plan: Plan,
    /// What it cost.
    pub account: Option<Account>,
}

/// The plan for a body that was read: gate, strategies, guards.
#[must_use]
pub fn plan(view: &View<'_>, request: &Request<'_>, policy: &Policy) -> Planned {
    let caching = Caching::of(view, request, policy);
    decide(view, request, policy, &caching.patterns).planned
}

fn decide(
    view: &View<'_>,
    request: &Request<'_>,
    policy: &Policy,
    patterns: &Patterns,
) -> Decision {
    let is_here = !view.history_is_elsewhere();
    let m7_fits = policy.m7.enabled && is_here && m7_is_eligible(view, policy);
    let m3_may = policy.m3.is_active() && is_here;
    // Only a mechanic that may run pays for the ties between turns.
    let ready = (m7_fits || m3_may).then(|| {
        (
            Draft::new(view),
            PlanInputs::new(view, model_facts(view, request, policy), request.summaries),
        )
    });
    let m3_fits = m3_may
        && ready
            .as_ref()
            .is_some_and(|(draft, inputs)| policy.m3.is_eligible(&inputs.present(draft)));
    let opted_in = request.others.opted_in;
    let eligible = request.others.eligible;
    let claim = mechanic::claim(
        opted_in
            .with(Mechanic::M7, policy.m7.enabled)
            .with(Mechanic::M3, policy.m3.is_active()),
        eligible
            .with(Mechanic::M7, m7_fits)
            .with(Mechanic::M3, m3_fits),
    );
    let planned = match (claim.winner, ready) {
        (Some(Mechanic::M7), Some((draft, inputs))) => {
            prune_context(&inputs, policy, patterns, draft)
        }
        (Some(Mechanic::M3), Some((mut draft, inputs))) => {
            compose::run(&inputs, &[&policy.m3], &mut draft);
            Planned {
                plan: draft.into_plan(),
                account: None,
            }
        }
        _ => {
            let mut plan = Plan::default();
            let m7 = skips(view, &claim)
                .into_iter()
                .find(|skip| skip.mechanic == Mechanic::M7);
            if let Some(skip) = m7 {
                plan.leave(None, Target::Request, skip.reason);
            }
            Planned {
                plan,
                account: None,
            }
        }
    };
    Decision { claim, planned }
}

/// M7 at the policy's cadence.
fn prune_context(
    inputs: &PlanInputs<'_, '_>,
    policy: &Policy,
    patterns: &Patterns,
    mut draft: Draft,
) -> Planned {
    let strategies = policy.strategies();
    let account = match policy.cadence {
        Cadence::EveryRequest => {
            compose::run(inputs, &strategies, &mut draft);
            None
        }
        Cadence::Rounds => {
            let is_eligible = |visible: u32| m7_was_eligible(inputs.view, policy, visible);
            Some(rounds::fold(
                inputs,
                patterns,
                &policy.rounds,
                is_eligible,
                &strategies,
                &mut draft,
            ))
        }
    };
    let mut plan = draft.into_plan();
    if plan.edits.is_empty() && plan.skips.is_empty() {
        plan.leave(None, Target::Request, SkipReason::NothingToCut);
    }
    Planned { plan, account }
}

/// Why each mechanic stayed out. What the provider holds is a reason of its own.
fn skips(view: &View<'_>, claim: &Claim) -> Vec<MechanicSkip> {
    let mut skips = claim.skips();
    for skip in &mut skips {
        let is_ours = matches!(skip.mechanic, Mechanic::M3 | Mechanic::M7);
        if is_ours && skip.reason == SkipReason::NotEligible && view.history_is_elsewhere() {
            skip.reason = SkipReason::HistoryIsElsewhere;
        }
    }
    skips
}

fn model_facts(view: &View<'_>, request: &Request<'_>, policy: &Policy) -> ModelFacts {
    let body_model = view.model();
    let name = request.model.or(body_model.as_deref());
    let thinking_is_bound = name.is_some_and(models::thinking_is_bound);
    ModelFacts {
        window_tokens: policy.window_tokens(name),
        thinking_is_bound,
        may_drop_block: thinking_is_bound
            && policy.thinking_binding == ThinkingBinding::DropBlock
            && view.dialect() == Dialect::AnthropicMessages
            && Escape::of(view.body()).is_some(),
    }
}

/// More messages or more characters than the thresholds. A body cannot have more characters than
/// bytes, so small ones are not counted.
fn m7_is_eligible(view: &View<'_>, policy: &Policy) -> bool {
    let limit = policy.m7.min_body_chars;
    view.turns().len() > policy.m7.min_messages
        || (view.body().len() > limit && view.body_chars() > limit)
}

/// Whether the request with the first `visible` turns was eligible. What is outside the list of
/// turns is taken to have been there from the start.
fn m7_was_eligible(view: &View<'_>, policy: &Policy, visible: u32) -> bool {
    let Some(last) = visible.checked_sub(1).map(TurnId) else {
        return false;
    };
    let list = view.list().unwrap_or_default();
    let outside = view.body().len() - list.len();
    let inside = view.turn_span(last).end.saturating_sub(list.start) as usize;
    visible as usize > policy.m7.min_messages || outside + inside > policy.m7.min_body_chars
}
