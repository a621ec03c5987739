//! The end of every request: its audit event, built once, priced, and handed to all who observe requests.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Decided, Heard, Stages};
use crate::audit::{AuditEvent, Ended, Recalled, Receipt};
use crate::canary::finished;
use crate::conversations::{PendingBlocks, Recollection, Turn};
use crate::shared::Shared;

/// Makes the audit event of a request that is over, from the values that there are, and hands it to the observers:
/// the memory of conversations, the canary, and the surfaces (log, metrics, traces, ledger).
pub(super) fn finish(shared: &Shared, mut stages: Stages, mut heard: Option<Heard>) {
    let answer = heard.as_mut().and_then(|heard| heard.answer.take());
    let decided = stages.decided.as_mut();
    let sampled = decided.and_then(|decided| decided.sampled.take());
    let compared = sampled.zip(answer);
    let workload = Arc::clone(&stages.arrived.workload);
    let recollection = recall(shared, &stages);
    let recalled = recollection.as_ref().map(Recollection::recalled);
    let is_cutting_off = shared.is_cutting_off.load(Ordering::Relaxed);
    let event = event_of(stages, heard, recalled.unwrap_or_default(), is_cutting_off);
    let event = event.settle();

    if let Some(recollection) = recollection {
        shared.conversations.remember(recollection, &event);
    }
    shared.canary.finished(
        &finished(&event, &workload.canary),
        compared.map(|(sampled, answer)| (*sampled, *answer)),
    );
    shared.surfaces.record(event);
}

/// What this process remembers of the request's conversation; `None`: it is not known which one it is.
fn recall(shared: &Shared, stages: &Stages) -> Option<Recollection> {
    let (arrived, decided) = (&stages.arrived, stages.decided.as_ref()?);
    let routed_to = decided.routed_to.as_ref();
    let routed_to = routed_to.filter(|_| stages.rejected.is_none());
    let asked = decided.model.as_ref().or(arrived.model.as_ref());
    Some(shared.conversations.recall(Turn {
        session: decided.session.clone()?,
        workload: &arrived.workload.name,
        model: routed_to.or(asked).map(String::as_str),
        started: arrived.started,
        blocks: decided.blocks.as_ref().and_then(PendingBlocks::get),
    }))
}

