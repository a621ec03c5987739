//! A changed request that is also sent unchanged, after its client has the whole response.
//!
//! **Invariants:** the client's response is only listened to (its frames are shared, not copied). The
//! shadow starts when the client's response is complete. What a shadow holds, credentials included,
//! lives in memory until its call is made. An error of the upstream is not a score.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use secateur_core::Dialect;
use secateur_core::models::{self, Prices};
use secateur_ledger::moment::now;
use secateur_ledger::{Purpose, Spending};
use tokio::sync::OwnedSemaphorePermit;

use super::Canary;
use super::gate::{Cost, Gate, SCORER_RESTS, Ticket};
use super::repeatable::is_repeatable;
use super::reply::{self, Layout, Reply};
use super::score::{Comparison, ScorerError, compare, scorer_name};
use super::standing::STACK_OF_ORIGINALS;
use crate::audit::{AuditEvent, Ended};
use crate::config::Workload;
use crate::config::is_in_share;
use crate::upstream::{OutBody, UpstreamBody};
use crate::usage::{Usage, UsageReader};
use crate::wire::encoding::{Encoding, decode};

/// Longer answers are not compared.
const MAX_ANSWER_BYTES: usize = 2 << 20;

/// Bytes of a body to a token, for the budget alone.
const BYTES_PER_TOKEN: u64 = 4;

/// What belongs to the client's call and not to a second one.
const NOT_REPEATED: [&str; 3] = ["traceparent", "tracestate", "idempotency-key"];

/// A response as it was heard.
#[derive(Debug)]
struct Heard {
    layout: Layout,
    encoding: Encoding,
    chunks: Vec<Bytes>,
    bytes: usize,
}

impl Heard {
    fn of(status: StatusCode, headers: &HeaderMap) -> Option<Self> {
        let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        Some(Self {
            layout: Layout::of(kind).filter(|_| status == StatusCode::OK)?,
            encoding: Encoding::of(headers),
            chunks: Vec::new(),
            bytes: 0,
        })
    }

    fn reply(&self, dialect: Dialect) -> Option<Reply> {
        let whole = self.chunks.concat();
        if self.encoding == Encoding::Identity {
            return reply::read(dialect, self.layout, &whole);
        }
        let decoded = decode(self.encoding, &whole, MAX_ANSWER_BYTES * 8).ok()?;
        reply::read(dialect, self.layout, &decoded)
    }
}

/// See the module.
pub(crate) struct Shadow {
    canary: Arc<Canary>,
    workload: Arc<Workload>,
    dialect: Dialect,
    id: String,
    stack: String,
    model: Option<String>,
    key: Option<String>,
    /// Of the model that was asked for; the policy's own where it has some.
    prices: Option<Prices>,
    head: Parts,
    body: Bytes,
    heard: Option<Heard>,
    held: OwnedSemaphorePermit,
}

impl std::fmt::Debug for Shadow {
    /// Without its head, which holds the client's credential, and its body.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shadow")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Shadow {
    pub(super) fn new(
        canary: Arc<Canary>,
        workload: Arc<Workload>,
        event: &AuditEvent,
        original: Request<()>,
        body: Bytes,
        held: OwnedSemaphorePermit,
    ) -> Option<Self> {
        let (mut head, ()) = original.into_parts();
        for name in NOT_REPEATED {
            head.headers.remove(name);
        }
        Some(Self {
            canary,
            workload,
            dialect: event.dialect?,
            id: event.id.clone(),
            stack: event.stack.join("+"),
            model: event.model.clone(),
            key: event.key.as_deref().map(str::to_owned),
            prices: event
                .report
                .as_ref()
                .and_then(|report| report.terms.prices)
                .or_else(|| models::prices(event.model.as_deref())),
            head,
            body,
            heard: None,
            held,
        })
    }

    /// The head of the client's response.
    pub(crate) fn hear_head(&mut self, status: StatusCode, headers: &HeaderMap) {
        self.heard = Heard::of(status, headers);
    }

    /// A frame of the client's response.
    pub(crate) fn hear(&mut self, data: &Bytes) {
        let Some(heard) = &mut self.heard else {
            return;
        };
        heard.bytes += data.len();
        if heard.bytes > MAX_ANSWER_BYTES {
            self.heard = None;
        } else {
            heard.chunks.push(data.clone());
        }
    }

    /// The client's response is over.
    pub(crate) fn start(self, ended: Ended) {
        // Without a runtime the process is ending.
        if let (Ended::Complete, true, Ok(runtime)) = (
            ended,
            self.heard.is_some(),
            tokio::runtime::Handle::try_current(),
        ) {
            runtime.spawn(self.run());
        }
    }

    async fn run(self) {
        let canary = Arc::clone(&self.canary);
        let workload = Arc::clone(&self.workload);
        let stack = self.stack.clone();
        let result = match self.compare().await {
            Ok(()) => "scored",
            Err(reason) => reason,
        };
        canary.count_shadow(&workload.name, &stack, result);
    }

