//! From a body that was read to what goes out in its place.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, header};
use secateur_canary::{ChangedRequest, SESSION_HEADER, Sampled, Watch};
use secateur_core::Dialect;
use secateur_core::report::Report;
use secateur_core::summary::WantedSummary;

use super::forwarding::Forwarding;
use super::outgoing::bodiless;
use crate::audit::{FailOpen, Mechanic};
use crate::capture::CutRequest;
use crate::exchange::{BodySize, Decided};
use crate::limits::OverBudget;
use crate::pipeline::{ChainRun, Decision, Encoded, Job, run_within_budget};
use crate::refusal::Refusal;
use crate::route::Route;
use crate::shared::Shared;
use crate::summary::{CallContext, Obtained, summary_request};
use crate::wire::encoding::Encoding;
use crate::wire::names::bounded;

/// Mechanics that may run on a request.
pub(super) struct Mechanics {
    dialect: Dialect,
    watch: Watch,
}

impl Mechanics {
    /// Those of a request whose body is not read yet; `None`: none may run.
    pub(super) fn of(shared: &Shared, forwarding: &Forwarding) -> Option<Self> {
        let dialect = forwarding.route.dialect?;
        if forwarding.is_bypassed {
            return None;
        }
        let session = forwarding.head.headers.get(SESSION_HEADER);
        let session = session.and_then(|id| id.to_str().ok());
        let (workload, canary) = (&forwarding.workload, &shared.canary);
        let watch = canary.watch(&workload.canary, workload.configured(), session)?;
        Some(Self { dialect, watch })
    }
}

/// What goes out in place of the original.
pub(super) struct Changed {
    /// `None`: the original body.
    pub(super) body: Option<Bytes>,
    /// `None`: the original path.
    pub(super) path: Option<String>,
    /// The beta header that the changed body needs.
    pub(super) beta: Option<&'static str>,
    /// Whether another model is asked.
    pub(super) is_rerouted: bool,
}

/// Lets the mechanics read a body, and decides what is sent. `waited` is the time that the client took to send it.
///
/// # Errors
/// There is no memory for the decoded body or the changed one.
pub(super) async fn decide(
    shared: &Arc<Shared>,
    forwarding: &Forwarding,
    mechanics: Mechanics,
    original: &Bytes,
    waited: Duration,
) -> Result<(Decided, Option<Changed>), Refusal> {
    let Mechanics { dialect, watch } = mechanics;
    let ChainRun { decision, body } = if is_signed(&forwarding.head.headers) {
        ChainRun {
            decision: Decision::fail_open(FailOpen::SignedBody),
            body: None,
        }
    } else {
        let run = run_chain(shared, forwarding, dialect, &watch, original).await;
        run.map_err(|OverBudget| Refusal::NoRoom)?
    };
    let model = asked_model(forwarding, &decision);
    let sampled = sample(
        forwarding,
        &watch,
        original,
        &ChangedRequest {
            id: forwarding.exchange.id(),
            session: decision.session.as_deref(),
            dialect,
            stack: &decision.stack,
            model: model.as_deref(),
            key: forwarding.grant.key().map(|key| &*key.name),
            report: decision.report.as_ref(),
            read: body.as_ref(),
        },
    );
    let blocks = body.map(|body| {
        capture(shared, forwarding, dialect, &body, &decision);
        let path_model = forwarding.route.path_model.clone();
        shared.conversations.hash_blocks(body, dialect, path_model)
    });
    let path = decision
        .routed_to
        .as_deref()
        .and_then(|model| forwarding.route.path_with_model(model));
    let changed = decision.body.as_ref();
    let before = original.len() as u64;
    let after = changed.map_or(before, |body| body.len() as u64);
    let report = decision.report.as_deref();
    let char_counts = report.and_then(|report| char_counts(report, changed));
    let changed = (changed.is_some() || path.is_some()).then(|| Changed {
        body: decision.body.clone(),
        path,
        beta: report.and_then(|report| report.beta),
        is_rerouted: decision.stack.contains(&Mechanic::M1.name()),
    });
    let decided = Decided {
        body: BodySize::Read { before, after },
        added: forwarding.started.elapsed().saturating_sub(waited),
        model,
        session: decision.session,
        is_held_out: decision.held_out,
        routed_to: decision.routed_to,
        routed_terms: decision.routed_terms,
        stack: decision.stack,
        steps: decision.steps,
        report: decision.report,
        failed_open: decision.failed_open,
        chain_time: decision.time,
        summary: decision.summary,
        char_counts,
        blocks,
        sampled: sampled.map(Box::new),
    };
    Ok((decided, changed))
}