/// The event of a request, without its receipt.
fn event_of(
    stages: Stages,
    heard: Option<Heard>,
    recalled: Recalled,
    is_cutting_off: bool,
) -> AuditEvent {
    let Stages {
        arrived,
        decided,
        rejected,
        sent,
    } = stages;
    let total = arrived.started.elapsed();
    let was_rejected = rejected.is_some();
    let decided = decided.unwrap_or_else(Decided::none);
    let (bytes_before, bytes_after) = decided.bytes(was_rejected);
    let (chars_before, chars_after) = decided.chars(was_rejected).unzip();
    let (stack, struck_stack) = match was_rejected {
        true => (Vec::new(), decided.stack),
        false => (decided.stack, Vec::new()),
    };
    let (sent, rejected) = (sent.unwrap_or_default(), rejected.unwrap_or_default());
    let ended = match heard
        .as_ref()
        .map_or(Ended::ClientGone, |heard| heard.ended)
    {
        Ended::ClientGone if is_cutting_off => Ended::CutOff,
        ended => ended,
    };
    AuditEvent {
        id: arrived.id,
        at: arrived.at,
        workload: Arc::clone(&arrived.workload.name),
        key: arrived.key,
        session: decided.session,
        held_out: decided.is_held_out,
        recalled,
        provider: arrived.provider,
        dialect: arrived.dialect,
        model: decided.model.or(arrived.model),
        routed_to: decided.routed_to.filter(|_| !was_rejected),
        routed_terms: decided.routed_terms.filter(|_| !was_rejected),
        stack,
        steps: decided.steps,
        report: decided.report,
        failed_open: decided.failed_open,
        chain_time: decided.chain_time,
        retried_original: was_rejected,
        struck_stack,
        summary: decided.summary,
        bypassed: arrived.is_bypassed,
        untouched: arrived.untouched,
        bytes_before,
        bytes_after,
        chars_before,
        chars_after,
        upstream_status: sent.status.or(rejected.status),
        upstream_error: sent.error,
        status: heard.as_ref().map_or(0, |heard| heard.status),
        is_stream: heard.as_ref().is_some_and(|heard| heard.is_stream),
        response_bytes: heard.as_ref().map_or(0, |heard| heard.bytes),
        added: decided.added,
        upstream_head: sent.head_after.or(rejected.head_after),
        upstream_total: sent.at.or(rejected.at).map(|sent_at| sent_at.elapsed()),
        total,
        usage: heard.and_then(|heard| heard.usage),
        receipt: Receipt::default(),
        ended,
        trace: arrived.trace,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant, SystemTime};

    use super::*;
    use crate::config::{Config, Provider};
    use crate::exchange::{Arrived, BodySize, Sent};
    use crate::refusal::Refusal;

    fn arrived() -> Arrived {
        let config = Config::read("f", "", std::path::Path::new("."), &|_| None).unwrap();
        Arrived {
            id: "r".into(),
            at: SystemTime::now(),
            started: Instant::now(),
            workload: Arc::clone(config.default_workload()),
            key: None,
            provider: Provider::Openai,
            dialect: None,
            model: Some("asked".into()),
            untouched: None,
            is_bypassed: false,
            trace: None,
        }
    }

    fn changed() -> Decided {
        let body = BodySize::Read {
            before: 1000,
            after: 400,
        };
        Decided {
            routed_to: Some("cheap".into()),
            stack: vec!["m1", "m7"],
            char_counts: Some((900, 300)),
            session: Some("s".into()),
            ..Decided::unchanged(body, Duration::from_millis(1))
        }
    }

    fn event(decided: Option<Decided>, rejected: Option<Sent>, sent: Option<Sent>) -> AuditEvent {
        let stages = Stages {
            arrived: arrived(),
            decided,
            rejected,
            sent,
        };
        event_of(stages, None, Recalled::default(), false)
    }

    #[test]
    fn a_request_that_ends_early_has_an_event_of_what_there_is() {
        let bare = event(None, None, None);
        assert_eq!((bare.ended, bare.status), (Ended::ClientGone, 0));
        assert_eq!(bare.model.as_deref(), Some("asked"));
        let decided = event(Some(changed()), None, None);
        assert_eq!(decided.stack, ["m1", "m7"]);
        assert_eq!((decided.bytes_before, decided.bytes_after), (1000, 400));
        assert_eq!(decided.upstream_status, None);
        let sent = Sent::answered(200, Instant::now());
        let sent = event(Some(changed()), None, Some(sent));
        assert_eq!(sent.upstream_status, Some(200));
        assert_eq!(sent.routed_to.as_deref(), Some("cheap"));
        let stages = Stages {
            arrived: arrived(),
            decided: None,
            rejected: None,
            sent: None,
        };
        let cut_off = event_of(stages, None, Recalled::default(), true);
        assert_eq!(cut_off.ended, Ended::CutOff);
    }

    #[test]
    fn a_rejected_change_is_held_against_its_stack_and_counts_as_unchanged() {
        let rejected = || Some(Sent::answered(400, Instant::now()));
        let answered = Sent::answered(200, Instant::now());
        for (sent, status) in [(Some(answered), 200), (None, 400)] {
            let event = event(Some(changed()), rejected(), sent);
            assert!(event.retried_original && event.stack.is_empty());
            assert_eq!(event.struck_stack, ["m1", "m7"]);
            assert_eq!((event.bytes_before, event.bytes_after), (1000, 1000));
            assert_eq!(
                (event.chars_before, event.chars_after),
                (Some(900), Some(900))
            );
            assert_eq!(
                (event.routed_to, event.upstream_status),
                (None, Some(status))
            );
        }
    }

    #[test]
    fn a_refusal_is_no_answer_of_the_upstream() {
        let stages = Stages {
            arrived: arrived(),
            decided: Some(changed()),
            rejected: None,
            sent: Some(Sent::failed(Some("host: refused".into()))),
        };
        let heard = Heard::refused(&Refusal::UpstreamTimeout);
        let event = event_of(stages, Some(heard), Recalled::default(), true);
        assert_eq!(event.status, Refusal::UpstreamTimeout.status().as_u16());
        assert_eq!(event.ended, Ended::Refused(Refusal::UpstreamTimeout.name()));
        assert_eq!(event.upstream_error.as_deref(), Some("host: refused"));
        let workload = arrived().workload;
        assert!(!finished(&event, &workload.canary).is_answered);
    }
}