    async fn compare(self) -> Result<(), &'static str> {
        let options = Arc::clone(&self.workload.canary);
        let pruned = self
            .heard
            .as_ref()
            .and_then(|heard| heard.reply(self.dialect));
        let pruned = pruned.ok_or("no-answer")?;
        if self.head.headers.contains_key(header::CONTENT_ENCODING) || !is_repeatable(&self.body) {
            return Err("not-repeatable");
        }
        let gate = self.canary.gate(&self.workload);
        if gate.scorer_rests(now()) {
            return Err(SCORER_RESTS);
        }
        let call = gate.call().ok_or("busy")?;
        let original = self.ask(&gate, "shadow").await?;
        let is_control = is_in_share(&format!("control {}", self.id), options.control_pct);
        let again = if is_control {
            self.ask(&gate, "control").await.ok()
        } else {
            None
        };
        // From here on only the answers are needed.
        let Self {
            canary,
            workload,
            dialect,
            id,
            stack,
            model,
            head,
            body,
            held,
            ..
        } = self;
        drop((head, body, held));
        let mut comparison = Comparison {
            request_id: &id,
            workload: &workload.name,
            stack: &stack,
            dialect: dialect.name(),
            model: model.as_deref(),
            pruned: &pruned,
            original: &original,
        };
        let compared = compare(&comparison, &options, &canary.client).await;
        canary.note_scorer(&workload.name, &gate, compared.err());
        let score = compared.map_err(ScorerError::name)?;
        let scorer = scorer_name(&options);
        if let Some(again) = &again {
            (comparison.stack, comparison.pruned) = (STACK_OF_ORIGINALS, again);
            if let Ok(noise) = compare(&comparison, &options, &canary.client).await {
                canary.note_shadow_score(&workload, STACK_OF_ORIGINALS, &id, scorer, noise);
            }
        }
        drop(call);
        canary.note_shadow_score(&workload, &stack, &id, scorer, score);
        Ok(())
    }

    /// Sends the original once and reads the answer.
    async fn ask(&self, gate: &Gate, purpose: &str) -> Result<Reply, &'static str> {
        let ticket = self.pay(gate)?;
        let body = OutBody::Full(Full::new(self.body.clone()));
        let request = Request::from_parts(self.head.clone(), body);
        let timeout = self.canary.response_timeout();
        let asked = async {
            let sent = self.canary.client.send(request).await;
            answer(sent.map_err(|_| "upstream-unreachable")?).await
        };
        let answered = tokio::time::timeout(timeout, asked).await;
        let answered = answered.unwrap_or(Err("upstream-timeout"));
        match &answered {
            Ok((_, Some(usage))) => {
                let usd = self.prices.as_ref().and_then(|prices| usage.usd(prices));
                let tokens = usage.input_tokens.unwrap_or(0) + usage.output_tokens.unwrap_or(0);
                let known = usd.unwrap_or(0.0);
                gate.settle(ticket, Cost { tokens, usd: known });
                self.note_cost(purpose, usd);
            }
            // Nothing was answered that could be billed.
            Err("upstream-unreachable" | "upstream-error") => {}
            // It is billed, and nobody said with how much: as far as is known.
            _ => self.note_cost(purpose, self.prices.map(|_| ticket.estimate().usd)),
        }
        let (heard, _) = answered?;
        heard.reply(self.dialect).ok_or("no-answer")
    }

    /// What a call cost, for the metrics and the ledger.
    fn note_cost(&self, purpose: &str, usd: Option<f64>) {
        if let Some(usd) = usd {
            let metrics = &self.canary.surfaces.metrics;
            metrics.spent(&self.workload.name, Purpose::Shadow, usd);
        }
        self.canary.store.record_spending(Spending {
            id: format!("{}:{purpose}", self.id),
            at: now(),
            purpose: Purpose::Shadow,
            request: self.id.clone(),
            workload: self.workload.name.to_string(),
            stack: self.stack.clone(),
            model: self.model.clone(),
            key: self.key.clone(),
            usd,
        });
    }

    /// Takes a call out of the workload's budget. The first one that finds it spent says so.
    fn pay(&self, gate: &Gate) -> Result<Ticket, &'static str> {
        let options = &self.workload.canary;
        let tokens = self.body.len() as u64 / BYTES_PER_TOKEN;
        let per_million = self.prices.map_or(0.0, |prices| prices.input_usd);
        let estimate = Cost {
            tokens,
            usd: tokens as f64 * per_million / 1e6,
        };
        let taken = gate.take(options, estimate, now());
        taken.map_err(|exhausted| {
            if exhausted.is_news {
                self.canary.surfaces.log.line(
                    "warn",
                    "shadow_budget_spent",
                    &[
                        ("workload", (&*self.workload.name).into()),
                        ("limit", exhausted.limit.into()),
                    ],
                );
            }
            exhausted.limit
        })
    }
}

async fn answer(response: Response<UpstreamBody>) -> Result<(Heard, Option<Usage>), &'static str> {
    let (head, body) = response.into_parts();
    let mut heard = Heard::of(head.status, &head.headers).ok_or("upstream-error")?;
    let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await;
    let body = body.map_err(|_| "upstream-broke")?.to_bytes();
    let kind = head
        .headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let usage = UsageReader::new(kind, heard.encoding).and_then(|mut reader| {
        reader.feed(&body);
        reader.usage()
    });
    heard.chunks.push(body);
    Ok((heard, usage))
}
