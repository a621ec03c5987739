//! The headers that the proxy adds to a response.

use http::{HeaderMap, HeaderName, HeaderValue};

use secateur_core::report::Report;

use crate::audit::{Mechanic, Untouched, stack_name};
use crate::wire::headers::WORKLOAD_HEADER;

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

/// What is known of a request when the response's head goes out.
pub(crate) struct HeadFacts<'f> {
    pub(crate) id: &'f str,
    pub(crate) workload: &'f str,
    /// Why it passed untouched, where its address is the reason.
    pub(crate) untouched: Option<&'f Untouched>,
    /// Whether the mechanics were to read it.
    pub(crate) is_read: bool,
    /// The mechanics that changed it, sorted.
    pub(crate) stack: &'f [&'static str],
    /// Characters of the body that came in and of the one that went out.
    pub(crate) chars: Option<(u64, u64)>,
    /// What the engine did.
    pub(crate) report: Option<&'f Report>,
}

/// Adds what is known when the response's head goes out.
pub(crate) fn stamp(headers: &mut HeaderMap, facts: &HeadFacts<'_>) {
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set(REQUEST_ID_HEADER, facts.id);
    if let Some(untouched) = facts.untouched {
        set(WORKLOAD_HEADER, facts.workload);
        set(UNTOUCHED_HEADER, untouched.name());
    }
    if !facts.is_read {
        return;
    }
    set(STACK_HEADER, &stack_name(facts.stack));
    if let Some((before, after)) = facts.chars {
        let saved = before.saturating_sub(after);
        set(
            RECEIPT_HEADER,
            &format!("chars_before={before},chars_after={after},chars_saved={saved}"),
        );
    }
    let is_pruned = facts.stack.contains(&Mechanic::M7.name());
    if let Some(report) = facts.report.filter(|_| is_pruned) {
        let (removed, kept) = (report.turns_removed, report.rag_kept);
        set(
            PRUNED_HEADER,
            &format!("turns_removed={removed},rag_kept={kept}"),
        );
    }
}

#[cfg(test)]
mod tests {
    use secateur_core::policy::Policy;
    use secateur_core::{Request, prune};

    use super::*;
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
        let facts = HeadFacts {
            id: "r",
            workload: "w",
            untouched: None,
            is_read: true,
            stack: &["m7"],
            chars: None,
            report: Some(&report),
        };
        let mut headers = HeaderMap::new();
        stamp(&mut headers, &facts);
        assert_eq!(headers[PRUNED_HEADER], expected);
    }
}
