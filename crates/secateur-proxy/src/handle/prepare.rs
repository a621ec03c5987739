//! From a body that is there to what goes out in its place, written into the event.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, header};
use http_body_util::Full;
use secateur_canary::{ChangedRequest, Watch};
use secateur_core::Dialect;
use secateur_core::summary::WantedSummary;

use super::Arrival;
use super::send::outgoing;
use crate::audit::{FailOpen, Mechanic};
use crate::capture::CutRequest;
use crate::limits::OverBudget;
use crate::pipeline::{Decided, Decision, Encoded, Job, decide};
use crate::refusal::Refusal;
use crate::route::Route;
use crate::shared::Shared;
use crate::summary::{Desk, Obtained, summary_request};
use crate::upstream::OutBody;
use crate::wire::encoding::Encoding;
use crate::wire::names::bounded;

/// Runs the chain over a body that is there.
///
/// # Errors
/// There is no memory for the decoded body or the changed one.
pub(super) async fn prepare(
    shared: &Arc<Shared>,
    arrival: &mut Arrival,
    dialect: Dialect,
    watch: Watch,
    original: &Bytes,
) -> Result<Decision, Refusal> {
    if is_signed(&arrival.head.headers) {
        return Ok(Decision::fail_open(FailOpen::SignedBody));
    }
    let job = Job {
        overrides: watch.overrides.clone(),
        body: original.clone(),
        dialect,
        path_model: arrival.route.path_model.clone(),
        is_wrapped: arrival.route.is_wrapped(),
        workload: Arc::clone(&arrival.workload),
        engine: Arc::clone(&shared.engine),
        summaries: shared.summarizer.of(&arrival.workload),
    };
    let chained = run_chain(shared, arrival, dialect, job).await;
    let Decided { decision, body } = chained.map_err(|OverBudget| Refusal::NoRoom)?;
    let model = decision.model.as_deref();
    let of_report = decision
        .report
        .as_ref()
        .and_then(|report| report.model.as_deref());
    let asked = arrival.route.path_model.as_deref().map(bounded);
    let changed = ChangedRequest {
        id: arrival.exchange.id(),
        session: decision.session.as_deref(),
        dialect,
        stack: &decision.stack,
        model: model.or(asked).or(of_report),
        report: decision.report.as_ref(),
        read: body.as_ref(),
    };
    let head = || {
        let empty = OutBody::Full(Full::default());
        let request = outgoing(arrival, &arrival.route.path, empty).ok()?;
        Some(request.into_parts().0)
    };
    let sampled = watch.changed(&changed, original, head);
    arrival.exchange.sampled = sampled.map(Box::new);
    if let Some(body) = body {
        let path_model = arrival.route.path_model.clone();
        let blocks = shared
            .conversations
            .hash_blocks(body.clone(), dialect, path_model);
        arrival.exchange.blocks = Some(blocks);
        capture(shared, arrival, dialect, body, &decision);
    }
    Ok(decision)
}

/// Keeps what was cut, where the workload asks for it.
fn capture(
    shared: &Arc<Shared>,
    arrival: &Arrival,
    dialect: Dialect,
    body: Bytes,
    decision: &Decision,
) {
    let is_pruned = decision.stack.contains(&Mechanic::M7.name());
    let (Some(capture), Some(report), true) = (
        shared
            .capture
            .as_ref()
            .filter(|_| arrival.workload.capture.is_some()),
        &decision.report,
        is_pruned,
    ) else {
        return;
    };
    capture.keep(CutRequest {
        id: arrival.exchange.id().to_owned(),
        session: decision.session.clone(),
        workload: Arc::clone(&arrival.workload.name),
        body,
        dialect,
        report: Arc::clone(report),
    });
}

