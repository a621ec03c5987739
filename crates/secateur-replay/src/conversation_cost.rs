//! What one recorded conversation cost in dollars, and what a replay says of it.

use std::collections::HashSet;
use std::sync::Arc;

use secateur_core::models::{self, Prices};

use crate::agent::Agent;
use crate::price::tokens_of;
use crate::session::{Answer, PartKind, Session, Usage};
use crate::session_replay::Replayed;

/// Where a request's price comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Usage in the log.
    Billed,
    /// The log has no usage: characters to tokens, without system prompt and tools.
    Estimated,
    /// No price is known for the model.
    Unpriced,
}

/// One request of a conversation.
#[derive(Debug, Clone)]
pub struct RequestCost {
    /// Equal for the same request in several logs.
    pub key: Option<u64>,
    /// When it was answered, in milliseconds since 1970.
    pub at_ms: Option<i64>,
    /// The model.
    pub model: Option<Arc<str>>,
    /// Where the price comes from.
    pub basis: Basis,
    /// What its input cost.
    pub input_usd: f64,
    /// What its output cost.
    pub output_usd: f64,
    /// What a replay without pruning says, in tokens at the price of plain input. 0: it was not replayed.
    pub full: f64,
    /// The same under each policy.
    pub pruned: Box<[f64]>,
}

/// One conversation.
#[derive(Debug, Clone)]
pub struct ConversationCost {
    /// Whose log it is from.
    pub agent: Option<Agent>,
    /// The session that it belongs to.
    pub session: String,
    /// The folder that the agent worked in.
    pub project: Option<String>,
    /// Estimated tokens of system prompt and tools; `None`: the log has no usage.
    pub fixed_tokens: Option<f64>,
    /// Its requests in order.
    pub requests: Vec<RequestCost>,
}

impl ConversationCost {
    /// Prices a session that was replayed under some policies.
    pub fn of(session: &Session, replayed: &[Replayed]) -> Self {
        let mut requests = Vec::new();
        let mut replayable: HashSet<usize> = HashSet::new();
        for (number, upto) in session.boundaries().enumerate() {
            replayable.insert(upto);
            let answer = session.answer_at(upto);
            if !answer.is_some_and(|answer| answer.is_history) {
                requests.push(replayed_request(session, replayed, number, upto, answer));
            }
        }
        // Answers that follow an answer were billed too, and cannot be replayed.
        for answer in &session.answers {
            if replayable.contains(&answer.message) || answer.is_history {
                continue;
            }
            if let Some(usage) = answer.usage {
                requests.push(billed_request(answer, &usage, replayed.len()));
            }
        }
        let has_usage = session.answers.iter().any(|answer| answer.usage.is_some());
        let origin = session.origin.as_ref();
        Self {
            agent: origin.map(|origin| origin.agent),
            session: origin.map_or_else(|| session.id.clone(), |origin| origin.session.clone()),
            project: origin.and_then(|origin| origin.project.clone()),
            fixed_tokens: has_usage.then_some(session.fixed_tokens),
            requests,
        }
    }
}

/// The request of this number, at the boundary `upto`.
fn replayed_request(
    session: &Session,
    replayed: &[Replayed],
    number: usize,
    upto: usize,
    answer: Option<&Answer>,
) -> RequestCost {
    let named = answer.and_then(|answer| answer.model.clone());
    let model = named.or_else(|| session.model.as_deref().map(Arc::from));
    let full = replayed.first().and_then(|run| run.steps.get(number));
    let full = full.map_or(0.0, |step| step.full_cost);
    let step_cost = |run: &Replayed| run.steps.get(number).map_or(full, |step| step.cost);
    let prices = models::prices(model.as_deref());
    let usage = answer.and_then(|answer| answer.usage);
    let (basis, input_usd, output_usd) = match (prices, usage) {
        (None, _) => (Basis::Unpriced, 0.0, 0.0),
        (Some(prices), Some(usage)) => (
            Basis::Billed,
            input_usd(&prices, &usage),
            million(prices.output_usd, usage.output),
        ),
        (Some(prices), None) => (
            Basis::Estimated,
            full * prices.input_usd / 1e6,
            answer_tokens(session, upto) * prices.output_usd / 1e6,
        ),
    };
    RequestCost {
        key: answer.and_then(|answer| answer.key),
        at_ms: answer.and_then(|answer| answer.at_ms),
        model,
        basis,
        input_usd,
        output_usd,
        full,
        pruned: replayed.iter().map(step_cost).collect(),
    }
}

/// A request that was billed and not replayed.
fn billed_request(answer: &Answer, usage: &Usage, policies: usize) -> RequestCost {
    let prices = models::prices(answer.model.as_deref());
    RequestCost {
        key: answer.key,
        at_ms: answer.at_ms,
        model: answer.model.clone(),
        basis: prices.map_or(Basis::Unpriced, |_| Basis::Billed),
        input_usd: prices.map_or(0.0, |prices| input_usd(&prices, usage)),
        output_usd: prices.map_or(0.0, |prices| million(prices.output_usd, usage.output)),
        full: 0.0,
        pruned: vec![0.0; policies].into(),
    }
}

/// Estimated tokens of an answer.
fn answer_tokens(session: &Session, message: usize) -> f64 {
    let parts = session.messages[message].parts.iter();
    let texts = parts.filter(|part| part.kind != PartKind::Opaque);
    let chars = texts.map(|part| part.text.chars().count()).sum();
    tokens_of(chars, models::chars_per_token(session.model.as_deref()))
}

fn input_usd(prices: &Prices, usage: &Usage) -> f64 {
    million(prices.input_usd, usage.plain)
        + million(prices.cache_write_usd, usage.written)
        // Anthropic's price for an hour; no other provider bills writes of two lives.
        + million(prices.input_usd * 2.0, usage.written_long)
        + million(prices.cache_read_usd, usage.read)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "token counts are far below 2^52"
)]
fn million(usd: f64, tokens: u64) -> f64 {
    usd * tokens as f64 / 1e6
}
