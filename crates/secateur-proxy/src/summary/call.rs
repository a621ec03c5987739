//! One call to the upstream for a summary.

use std::time::Instant;

use bytes::Bytes;
use http::{HeaderValue, Request, header};
use http_body_util::{BodyExt, Full, Limited};
use secateur_core::Dialect;
use secateur_core::cost::Terms;
use secateur_core::mechanic::Mechanic;
use secateur_core::summary::{SummaryKey, WantedSummary};
use secateur_ledger::moment::now;
use secateur_ledger::{Purpose, Spending};

use super::{CallContext, SummaryOutcome, wire};
use crate::config::{Provider, Workload};
use crate::upstream::OutBody;
use crate::usage::UsageReader;
use crate::wire::encoding::Encoding;

/// Larger answers are no summaries.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Makes the body of a call and puts it into `request`, which has the target and the credentials of
/// the request that wants the summary.
pub(crate) fn summary_request(
    mut request: Request<OutBody>,
    dialect: Dialect,
    provider: Provider,
    wanted: &WantedSummary,
    workload: &Workload,
) -> Option<Request<OutBody>> {
    let body = wire::body(dialect, provider, wanted, workload.summary.max_tokens)?;
    *request.body_mut() = OutBody::Full(Full::new(Bytes::from(body.to_string())));
    let headers = request.headers_mut();
    // They belong to the body that the client sent.
    for name in ["content-encoding", "idempotency-key", "accept"] {
        headers.remove(name);
    }
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    headers.insert(
        header::ACCEPT_ENCODING,
        HeaderValue::from_static("identity"),
    );
    if let Some(query) = request.uri().query().filter(|query| query.contains("alt=")) {
        let kept: Vec<&str> = query
            .split('&')
            .filter(|pair| !pair.starts_with("alt="))
            .collect();
        let path = request.uri().path();
        let target = match kept.is_empty() {
            true => path.to_owned(),
            false => format!("{path}?{}", kept.join("&")),
        };
        let mut parts = request.uri().clone().into_parts();
        parts.path_and_query = Some(target.parse().ok()?);
        *request.uri_mut() = http::Uri::from_parts(parts).ok()?;
    }
    Some(request)
}

/// Makes the call and leaves its traces.
pub(super) async fn summarize(
    context: &CallContext,
    workload: &Workload,
    key: SummaryKey,
    model: &str,
    request: Request<OutBody>,
) -> Result<String, SummaryOutcome> {
    let started = Instant::now();
    let mut reader = UsageReader::new(Some("application/json"), Encoding::Identity);
    let answered = tokio::time::timeout(workload.summary.timeout, ask(context, request)).await;
    let made = match answered {
        Err(_) => Err(SummaryOutcome::Late),
        Ok(None) => Err(SummaryOutcome::Failed),
        Ok(Some(answer)) => {
            if let Some(reader) = &mut reader {
                reader.feed(&answer);
            }
            let text = serde_json::from_slice(&answer)
                .ok()
                .and_then(|answer| wire::text(context.dialect, &answer));
            text.ok_or(SummaryOutcome::Failed)
        }
    };
    let usage = reader.as_mut().and_then(UsageReader::usage);
    let result = match &made {
        Ok(_) => SummaryOutcome::Made,
        Err(outcome) => *outcome,
    };
    context
        .surfaces
        .summary_call(&workload.name, result, usage.as_ref(), started.elapsed());
    // A call that did not reach the model, or that it refused, is not billed.
    if usage.is_some() || result == SummaryOutcome::Late {
        let prices = workload
            .policy
            .as_deref()
            .map_or_else(
                || Terms::of(Some(model), Some(context.dialect)),
                |policy| policy.terms(Some(model), Some(context.dialect)),
            )
            .prices;
        let usd = usage
            .zip(prices)
            .and_then(|(usage, prices)| usage.usd(&prices));
        context.surfaces.spent(Spending {
            id: format!("{}:summary:{key}", context.request),
            at: now(),
            purpose: Purpose::Summary,
            request: context.request.clone(),
            workload: workload.name.to_string(),
            stack: Mechanic::M7.name().to_owned(),
            model: Some(model.to_owned()),
            key: context.key.as_deref().map(str::to_owned),
            usd,
        });
    }
    made
}

/// The answer's body, where the upstream says that all is well.
async fn ask(context: &CallContext, request: Request<OutBody>) -> Option<Bytes> {
    let response = context.client.send(request).await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES);
    Some(body.collect().await.ok()?.to_bytes())
}
