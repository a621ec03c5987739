//! The tool calls of a pruned request, as hashes: those of the model's last turn, and those whose results
//! are not in what is sent.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use secateur_core::Limits;
use secateur_core::dialect::{self, Dialect};
use secateur_core::internal::edit::{Action, Effect};
use secateur_core::internal::view::{PartId, PartKind, Role, TurnId, View};
use secateur_core::report::Report;

/// Calls kept of one request.
const MAX_CALLS: usize = 1024;

/// The tool calls of one request, as hashes.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(super) last: Vec<u64>,
    pub(super) cut: HashSet<u64>,
    pub(super) turns: usize,
}

/// Cuts that leave what the model may ask for again in sight.
fn is_in_sight(effect: Effect) -> bool {
    matches!(
        effect,
        Effect::KeepsContent | Effect::RemovesUnused | Effect::Marks
    )
}

/// Reads the calls of a body that was pruned with this report; `None` where it cannot be read.
pub(crate) fn calls_of(body: &[u8], dialect: Dialect, report: &Report) -> Option<Calls> {
    let view = dialect::read(body, dialect, &Limits::default()).ok()?;
    let exchanges = view.exchanges();
    let is_call = |part: &PartId| view.part(*part).kind == PartKind::Call;
    let calls_in = |turn: TurnId| view.parts_of(turn).filter(is_call);
    let speaks = |turn: &TurnId| view.turn(*turn).role == Role::Assistant;
    let last = view.turn_ids().rev().find(speaks);
    let mut cut = HashSet::new();
    for edit in report
        .plan
        .edits
        .iter()
        .filter(|edit| !is_in_sight(edit.effect))
    {
        match &edit.action {
            Action::DropTurn(turn) => cut.extend(calls_in(*turn).map(|call| hashed(&view, call))),
            Action::Rewrite(part, _) | Action::DropPart(part) => {
                let call = exchanges.call_of(*part);
                cut.extend(call.map(|call| hashed(&view, call)));
            }
            Action::ReplaceInput(..)
            | Action::InsertTurn(..)
            | Action::Arrange(_)
            | Action::Mark(_) => {}
        }
        if cut.len() >= MAX_CALLS {
            break;
        }
    }
    Some(Calls {
        last: last
            .into_iter()
            .flat_map(calls_in)
            .map(|call| hashed(&view, call))
            .collect(),
        cut,
        turns: view.turns().len(),
    })
}

/// A call by its tool and its arguments as a JSON value, whatever their spelling.
fn hashed(view: &View<'_>, call: PartId) -> u64 {
    let args = view.args(call);
    let mut hasher = DefaultHasher::new();
    view.name(call).hash(&mut hasher);
    match serde_json::from_str::<serde_json::Value>(&args) {
        // Keys come sorted.
        Ok(value) => value.to_string().hash(&mut hasher),
        Err(_) => args.hash(&mut hasher),
    }
    hasher.finish()
}
