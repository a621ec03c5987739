//! A changed request that is also sent unchanged, after its client has the whole response.
//!
//! **Invariants:** the shadow call starts when the client's response is complete. What a sampled request holds,
//! credentials included, stays in memory until its call is made. An error of the upstream is not a score.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, header};
use secateur_core::Dialect;
use secateur_core::mechanic::Mechanic;
use secateur_core::models::{self, Prices};
use secateur_ledger::moment::now;
use secateur_ledger::{Purpose, Score, Spending};
use tokio::sync::OwnedSemaphorePermit;

use crate::answer::{Answer, MAX_ANSWER_BYTES, layout_of, reply_of};
use crate::changed::ChangedRequest;
use crate::gate::{Gate, SCORER_PAUSED, ScorerChange, Ticket};
use crate::judge::Judge;
use crate::options::{CanaryOptions, ScorerOptions, WatchedWorkload};
use crate::outside::{Billed, CallError, CanaryEvent, Upstream};
use crate::repeatable::is_repeatable;
use crate::reply::Reply;
use crate::score::{Comparison, ScorerError, compare, scorer_name};
use crate::share::is_in_share;
use crate::standing::STACK_OF_ORIGINALS;

/// Bytes of a body to a token, for the budget alone.
const BYTES_PER_TOKEN: u64 = 4;

/// Headers that belong to the client's call and not to a second one.
const NOT_REPEATED: [&str; 3] = ["traceparent", "tracestate", "idempotency-key"];

/// A request that was chosen to be compared: its original, kept until the client has its response.
pub struct Sampled {
    workload: Arc<WatchedWorkload>,
    dialect: Dialect,
    id: String,
    stack: String,
    model: Option<String>,
    /// The client key's name.
    key: Option<String>,
    /// Of the model that was asked for; the policy's own where it has some.
    prices: Option<Prices>,
    head: Parts,
    body: Bytes,
    held: OwnedSemaphorePermit,
}

impl std::fmt::Debug for Sampled {
    /// Without its head, which holds the client's credential, and its body.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sampled")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// Samples requests, and makes the calls that compare them.
#[derive(Debug)]
pub(crate) struct Shadows {
    judge: Arc<Judge>,
    upstream: Arc<dyn Upstream>,
    response_timeout: Duration,
    gates: Mutex<HashMap<Arc<str>, Arc<Gate>>>,
}

impl Shadows {
    pub(crate) fn new(
        judge: Arc<Judge>,
        upstream: Arc<dyn Upstream>,
        response_timeout: Duration,
    ) -> Self {
        Self {
            judge,
            upstream,
            response_timeout,
            gates: Mutex::default(),
        }
    }

    fn gate(&self, workload: &WatchedWorkload) -> Arc<Gate> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        let gate = gates
            .entry(Arc::clone(&workload.name))
            .or_insert_with(|| Arc::new(Gate::new(&workload.options)));
        if let Some(renewed) = gate.renewed(&workload.options) {
            *gate = Arc::new(renewed);
        }
        Arc::clone(gate)
    }

    /// Chooses whether a changed request is also to be sent unchanged. `original` makes the head of that request.
    pub(crate) fn sample(
        &self,
        workload: &Arc<WatchedWorkload>,
        changed: &ChangedRequest<'_>,
        body: &Bytes,
        original: impl FnOnce() -> Option<Parts>,
    ) -> Option<Sampled> {
        let options = &*workload.options;
        let is_chosen = is_in_share(changed.id, options.sample_pct);
        if !is_chosen || !is_comparable(changed.stack, options) {
            return None;
        }
        let stack = changed.stack.join("+");
        let held = match self.hold(workload, body.len()) {
            Ok(held) => held,
            Err(reason) => {
                self.ended(&workload.name, &stack, reason);
                return None;
            }
        };
        let mut head = original()?;
        for name in NOT_REPEATED {
            head.headers.remove(name);
        }
        Some(Sampled {
            workload: Arc::clone(workload),
            dialect: changed.dialect,
            id: changed.id.to_owned(),
            stack,
            model: changed.model.map(str::to_owned),
            key: changed.key.map(str::to_owned),
            prices: changed
                .report
                .and_then(|report| report.terms.prices)
                .or_else(|| models::prices(changed.model)),
            head,
            body: body.clone(),
            held,
        })
    }

