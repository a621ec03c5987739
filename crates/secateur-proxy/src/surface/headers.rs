//! The headers that the proxy adds to a response.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::audit::{AuditEvent, Mechanic};

/// Names the request in logs and the audit.
pub(crate) const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-secateur-request-id");
/// The mechanics that fired.
pub(crate) const STACK_HEADER: HeaderName = HeaderName::from_static("x-secateur-stack");
/// What was saved.
pub(crate) const RECEIPT_HEADER: HeaderName = HeaderName::from_static("x-secateur-receipt");
/// On every response to a request that M7 pruned.
pub(crate) const PRUNED_HEADER: HeaderName = HeaderName::from_static("x-tessera-context-pruned");

/// Adds what is known when the response's head goes out.
pub(crate) fn stamp(headers: &mut HeaderMap, event: &AuditEvent) {
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set(REQUEST_ID_HEADER, &event.id);
    if event.steps.is_empty() && event.failed_open.is_none() {
        return;
    }
    set(STACK_HEADER, &event.stack_name());
    if let (Some(before), Some(after)) = (event.chars_before, event.chars_after) {
        let saved = before.saturating_sub(after);
        set(
            RECEIPT_HEADER,
            &format!("chars_before={before},chars_after={after},chars_saved={saved}"),
        );
    }
    if let Some(report) = event
        .report
        .as_deref()
        .filter(|_| event.fired(Mechanic::M7))
    {
        let (removed, kept) = (report.turns_removed, report.rag_kept);
        set(
            PRUNED_HEADER,
            &format!("turns_removed={removed},rag_kept={kept}"),
        );
    }
}
