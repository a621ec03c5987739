//! Which requests are alike, told with a look at few of their names: what is an enum is compared as one, and what many
//! requests share is the same in memory. Each thread remembers for itself.

use std::cell::RefCell;
use std::sync::Arc;

use secateur_core::Dialect;
use secateur_ledger::Likeness;

use crate::audit::{AuditEvent, Ended, FailOpen};
use crate::config::Provider;

/// Most that a thread remembers.
const MAX_KINDS: usize = 16;

type Marks = (
    u16,
    Option<u16>,
    [bool; 3],
    Provider,
    Option<Dialect>,
    Ended,
    Option<FailOpen>,
);

fn marks(event: &AuditEvent) -> Marks {
    (
        event.status,
        event.upstream_status,
        [event.is_stream, event.held_out, event.bypassed],
        event.provider,
        event.dialect,
        event.ended,
        event.failed_open,
    )
}

struct Kind {
    marks: Marks,
    workload: Arc<str>,
    key: Option<Arc<str>>,
    model: Option<String>,
    routed_to: Option<String>,
    likeness: Likeness,
}

fn is_same(one: &Arc<str>, other: &Arc<str>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}

impl Kind {
    fn new(event: &AuditEvent, likeness: Likeness) -> Self {
        Self {
            marks: marks(event),
            workload: Arc::clone(&event.workload),
            key: event.key.clone(),
            model: event.model.clone(),
            routed_to: event.routed_to.clone(),
            likeness,
        }
    }

    fn is_of(&self, event: &AuditEvent) -> bool {
        let is_same_key = match (&self.key, &event.key) {
            (Some(one), Some(other)) => is_same(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        self.marks == marks(event)
            && is_same(&self.workload, &event.workload)
            && is_same_key
            && self.model == event.model
            && self.routed_to == event.routed_to
    }
}

thread_local! {
    /// The one that was found last first.
    static KINDS: RefCell<Vec<Kind>> = const { RefCell::new(Vec::new()) };
}

/// Shows what a plain event has in common with others; `new` says it for the first of them.
pub(super) fn with_likeness(
    event: &AuditEvent,
    new: impl FnOnce() -> Likeness,
    show: impl FnOnce(&Likeness),
) {
    KINDS.with_borrow_mut(|kinds| {
        match kinds.iter().position(|kind| kind.is_of(event)) {
            Some(at) => kinds.swap(0, at),
            None => {
                kinds.truncate(MAX_KINDS - 1);
                kinds.insert(0, Kind::new(event, new()));
            }
        }
        if let Some(kind) = kinds.first() {
            show(&kind.likeness);
        }
    });
}