/// Runs the chain, and once more where a summary had to be made first.
async fn run_chain(
    shared: &Arc<Shared>,
    arrival: &Arrival,
    dialect: Dialect,
    job: Job,
) -> Result<Decided, OverBudget> {
    let encoding = Encoding::of(&arrival.head.headers);
    let encoded = (encoding != Encoding::Identity).then(|| Encoded {
        encoding,
        max_bytes: arrival.config.max_body_bytes,
    });
    let mut decided = decide(job.clone(), encoded, &shared.slots, &shared.byte_budget).await?;
    let Some(body) = decided
        .body
        .clone()
        .filter(|_| !decided.decision.wanted.is_empty() && !job.is_wrapped)
    else {
        return Ok(decided);
    };
    let obtained = obtain(shared, arrival, dialect, &decided.decision).await;
    if obtained.any_made {
        decided = decide(
            Job { body, ..job },
            None,
            &shared.slots,
            &shared.byte_budget,
        )
        .await?;
    }
    decided.decision.summary = Some(obtained.outcome);
    Ok(decided)
}

/// Asks the workload's upstream for the summaries that the chain missed.
async fn obtain(
    shared: &Arc<Shared>,
    arrival: &Arrival,
    dialect: Dialect,
    decision: &Decision,
) -> Obtained {
    let desk = Desk {
        client: shared.client.clone(),
        surfaces: Arc::clone(&shared.surfaces),
        dialect,
    };
    let prepare = |wanted: &WantedSummary| {
        let path = arrival.route.path_with_model(&wanted.model);
        let path = path.as_deref().unwrap_or(&arrival.route.path);
        let path = Route::unstreamed(path);
        let empty = OutBody::Full(Full::default());
        let request = outgoing(arrival, &path, empty).ok()?;
        let (provider, workload) = (arrival.route.provider, &arrival.workload);
        summary_request(request, dialect, provider, wanted, workload)
    };
    let (summarizer, workload) = (&shared.summarizer, &arrival.workload);
    summarizer
        .obtain(&desk, workload, &decision.wanted, prepare)
        .await
}

/// A body that the client signed cannot be changed on the way.
fn is_signed(headers: &HeaderMap) -> bool {
    let names = [
        "content-md5",
        "digest",
        "content-digest",
        "repr-digest",
        "signature-input",
    ];
    let aws = headers
        .get(header::AUTHORIZATION)
        .is_some_and(|value| value.as_bytes().starts_with(b"AWS4-"));
    aws || names.iter().any(|name| headers.contains_key(*name))
}

/// What goes out in place of the original.
pub(super) struct Changed {
    pub(super) body: Option<Bytes>,
    pub(super) path: Option<String>,
}

/// Writes the decision into the event.
pub(super) fn note(arrival: &mut Arrival, decision: Decision, original: &Bytes) -> Option<Changed> {
    let path = decision
        .routed_to
        .as_deref()
        .and_then(|model| arrival.route.path_with_model(model));
    let event = arrival.exchange.event();
    if decision.model.is_some() {
        event.model = decision.model;
    }
    event.bytes_before = original.len() as u64;
    event.bytes_after = decision.body.as_ref().map_or(original.len(), Bytes::len) as u64;
    if let Some(report) = &decision.report {
        event.chars_before = Some(report.before.chars as u64).filter(|&chars| chars > 0);
        let sent = match &decision.body {
            // What the engine did not write, it did not count.
            Some(body) if report.stack.is_empty() => {
                std::str::from_utf8(body).map_or(body.len(), |text| text.chars().count())
            }
            _ => report.after.chars,
        };
        event.chars_after = event.chars_before.map(|_| sent as u64);
        if event.model.is_none() {
            event.model.clone_from(&report.model);
        }
    }
    event.session = decision.session;
    event.held_out = decision.held_out;
    event.routed_to = decision.routed_to;
    event.routed_terms = decision.routed_terms;
    event.stack = decision.stack;
    event.steps = decision.steps;
    event.report = decision.report;
    event.failed_open = decision.failed_open;
    event.chain_time = decision.time;
    event.summary = decision.summary;
    (decision.body.is_some() || path.is_some()).then_some(Changed {
        body: decision.body,
        path,
    })
}
