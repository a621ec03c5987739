//! What recorded sessions cost in dollars, and what they would have cost under a policy.
//!
//! What was paid follows from the billed usage in the log, at list prices. A replay gives the share of the input that a
//! policy saves: the billed input of a conversation is divided among its requests as the replay without pruning divides
//! it, and each request saves what the replay with pruning saves of it. Output is not changed. Without billed usage
//! in the log, what was paid is the replay's own estimate.
//!
//! Sums are taken in the order of the conversations, so they do not depend on how many threads made the parts.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use secateur_core::models::{self, Prices};

use crate::agent::Agent;
use crate::price::tokens_of;
use crate::read::estimate::answer_at;
use crate::score::Replayed;
use crate::session::{PartKind, Session, Usage};

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
    /// Estimated tokens of system prompt and tools; `None`: the log has no usage to tell.
    pub fixed_tokens: Option<f64>,
    /// Its requests in order.
    pub requests: Vec<RequestCost>,
}

impl ConversationCost {
    /// Prices a session that was replayed under some policies.
    pub fn of(session: &Session, replayed: &[Replayed]) -> Self {
        let ratio = models::chars_per_token(session.model.as_deref());
        let mut requests = Vec::new();
        let mut priced: HashSet<usize> = HashSet::new();
        for (number, upto) in session.boundaries().enumerate() {
            priced.insert(upto);
            let answer = answer_at(&session.answers, upto);
            if answer.is_some_and(|answer| answer.is_history) {
                continue;
            }
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
                (Some(prices), None) => {
                    let parts = session.messages[upto].parts.iter();
                    let chars = parts
                        .filter(|part| part.kind != PartKind::Opaque)
                        .map(|part| part.text.chars().count())
                        .sum();
                    (
                        Basis::Estimated,
                        full * prices.input_usd / 1e6,
                        tokens_of(chars, ratio) * prices.output_usd / 1e6,
                    )
                }
            };
            requests.push(RequestCost {
                key: answer.and_then(|answer| answer.key),
                at_ms: answer.and_then(|answer| answer.at_ms),
                model,
                basis,
                input_usd,
                output_usd,
                full,
                pruned: replayed.iter().map(step_cost).collect(),
            });
        }
        // Answers that follow an answer were billed too, and cannot be replayed.
        for answer in &session.answers {
            let is_done = priced.contains(&answer.message) || answer.is_history;
            let (Some(usage), false) = (answer.usage, is_done) else {
                continue;
            };
            let prices = models::prices(answer.model.as_deref());
            requests.push(RequestCost {
                key: answer.key,
                at_ms: answer.at_ms,
                model: answer.model.clone(),
                basis: prices.map_or(Basis::Unpriced, |_| Basis::Billed),
                input_usd: prices.map_or(0.0, |prices| input_usd(&prices, &usage)),
                output_usd: prices.map_or(0.0, |prices| million(prices.output_usd, usage.output)),
                full: 0.0,
                pruned: replayed.iter().map(|_| 0.0).collect(),
            });
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

/// A line of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// Sessions with a request in it.
    pub sessions: usize,
    /// Requests.
    pub requests: usize,
    /// What was paid.
    pub paid_usd: f64,
    /// What would have been paid, under each policy.
    pub with_usd: Vec<f64>,
    last_session: Option<usize>,
    seen_sessions: BTreeSet<usize>,
}

impl Line {
    fn add(&mut self, session: usize, paid_usd: f64, with_usd: impl Iterator<Item = f64>) {
        if self.last_session != Some(session) && self.seen_sessions.insert(session) {
            self.sessions += 1;
        }
        self.last_session = Some(session);
        self.requests += 1;
        self.paid_usd += paid_usd;
        for (at, usd) in with_usd.enumerate() {
            match self.with_usd.get_mut(at) {
                Some(sum) => *sum += usd,
                None => self.with_usd.push(usd),
            }
        }
    }

    /// What the policy of this number saves; negative if it costs more.
    pub fn saved_usd(&self, policy: usize) -> f64 {
        self.paid_usd - self.with_usd.get(policy).copied().unwrap_or(self.paid_usd)
    }
}

/// One session.
#[derive(Debug, Clone)]
pub struct SessionLine {
    /// Whose it is.
    pub agent: Option<Agent>,
    /// Its id.
    pub session: String,
    /// The folder that the agent worked in.
    pub project: Option<String>,
    /// Its first request, in milliseconds since 1970.
    pub from_ms: Option<i64>,
    /// Its sums.
    pub line: Line,
}

/// Requests without a known price.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unpriced {
    /// Sessions in which no request has a price. They are in no sum.
    pub sessions: usize,
    /// Requests without a price.
    pub requests: usize,
    /// The models, with their requests.
    pub models: BTreeMap<String, usize>,
}

