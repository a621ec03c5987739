//! What the proxy gives the canary: calls to providers and judges, and log lines and metrics for what happened.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt, Full, Limited};
use secateur_canary::{
    Billed, Call, CallError, CanaryEvent, Finished, InputTokens, PredictedRead, Reporter, Upstream,
    WatchedWorkload,
};
use secateur_core::models::Prices;

use crate::audit::{AuditEvent, Ended, MissCause};
use crate::surface::{Field, Surfaces};
use crate::upstream::{OutBody, UpstreamClient};
use crate::usage::UsageReader;
use crate::wire::encoding::{Encoding, decode};

/// Makes the canary's calls.
#[derive(Debug)]
pub(crate) struct CanaryCalls(pub(crate) UpstreamClient);

impl Upstream for CanaryCalls {
    fn call(&self, request: Request<Bytes>, max_bytes: usize) -> Call<'_> {
        let request = request.map(|body| OutBody::Full(Full::new(body)));
        let sending = self.0.send(request);
        Box::pin(async move {
            let response = sending.await.map_err(|_| CallError::Unreachable)?;
            let (head, body) = response.into_parts();
            if !head.status.is_success() {
                return Ok(Response::from_parts(head, Bytes::new()));
            }
            let body = Limited::new(body, max_bytes).collect().await;
            let body = body.map_err(|_| CallError::Broke)?;
            Ok(Response::from_parts(head, body.to_bytes()))
        })
    }

    fn decode(&self, response: &Response<Bytes>, max_bytes: usize) -> Option<Bytes> {
        match Encoding::of(response.headers()) {
            Encoding::Identity => Some(response.body().clone()),
            encoding => decode(encoding, response.body(), max_bytes)
                .ok()
                .map(Bytes::from),
        }
    }

    fn billed(&self, response: &Response<Bytes>, prices: Option<&Prices>) -> Option<Billed> {
        let headers = response.headers();
        let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok();
        let mut reader = UsageReader::new(kind, Encoding::of(headers))?;
        reader.feed(response.body());
        let usage = reader.usage()?;
        let usd = prices.and_then(|prices| usage.usd(prices));
        Some(Billed {
            tokens: usage.input_tokens.unwrap_or(0) + usage.output_tokens.unwrap_or(0),
            usd: usd.unwrap_or(0.0),
        })
    }
}

/// What the canary learns of a request that is over.
pub(crate) fn finished<'f>(
    event: &'f AuditEvent,
    workload: &'f Arc<WatchedWorkload>,
) -> Finished<'f> {
    let input = event.usage.as_ref().and_then(|usage| {
        Some(InputTokens {
            all: usage.input_tokens?,
            cache_read: usage.cache_read_tokens.unwrap_or(0),
            cache_written: usage.cache_write_tokens.unwrap_or(0),
        })
    });
    Finished {
        id: &event.id,
        workload,
        session: event.session.as_deref(),
        stack: &event.stack,
        rejected_stack: &event.struck_stack,
        is_answered: event.status != 0 && !matches!(event.ended, Ended::Refused(_)),
        status: event.status,
        input,
        predicted_read: event.receipt.cache_read.map(|read| PredictedRead {
            tokens: read.expected,
            hit: read.hit,
            is_explained: read.miss.is_some_and(MissCause::is_not_ours),
        }),
    }
}

impl Reporter for Surfaces {
    fn report(&self, event: CanaryEvent<'_>) {
        let line = |level, name, fields: &[(&'static str, Field)]| {
            self.log.line(level, name, fields);
        };
        match event {
            CanaryEvent::ShadowEnded {
                workload,
                stack,
                result,
            } => self.metrics.shadow_call(workload, stack, result),
            CanaryEvent::Spent(spending) => self.spent(spending),
            CanaryEvent::BudgetSpent { workload, limit } => {
                let fields = [("workload", workload.into()), ("limit", limit.into())];
                line("warn", "shadow_budget_spent", &fields);
            }
            CanaryEvent::Scored {
                workload,
                stack,
                scorer,
                score,
            } => self.metrics.score(workload, stack, scorer, score),
            CanaryEvent::ScorerFailed { workload, reason } => {
                line("warn", "scorer_failed", &of_workload(workload, reason));
            }
            CanaryEvent::ScorerPaused { workload, reason } => {
                line("warn", "scorer_rests", &of_workload(workload, reason));
            }
            CanaryEvent::ScorerRecovered { workload } => {
                line("info", "scorer_recovered", &[("workload", workload.into())]);
            }
            CanaryEvent::RolledBack {
                workload,
                stack,
                reason,
                scores,
            } => {
                let mut fields = vec![
                    ("workload", workload.into()),
                    ("stack", stack.into()),
                    ("reason", reason.into()),
                ];
                if let Some((mean, samples)) = scores {
                    fields.push(("mean", mean.into()));
                    fields.push(("samples", samples.into()));
                }
                line("warn", "stack_rolled_back", &fields);
            }
            CanaryEvent::RollbackStored { workload, stack } => {
                self.metrics.stack_rolled_back(workload, stack);
            }
            CanaryEvent::Warned {
                workload,
                stack,
                signal,
                reason,
            } => {
                let fields = [
                    ("workload", workload.into()),
                    ("stack", stack.into()),
                    ("signal", signal.into()),
                    ("reason", reason.into()),
                ];
                line("warn", "stack_warning", &fields);
                self.metrics.stack_warning(workload, stack, signal);
            }
            CanaryEvent::StoreFailed { workload, reason } => {
                line(
                    "error",
                    "canary_store_failed",
                    &of_workload(workload, reason),
                );
            }
        }
    }
}

fn of_workload(workload: &str, reason: &str) -> [(&'static str, Field); 2] {
    [("workload", workload.into()), ("reason", reason.into())]
}
