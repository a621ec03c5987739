//! What was done to a request, for people and machines. Holds no prompt text.

use serde::Serialize;

use crate::cadence::rounds::Account;
use crate::cost::Terms;
pub use crate::cost::cache::{CacheHit, Cached, Covered};
use crate::output::splice::SpliceError;
use crate::output::verify::VerifyError;
use crate::plan::edit::{Action, CutReason, Edit, Plan, Skip, SkipReason, StrategyId, Target};
use crate::plan::mechanic::{Claim, Mechanic, MechanicSkip};
use crate::plan::recall_id::RecallId;
use crate::plan::summary::SummaryKey;
use crate::policy::Policy;
use crate::read::dialect::Dialect;
use crate::read::error::ReadError;
use crate::read::view::{PartId, Role, View};

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "detail")]
#[non_exhaustive]
pub enum Verdict {
    /// The output is smaller than the input (or as long, with chunks in another order).
    Pruned,
    /// The output is the input with cache markers.
    Marked,
    /// There was nothing to do: the output is the input.
    Unchanged,
    /// Something was in doubt: the output is the input.
    FailedOpen(String),
}

/// Why the engine gave up on a body. The original goes out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The edits did not fit together.
    #[error(transparent)]
    Splice(#[from] SpliceError),
    /// The result did not hold up.
    #[error(transparent)]
    Verify(#[from] VerifyError),
}

/// Sizes of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Size {
    /// Bytes of the body.
    pub bytes: usize,
    /// Characters of the body.
    pub chars: usize,
    /// Messages (elements of the list of turns).
    pub messages: usize,
}

/// What was done to a request and why. Holds no prompt text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// How it ended.
    pub verdict: Verdict,
    /// The wire format, once known.
    pub dialect: Option<Dialect>,
    /// The model, where the body names one.
    pub model: Option<String>,
    /// The mechanics that changed the body, sorted.
    pub stack: Vec<&'static str>,
    /// Where the untouched prefix ends: the byte of the first edit.
    pub first_edit_at: Option<usize>,
    /// The input.
    pub before: Size,
    /// The output.
    pub after: Size,
    /// How many turns were dropped.
    pub turns_removed: usize,
    /// How many RAG chunks stay, in the contexts that were ranked.
    pub rag_kept: usize,
    /// How many RAG chunks were dropped.
    pub rag_dropped: usize,
    /// What the conversation cost so far, with and without, if it is pruned in rounds.
    pub account: Option<Account>,
    /// What the request's `anthropic-beta` header must carry for this body.
    pub beta: Option<&'static str>,
    /// What the provider's cache holds of it, if nothing has expired.
    pub cached: Cached,
    /// Bytes of the input after the list of turns: the system prompt and tools may be there, which a
    /// prompt has before all turns.
    #[serde(skip)]
    pub bytes_after_turns: usize,
    /// The model's prices and cache rules.
    #[serde(skip)]
    pub terms: Terms,
    /// What M3 did; `None` unless it changed the body.
    pub compress: Option<Compress>,
    /// Who claimed the request, once it was read.
    pub claim: Option<Claim>,
    /// The mechanics that stayed out, with their reasons.
    pub mechanics: Vec<MechanicSkip>,
    /// The keys of summaries that are missing.
    pub missing_summaries: Vec<SummaryKey>,
    /// Keys of the policy that are accepted and have no effect.
    pub ignored_keys: Vec<&'static str>,
    /// What was cut, where, by whom and why.
    pub cuts: Vec<Cut>,
    /// What was left alone, where, by whom and why.
    pub left: Vec<Skipped>,
    /// The same as edits and skips, for programs that hold the view.
    #[serde(skip)]
    pub plan: Plan,
}

/// What M3 did to a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Compress {
    /// Characters of the incoming body.
    pub chars_before: usize,
    /// Characters of the body as sent.
    pub chars_after: usize,
    /// Whether system texts were in reach.
    pub compress_system: bool,
    /// Whether user and assistant texts were in reach.
    pub compress_user_turns: bool,
}

impl Compress {
    /// Characters saved.
    #[must_use]
    pub fn chars_saved(&self) -> usize {
        self.chars_before.saturating_sub(self.chars_after)
    }

    /// Share of the characters saved, in percent.
    #[must_use]
    pub fn pct_saved(&self) -> f64 {
        // A body that M3 changed is not empty.
        self.chars_saved() as f64 * 100.0 / self.chars_before.max(1) as f64
    }
}

/// A place in the list of turns. All counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Place {
    /// Element of the list (`messages[3]`); `None` for the request or the system prompt.
    pub message: Option<usize>,
    /// Which part of its turn, where it is one part.
    pub part: Option<usize>,
}

/// One edit as it is shown to people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Cut {
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// The role of the turn.
    pub role: Option<Role>,
    /// What was done.
    pub action: &'static str,
    /// By which strategy.
    pub strategy: StrategyId,
    /// Why.
    pub why: CutReason,
    /// Characters of text before.
    pub chars_before: usize,
    /// Characters of text afterwards.
    pub chars_after: usize,
    /// The id of the text that was cut, if the policy asks for ids.
    pub recall: Option<RecallId>,
}

/// One skip as it is shown to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Skipped {
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// By which strategy; `None` for the engine itself.
    pub strategy: Option<StrategyId>,
    /// Why.
    pub reason: SkipReason,
}

