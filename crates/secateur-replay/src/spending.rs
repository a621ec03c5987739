//! What recorded sessions cost in dollars, and what they would have cost under a policy.
//!
//! What was paid follows from the billed usage in the log, at list prices. A replay gives the share of the input that a
//! policy saves: the billed input of a conversation is divided among its requests as the replay without pruning divides
//! it, and each request saves what the replay with pruning saves of it. Output is not changed. Without billed usage
//! in the log, what was paid is the replay's own estimate.
//!
//! Sums are taken in the order of the conversations, so they do not depend on how many threads made the parts.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::agent::Agent;
use crate::conversation_cost::{Basis, ConversationCost, RequestCost};

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
    /// Estimated tokens of system prompt and tools, on average over the conversations whose log has it.
    pub fixed_tokens: Option<f64>,
}

const DAY_MS: i64 = 86_400_000;

/// Adds up conversations one by one. Holds a line for each session and the keys of the requests.
#[derive(Debug, Default)]
pub struct SpendingSum {
    since_ms: Option<i64>,
    spending: Spending,
    lines: Vec<SessionLine>,
    /// Places in `lines`.
    numbers: HashMap<(Option<Agent>, String), usize>,
    seen: HashSet<u64>,
    unpriced_sessions: BTreeSet<usize>,
    fixed_sum: f64,
    fixed_count: u32,
}

impl SpendingSum {
    /// Requests since then count; `None`: all.
    pub fn new(since_ms: Option<i64>) -> Self {
        Self {
            since_ms,
            ..Self::default()
        }
    }

    /// Adds a conversation.
    pub fn add(&mut self, conversation: &ConversationCost) {
        let mut counted: Vec<&RequestCost> = Vec::new();
        for request in &conversation.requests {
            let is_old = |at: i64| self.since_ms.is_some_and(|since| at < since);
            if request.at_ms.is_some_and(is_old) {
                continue;
            }
            if request.key.is_some_and(|key| !self.seen.insert(key)) {
                self.spending.repeated_requests += 1;
                continue;
            }
            counted.push(request);
        }
        if counted.is_empty() {
            return;
        }
        if let Some(tokens) = conversation.fixed_tokens {
            self.fixed_sum += tokens;
            self.fixed_count += 1;
        }
        let number = self.number_of(conversation);
        let usd_per_unit = usd_per_unit(&counted);
        for request in counted {
            if request.basis == Basis::Unpriced {
                self.unpriced_sessions.insert(number);
                self.spending.unpriced.add(request);
            } else {
                self.spending
                    .add(request, number, &mut self.lines[number], usd_per_unit);
            }
        }
    }

    /// The number of a conversation's session.
    fn number_of(&mut self, conversation: &ConversationCost) -> usize {
        let key = (conversation.agent, conversation.session.clone());
        *self.numbers.entry(key).or_insert_with(|| {
            self.lines.push(SessionLine {
                agent: conversation.agent,
                session: conversation.session.clone(),
                project: conversation.project.clone(),
                from_ms: None,
                line: Line::default(),
            });
            self.lines.len() - 1
        })
    }

    /// The sums.
    pub fn finish(self) -> Spending {
        let Self {
            mut spending,
            mut lines,
            ..
        } = self;
        let has_price = |number: &usize| lines[*number].line.requests > 0;
        let unpriced = self.unpriced_sessions.iter();
        spending.unpriced.sessions = unpriced.filter(|number| !has_price(number)).count();
        spending.fixed_tokens =
            (self.fixed_count > 0).then(|| self.fixed_sum / f64::from(self.fixed_count));
        lines.retain(|line| line.line.requests > 0);
        spending.sessions = lines;
        spending
    }
}

/// What a token of plain input was worth in a conversation, by what was billed for the requests that were replayed.
fn usd_per_unit(requests: &[&RequestCost]) -> f64 {
    let (mut billed, mut full) = (0.0, 0.0);
    for request in requests {
        if request.basis != Basis::Unpriced && request.full > 0.0 {
            billed += request.input_usd;
            full += request.full;
        }
    }
    if full > 0.0 { billed / full } else { 0.0 }
}

impl Unpriced {
    fn add(&mut self, request: &RequestCost) {
        self.requests += 1;
        let model = request.model.as_deref().unwrap_or("not named");
        *self.models.entry(model.to_owned()).or_default() += 1;
    }
}

impl Spending {
    fn add(
        &mut self,
        request: &RequestCost,
        number: usize,
        session: &mut SessionLine,
        usd_per_unit: f64,
    ) {
        self.estimated_requests += usize::from(request.basis == Basis::Estimated);
        session.from_ms = match (session.from_ms, request.at_ms) {
            (Some(from), Some(at)) => Some(from.min(at)),
            (from, at) => from.or(at),
        };
        let paid = request.input_usd + request.output_usd;
        let with = |pruned: &f64| paid - (request.full - pruned) * usd_per_unit;
        let day = request.at_ms.map(|at| at.div_euclid(DAY_MS));
        let model = request.model.as_deref().unwrap_or_default();
        let lines = [
            &mut self.total,
            self.by_agent.entry(session.agent).or_default(),
            self.by_model.entry(model.to_owned()).or_default(),
            self.by_day.entry(day).or_default(),
            &mut session.line,
        ];
        for line in lines {
            line.add(number, paid, request.pruned.iter().map(with));
        }
    }
}