/// The model that the client asked for: named around the body, in the path, or in the body.
fn asked_model(forwarding: &Forwarding, decision: &Decision) -> Option<String> {
    let around = decision.model.as_deref();
    let in_path = forwarding.route.path_model.as_deref().map(bounded);
    let report = decision.report.as_ref();
    let in_body = report.and_then(|report| report.model.as_deref());
    around.or(in_path).or(in_body).map(str::to_owned)
}

/// Keeps the original, where it is to be sent too once the client has its response.
fn sample(
    forwarding: &Forwarding,
    watch: &Watch,
    original: &Bytes,
    changed: &ChangedRequest<'_>,
) -> Option<Sampled> {
    watch.changed(changed, original, || {
        let request = bodiless(forwarding, &forwarding.route.path).ok()?;
        Some(request.into_parts().0)
    })
}

/// Characters of a body as it arrived and as it is sent.
fn char_counts(report: &Report, changed: Option<&Bytes>) -> Option<(u64, u64)> {
    let before = Some(report.before.chars as u64).filter(|&chars| chars > 0)?;
    let after = match changed {
        // What the engine did not write, it did not count.
        Some(body) if report.stack.is_empty() => {
            std::str::from_utf8(body).map_or(body.len(), |text| text.chars().count())
        }
        _ => report.after.chars,
    };
    Some((before, after as u64))
}

/// Keeps what was cut, where the workload asks for it.
fn capture(
    shared: &Shared,
    forwarding: &Forwarding,
    dialect: Dialect,
    body: &Bytes,
    decision: &Decision,
) {
    let workload = &forwarding.workload;
    let capture = shared.capture.as_ref();
    let capture = capture.filter(|_| workload.capture.is_some());
    let is_pruned = decision.stack.contains(&Mechanic::M7.name());
    let (Some(capture), Some(report), true) = (capture, &decision.report, is_pruned) else {
        return;
    };
    capture.keep(CutRequest {
        id: forwarding.exchange.id().to_owned(),
        session: decision.session.clone(),
        workload: Arc::clone(&workload.name),
        body: body.clone(),
        dialect,
        report: Arc::clone(report),
    });
}

/// Runs the chain, and once more where a summary had to be made first.
async fn run_chain(
    shared: &Arc<Shared>,
    forwarding: &Forwarding,
    dialect: Dialect,
    watch: &Watch,
    original: &Bytes,
) -> Result<ChainRun, OverBudget> {
    let job = Job {
        overrides: watch.overrides.clone(),
        body: original.clone(),
        dialect,
        path_model: forwarding.route.path_model.clone(),
        is_wrapped: forwarding.route.is_wrapped(),
        workload: Arc::clone(&forwarding.workload),
        engine: Arc::clone(&shared.engine),
        summaries: shared.summarizer.of(&forwarding.workload),
    };
    let encoding = Encoding::of(&forwarding.head.headers);
    let encoded = (encoding != Encoding::Identity).then(|| Encoded {
        encoding,
        max_bytes: forwarding.config.max_body_bytes,
    });
    let (slots, byte_budget) = (&shared.slots, &shared.byte_budget);
    let mut run = run_within_budget(job.clone(), encoded, slots, byte_budget).await?;
    let wants_summary = !run.decision.wanted.is_empty() && !job.is_wrapped;
    let Some(body) = run.body.clone().filter(|_| wants_summary) else {
        return Ok(run);
    };
    let obtained = obtain(shared, forwarding, dialect, &run.decision).await;
    if obtained.any_made {
        let job = Job { body, ..job };
        run = run_within_budget(job, None, slots, byte_budget).await?;
    }
    run.decision.summary = Some(obtained.outcome);
    Ok(run)
}

/// Asks the workload's upstream for the summaries that the chain missed.
async fn obtain(
    shared: &Arc<Shared>,
    forwarding: &Forwarding,
    dialect: Dialect,
    decision: &Decision,
) -> Obtained {
    let context = CallContext {
        client: shared.client.clone(),
        surfaces: Arc::clone(&shared.surfaces),
        dialect,
        request: forwarding.exchange.id().to_owned(),
        key: forwarding.grant.key().map(|key| Arc::clone(&key.name)),
    };
    let prepare = |wanted: &WantedSummary| {
        let path = forwarding.route.path_with_model(&wanted.model);
        let path = path.as_deref().unwrap_or(&forwarding.route.path);
        let request = bodiless(forwarding, &Route::unstreamed(path)).ok()?;
        let (provider, workload) = (forwarding.route.provider, &forwarding.workload);
        summary_request(request, dialect, provider, wanted, workload)
    };
    let (summarizer, workload) = (&shared.summarizer, &forwarding.workload);
    summarizer
        .obtain(&context, workload, &decision.wanted, prepare)
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