fn place(view: &View<'_>, target: Target) -> (Place, Option<Role>) {
    let (turn, part) = match target {
        Target::Request => (None, None),
        Target::Turn(turn) => (Some(turn), None),
        Target::Part(part) => (view.part(part).turn, Some(part)),
    };
    let of_turn = |part: PartId| {
        let first = turn.and_then(|turn| view.parts_of(turn).next());
        first.map(|first| part.index() - first.index())
    };
    let place = Place {
        message: turn.and_then(|turn| view.item_index(turn)),
        part: part.and_then(of_turn),
    };
    (place, turn.map(|turn| view.turn(turn).role))
}

impl Cut {
    fn of(view: &View<'_>, edit: &Edit, recall: Option<RecallId>) -> Self {
        let (place, role) = place(view, edit.target());
        Self {
            place,
            role,
            action: edit.action.name(),
            strategy: edit.strategy,
            why: edit.why,
            chars_before: edit.chars_before,
            chars_after: edit.chars_after,
            recall,
        }
    }
}

impl Skipped {
    fn of(view: &View<'_>, skip: &Skip) -> Self {
        Self {
            place: place(view, skip.target).0,
            strategy: skip.strategy,
            reason: skip.reason,
        }
    }
}

/// What the engine found out and decided about a body that it read.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) claim: Claim,
    pub(crate) mechanics: Vec<MechanicSkip>,
    pub(crate) account: Option<Account>,
    pub(crate) beta: Option<&'static str>,
    pub(crate) first_edit_at: Option<usize>,
    pub(crate) cached: Cached,
    pub(crate) terms: Terms,
    pub(crate) plan: Plan,
    /// For each edit of the plan: the id that stands for what it cut, where the policy gives out ids.
    pub(crate) recall_ids: Vec<Option<RecallId>>,
}

impl Report {
    /// The report on a body. `after`: the size of the verified output, if it is not the input.
    pub(crate) fn of(
        view: &View<'_>,
        findings: Findings,
        after: Option<Size>,
        policy: &Policy,
    ) -> Self {
        let plan = findings.plan;
        let before = Size {
            bytes: view.body().len(),
            chars: view.body_chars(),
            messages: view.items().len(),
        };
        let winner = findings.claim.winner;
        let is_pruned = after.is_some() && plan.edits.iter().any(Edit::changes_content);
        let (rag_kept, rag_dropped) = match after {
            Some(_) => count_chunks(&plan),
            None => (0, 0),
        };
        let list_end = view.list().map_or(before.bytes, |list| list.end as usize);
        let ids = findings
            .recall_ids
            .into_iter()
            .chain(std::iter::repeat(None));
        let cuts = plan.edits.iter().zip(ids);
        Self {
            verdict: match after {
                None => Verdict::Unchanged,
                Some(_) if is_pruned => Verdict::Pruned,
                Some(_) => Verdict::Marked,
            },
            dialect: Some(view.dialect()),
            model: view.model().map(std::borrow::Cow::into_owned),
            stack: match winner {
                Some(winner) if is_pruned => vec![winner.name()],
                _ => Vec::new(),
            },
            first_edit_at: findings.first_edit_at,
            before,
            after: after.unwrap_or(before),
            turns_removed: after.map_or(0, |_| count_turns(&plan)),
            rag_kept,
            rag_dropped,
            account: findings.account,
            beta: findings.beta,
            cached: findings.cached,
            bytes_after_turns: before.bytes - list_end,
            terms: findings.terms,
            compress: after
                .filter(|_| winner == Some(Mechanic::M3))
                .map(|after| Compress {
                    chars_before: before.chars,
                    chars_after: after.chars,
                    compress_system: policy.m3.compress_system_enabled,
                    compress_user_turns: policy.m3.compress_user_turns_enabled,
                }),
            claim: Some(findings.claim),
            mechanics: findings.mechanics,
            missing_summaries: plan.wants.iter().map(|want| want.key).collect(),
            ignored_keys: policy.ignored_keys(),
            cuts: cuts.map(|(edit, id)| Cut::of(view, edit, id)).collect(),
            left: plan
                .skips
                .iter()
                .map(|skip| Skipped::of(view, skip))
                .collect(),
            plan,
        }
    }

    /// The report on a body that the engine gave up on.
    pub(crate) fn unread(body: &[u8], error: &EngineError) -> Self {
        let size = Size {
            bytes: body.len(),
            ..Size::default()
        };
        Self {
            verdict: Verdict::FailedOpen(error.to_string()),
            dialect: None,
            model: None,
            stack: Vec::new(),
            first_edit_at: None,
            before: size,
            after: size,
            turns_removed: 0,
            rag_kept: 0,
            rag_dropped: 0,
            account: None,
            beta: None,
            cached: Cached::default(),
            bytes_after_turns: 0,
            terms: Terms::of(None, None),
            compress: None,
            claim: None,
            mechanics: Vec::new(),
            missing_summaries: Vec::new(),
            ignored_keys: Vec::new(),
            cuts: Vec::new(),
            left: Vec::new(),
            plan: Plan::default(),
        }
    }
}

/// How many turns the plan drops.
fn count_turns(plan: &Plan) -> usize {
    let drops = plan
        .edits
        .iter()
        .filter(|edit| matches!(edit.action, Action::DropTurn(_)));
    drops.count()
}

/// How many RAG chunks the plan keeps and drops. An edit that did not come about drops none.
fn count_chunks(plan: &Plan) -> (usize, usize) {
    let edited = |part: PartId| {
        let is_it = |edit: &Edit| edit.target() == Target::Part(part) && edit.reorders();
        plan.edits.iter().any(is_it)
    };
    plan.chunks.iter().fold((0, 0), |(kept, dropped), count| {
        if count.dropped > 0 && edited(count.part) {
            (kept + count.kept, dropped + count.dropped)
        } else {
            (kept + count.kept + count.dropped, dropped)
        }
    })
}
