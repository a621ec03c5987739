//! The last check of a pruned body: it is read again, from its bytes alone.

use std::collections::BTreeMap;

use crate::output::check::{Rule, Violation, check, first_not_of_user};
use crate::read::error::ReadError;
use crate::read::view::View;
use crate::read::wire;
use secateur_json::Limits;

/// Why a pruned body is thrown away and the original goes out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// It cannot be read again.
    #[error("the pruned body cannot be read: {0}")]
    Unreadable(ReadError),
    /// It breaks a rule of its provider more often than the original did.
    #[error("the pruned body breaks a rule that the original did not: {}", .0.describe())]
    Unacceptable(Rule),
    /// Its list has another number of elements than the plan says.
    #[error("the pruned body has {found} messages where the plan leaves {expected}")]
    ItemCount {
        /// By the plan.
        expected: usize,
        /// In the output.
        found: usize,
    },
    /// Its system texts differ.
    #[error("the pruned body lost or changed a system text")]
    SystemChanged,
    /// It is not smaller.
    #[error("the pruned body is not smaller than the original")]
    NotSmaller,
}

/// What the plan's authors were allowed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowed {
    /// System texts may differ.
    pub(crate) edit_system: bool,
    /// The output may be as long as the input, in another order.
    pub(crate) reorder: bool,
    /// Bytes of markers by which the output may be longer.
    pub(crate) marker_bytes: usize,
}

/// Checks `output` against the view that it was made from.
pub(crate) fn verify(
    before: &View<'_>,
    expected_items: usize,
    output: &str,
    limits: &Limits,
    may: Allowed,
) -> Result<(), VerifyError> {
    let most = before.body().len() + may.marker_bytes;
    let is_smaller = output.len() < most;
    let is_as_long = output.len() == most && (may.reorder || may.marker_bytes > 0);
    if !is_smaller && !is_as_long {
        return Err(VerifyError::NotSmaller);
    }
    let after =
        wire::read(output.as_bytes(), before.dialect(), limits).map_err(VerifyError::Unreadable)?;
    let found = after.items().len();
    if found != expected_items {
        return Err(VerifyError::ItemCount {
            expected: expected_items,
            found,
        });
    }
    if !may.edit_system && !system_texts(before).eq(system_texts(&after)) {
        return Err(VerifyError::SystemChanged);
    }
    let keeps_user_first = before.dialect().facts().rules.user_stays_first;
    if keeps_user_first
        && first_not_of_user(&after).is_some()
        && first_not_of_user(before).is_none()
    {
        return Err(VerifyError::Unacceptable(Rule::FirstTurnNotUser));
    }
    let broken = check(&after);
    if !broken.is_empty() {
        let (broken, allowed) = (tally(&broken), tally(&check(before)));
        for (rule, count) in broken {
            if count > allowed.get(&rule).copied().unwrap_or(0) {
                return Err(VerifyError::Unacceptable(rule));
            }
        }
    }
    Ok(())
}

/// The system texts as written; of a block without text, all of it.
fn system_texts<'v>(view: &'v View<'_>) -> impl Iterator<Item = &'v str> {
    let outside = view
        .part_ids()
        .filter(|&part| view.part(part).turn.is_none());
    outside.map(|part| match view.literals(part) {
        [only] => only.text.raw(view.body()),
        _ => view.part(part).value.of(view.body()),
    })
}

fn tally(violations: &[Violation]) -> BTreeMap<Rule, usize> {
    let mut counts = BTreeMap::new();
    for violation in violations {
        *counts.entry(violation.rule).or_default() += 1;
    }
    counts
}
