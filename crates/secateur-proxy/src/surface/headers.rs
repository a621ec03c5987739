//! The headers that the proxy adds to a response.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::audit::{AuditEvent, Mechanic};
use crate::route::WORKLOAD_HEADER;

/// Names the request in logs and the audit.
pub(crate) const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-secateur-request-id");
/// The mechanics that fired.
pub(crate) const STACK_HEADER: HeaderName = HeaderName::from_static("x-secateur-stack");
/// What was saved.
pub(crate) const RECEIPT_HEADER: HeaderName = HeaderName::from_static("x-secateur-receipt");
/// Why a request passed untouched, where its address is the reason.
pub(crate) const UNTOUCHED_HEADER: HeaderName = HeaderName::from_static("x-secateur-untouched");
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
    if let Some(untouched) = &event.untouched {
        set(WORKLOAD_HEADER, &event.workload);
        set(UNTOUCHED_HEADER, untouched.name());
    }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use secateur_core::policy::Policy;
    use secateur_core::{Request, prune};

    use super::*;
    use crate::config::Provider;

    #[test]
    fn the_header_tells_how_many_chunks_of_a_rag_context_stay() {
        let chunk = |text: &str| format!("<document>{}</document>", format!("{text} ").repeat(40));
        let chunks = [
            "The lighthouse of Alexandria was built by Sostratus of Cnidus.",
            "Bread is baked from flour, water and salt.",
            "The river Oder flows into the Baltic Sea.",
            "A bicycle has two wheels and a chain.",
            "Tomatoes grow best in full sun.",
            "Copper conducts electricity well.",
        ];
        let context: String = chunks.iter().map(|text| chunk(text)).collect();
        let question =
            format!("<documents>{context}</documents>\nWho built the lighthouse of Alexandria?");
        let body = serde_json::json!({
            "model": "gpt-5", "messages": [{ "role": "user", "content": question }] });
        // A limit, so that some go whatever the chunks are scored by.
        let settings = ["m7.min_body_chars=100", "low-rank-chunks.max_keep=2"];
        let settings = settings.map(str::to_owned);
        let policy = Policy::resolve(Some("tessera"), None, &settings).unwrap();
        let report = prune(body.to_string().as_bytes(), &Request::default(), &policy).report;
        assert!(report.rag_dropped > 0, "{:?}", report.left);
        let expected = format!("turns_removed=0,rag_kept={}", report.rag_kept);
        let mut event = AuditEvent::new("r".into(), "w".into(), Provider::Openai, None);
        event.stack = vec!["m7"];
        event.steps = vec![crate::audit::Step {
            mechanic: Mechanic::M7,
            skipped: None,
        }];
        event.report = Some(Arc::new(report));
        let mut headers = HeaderMap::new();
        stamp(&mut headers, &event);
        assert_eq!(headers[PRUNED_HEADER], expected);
    }
}