/// All conversations together.
#[derive(Debug, Clone, Default)]
pub struct Spending {
    /// Everything.
    pub total: Line,
    /// By agent; `None` for records that are no agent's log.
    pub by_agent: BTreeMap<Option<Agent>, Line>,
    /// By model.
    pub by_model: BTreeMap<String, Line>,
    /// By day, counted since 1970, UTC; `None`: the log has no time.
    pub by_day: BTreeMap<Option<i64>, Line>,
    /// Sessions with a price, in order.
    pub sessions: Vec<SessionLine>,
    /// What has no price.
    pub unpriced: Unpriced,
    /// Requests whose log has no usage, priced by estimate.
    pub estimated_requests: usize,
    /// Requests that were found in more than one log, and counted once.
    pub repeated_requests: usize,
    /// Estimated tokens of system prompt and tools, on average over the conversations whose log tells.
    pub fixed_tokens: Option<f64>,
}

const DAY_MS: i64 = 86_400_000;

impl Spending {
    /// Adds up the requests since then.
    pub fn of(conversations: &[ConversationCost], since_ms: Option<i64>) -> Self {
        let mut spending = Self::default();
        let mut seen: HashSet<u64> = HashSet::new();
        let mut numbers: HashMap<(Option<Agent>, &str), usize> = HashMap::new();
        let mut unpriced_sessions: BTreeSet<usize> = BTreeSet::new();
        let mut lines: Vec<SessionLine> = Vec::new();
        let (mut fixed_sum, mut fixed_count) = (0.0, 0_u32);
        for conversation in conversations {
            let is_recent = |at: i64| since_ms.is_none_or(|since| at >= since);
            let mut counted: Vec<&RequestCost> = Vec::new();
            for request in &conversation.requests {
                if !request.at_ms.is_none_or(is_recent) {
                    continue;
                }
                if request.key.is_some_and(|key| !seen.insert(key)) {
                    spending.repeated_requests += 1;
                    continue;
                }
                counted.push(request);
            }
            if counted.is_empty() {
                continue;
            }
            let key = (conversation.agent, conversation.session.as_str());
            let number = *numbers.entry(key).or_insert_with(|| {
                lines.push(SessionLine {
                    agent: conversation.agent,
                    session: conversation.session.clone(),
                    project: conversation.project.clone(),
                    from_ms: None,
                    line: Line::default(),
                });
                lines.len() - 1
            });
            if let Some(tokens) = conversation.fixed_tokens {
                fixed_sum += tokens;
                fixed_count += 1;
            }
            spending.add(&counted, number, &mut lines[number], &mut unpriced_sessions);
        }
        let has_price = |number: &usize| lines[*number].line.requests > 0;
        spending.unpriced.sessions = unpriced_sessions.iter().filter(|n| !has_price(n)).count();
        spending.fixed_tokens = (fixed_count > 0).then(|| fixed_sum / f64::from(fixed_count));
        lines.retain(|line| line.line.requests > 0);
        spending.sessions = lines;
        spending
    }

    fn add(
        &mut self,
        counted: &[&RequestCost],
        number: usize,
        session: &mut SessionLine,
        unpriced_sessions: &mut BTreeSet<usize>,
    ) {
        let replayed = counted
            .iter()
            .filter(|request| request.basis != Basis::Unpriced && request.full > 0.0);
        let (mut billed, mut full) = (0.0, 0.0);
        for request in replayed {
            billed += request.input_usd;
            full += request.full;
        }
        let usd_per_unit = if full > 0.0 { billed / full } else { 0.0 };
        for request in counted {
            if request.basis == Basis::Unpriced {
                unpriced_sessions.insert(number);
                self.unpriced.requests += 1;
                let model = request.model.as_deref().unwrap_or("not named");
                *self.unpriced.models.entry(model.to_owned()).or_default() += 1;
                continue;
            }
            self.estimated_requests += usize::from(request.basis == Basis::Estimated);
            session.from_ms = match (session.from_ms, request.at_ms) {
                (Some(from), Some(at)) => Some(from.min(at)),
                (from, at) => from.or(at),
            };
            let paid = request.input_usd + request.output_usd;
            let with = |pruned: &f64| paid - (request.full - pruned) * usd_per_unit;
            let day = request.at_ms.map(|at| at.div_euclid(DAY_MS));
            let model = request.model.as_deref().unwrap_or_default();
            let model_line = match self.by_model.get_mut(model) {
                Some(line) => line,
                None => self.by_model.entry(model.to_owned()).or_default(),
            };
            let lines = [
                &mut self.total,
                self.by_agent.entry(session.agent).or_default(),
                model_line,
                self.by_day.entry(day).or_default(),
                &mut session.line,
            ];
            for line in lines {
                line.add(number, paid, request.pruned.iter().map(with));
            }
        }
    }
}