    /// Room for one original of this size.
    fn hold(
        &self,
        workload: &WatchedWorkload,
        bytes: usize,
    ) -> Result<OwnedSemaphorePermit, &'static str> {
        if bytes > workload.options.max_body_bytes {
            return Err("too-large");
        }
        let gate = self.gate(workload);
        if gate.is_scorer_paused(now()) {
            return Err(SCORER_PAUSED);
        }
        gate.hold().ok_or("busy")
    }

    fn ended(&self, workload: &str, stack: &str, result: &str) {
        self.judge.report(CanaryEvent::ShadowEnded {
            workload,
            stack,
            result,
        });
    }

    /// The client has the whole answer to a sampled request: sends the original and compares, which nobody waits for.
    pub(crate) fn start(self: &Arc<Self>, sampled: Sampled, answer: Answer) {
        // Without a runtime the process is ending.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        if answer.is_comparable() {
            let shadows = Arc::clone(self);
            runtime.spawn(async move { shadows.run(sampled, answer).await });
        }
    }

    async fn run(&self, sampled: Sampled, answer: Answer) {
        let (workload, stack) = (Arc::clone(&sampled.workload), sampled.stack.clone());
        let result = match self.compare(sampled, answer).await {
            Ok(()) => "scored",
            Err(reason) => reason,
        };
        self.ended(&workload.name, &stack, result);
    }

    async fn compare(&self, sampled: Sampled, answer: Answer) -> Result<(), &'static str> {
        let options = Arc::clone(&sampled.workload.options);
        let pruned = answer.reply(sampled.dialect, &*self.upstream);
        let pruned = pruned.ok_or("no-answer")?;
        let is_encoded = sampled.head.headers.contains_key(header::CONTENT_ENCODING);
        if is_encoded || !is_repeatable(&sampled.body) {
            return Err("not-repeatable");
        }
        let gate = self.gate(&sampled.workload);
        if gate.is_scorer_paused(now()) {
            return Err(SCORER_PAUSED);
        }
        let call = gate.call().ok_or("busy")?;
        let original = self.ask(&sampled, &gate, "shadow").await?;
        let is_control = is_in_share(&format!("control {}", sampled.id), options.control_pct);
        let again = if is_control {
            self.ask(&sampled, &gate, "control").await.ok()
        } else {
            None
        };
        // From here on only the answers are needed.
        let Sampled {
            workload,
            dialect,
            id,
            stack,
            model,
            head,
            body,
            held,
            ..
        } = sampled;
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
        let compared = compare(&comparison, &options, &*self.upstream).await;
        self.note_scorer(&workload.name, &gate, compared.err());
        let score = compared.map_err(ScorerError::name)?;
        let scorer = scorer_name(&options);
        if let Some(again) = &again {
            (comparison.stack, comparison.pruned) = (STACK_OF_ORIGINALS, again);
            if let Ok(noise) = compare(&comparison, &options, &*self.upstream).await {
                self.note_score(&workload, STACK_OF_ORIGINALS, &id, scorer, noise);
            }
        }
        drop(call);
        self.note_score(&workload, &stack, &id, scorer, score);
        Ok(())
    }

    /// Sends the original once and reads the answer.
    async fn ask(
        &self,
        sampled: &Sampled,
        gate: &Gate,
        purpose: &str,
    ) -> Result<Reply, &'static str> {
        let ticket = self.pay(sampled, gate)?;
        let request = Request::from_parts(sampled.head.clone(), sampled.body.clone());
        let asked = self.upstream.call(request, MAX_ANSWER_BYTES);
        let answered = match tokio::time::timeout(self.response_timeout, asked).await {
            Err(_) => Err("upstream-timeout"),
            Ok(Err(CallError::Unreachable)) => Err("upstream-unreachable"),
            Ok(Err(CallError::Broke)) => Err("upstream-broke"),
            Ok(Ok(response)) => match layout_of(response.status(), response.headers()) {
                Some(_) => Ok(response),
                None => Err("upstream-error"),
            },
        };
        let answer = answered.as_ref().ok();
        let prices = sampled.prices.as_ref();
        let billed = answer.and_then(|response| self.upstream.billed(response, prices));
        match (&answered, billed) {
            (_, Some(billed)) => {
                gate.settle(ticket, billed);
                self.note_cost(sampled, purpose, billed.usd);
            }
            // Nothing was answered that could be billed.
            (Err("upstream-unreachable" | "upstream-error"), None) => {}
            // It is billed, and the amount is not known: the estimate counts.
            (_, None) => self.note_cost(sampled, purpose, ticket.estimate().usd),
        }
        reply_of(&answered?, sampled.dialect, &*self.upstream).ok_or("no-answer")
    }

    /// What a call cost, for the metrics and the ledger.
    fn note_cost(&self, sampled: &Sampled, purpose: &str, usd: f64) {
        self.judge.report(CanaryEvent::Spent(Spending {
            id: format!("{}:{purpose}", sampled.id),
            at: now(),
            purpose: Purpose::Shadow,
            request: sampled.id.clone(),
            workload: sampled.workload.name.to_string(),
            stack: sampled.stack.clone(),
            model: sampled.model.clone(),
            key: sampled.key.clone(),
            usd: sampled.prices.map(|_| usd),
        }));
    }

    /// Takes a call out of the workload's budget. The first one that finds it spent is reported.
    fn pay(&self, sampled: &Sampled, gate: &Gate) -> Result<Ticket, &'static str> {
        let tokens = sampled.body.len() as u64 / BYTES_PER_TOKEN;
        let per_million = sampled.prices.map_or(0.0, |prices| prices.input_usd);
        let estimate = Billed {
            tokens,
            usd: tokens as f64 * per_million / 1e6,
        };
        let taken = gate.take(&sampled.workload.options, estimate, now());
        taken.map_err(|exhausted| {
            if exhausted.is_first_report {
                self.judge.report(CanaryEvent::BudgetSpent {
                    workload: &sampled.workload.name,
                    limit: exhausted.limit,
                });
            }
            exhausted.limit
        })
    }

    /// A comparison ended, with an error or with a score.
    fn note_scorer(&self, workload: &str, gate: &Gate, error: Option<ScorerError>) {
        let Some(change) = gate.note_scorer(error.is_none(), now()) else {
            return;
        };
        let reason = error.map(|error| error.to_string()).unwrap_or_default();
        let reason = reason.as_str();
        self.judge.report(match change {
            ScorerChange::Failed => CanaryEvent::ScorerFailed { workload, reason },
            ScorerChange::Paused => CanaryEvent::ScorerPaused { workload, reason },
            ScorerChange::Recovered => CanaryEvent::ScorerRecovered { workload },
        });
    }

    /// Takes a score of a shadow call.
    fn note_score(
        &self,
        workload: &Arc<WatchedWorkload>,
        stack: &str,
        request: &str,
        scorer: &'static str,
        score: f64,
    ) {
        let kind = if stack == STACK_OF_ORIGINALS {
            "noise"
        } else {
            scorer
        };
        self.judge.take_score(
            workload,
            Score {
                id: format!("{request}:{kind}"),
                at: now(),
                request: Some(request.to_owned()),
                workload: workload.name.to_string(),
                stack: stack.to_owned(),
                scorer: scorer.to_owned(),
                score,
            },
        );
    }
}

/// M1 and M8 are meant to change how an answer looks: without a scorer that understands answers there is
/// nothing to compare.
fn is_comparable(stack: &[&'static str], options: &CanaryOptions) -> bool {
    let has = |mechanic: Mechanic| stack.contains(&mechanic.name());
    match options.scorer {
        ScorerOptions::Deterministic => has(Mechanic::M7) || has(Mechanic::M3),
        _ => !stack.is_empty(),
    }
}
