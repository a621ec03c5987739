//! The cache as providers keep it, end to end: conversations are played request by request, directly and pruned, and
//! both are billed by a simulated cache that reads the real bytes.
//!
//! On generated sessions, and on real ones if they are available (`SECATEUR_DATA`, by default `../shared/data` beside
//! the workspace).
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, in its helpers too"
)]

mod bad_markers;
mod client;
mod own_marks;
mod provider;
mod sessions;

use client::{Marks, list, mark_anthropic, requests};
use provider::Provider;
use secateur_core::Limits;
use secateur_core::cost::cache::CacheKind;
use secateur_core::dialect::{self, Dialect};
use secateur_core::internal::edit::{Action, Mark, MarkPlace};
use secateur_core::policy::Policy;
use secateur_core::report::Report;
use secateur_core::{Request, prune};
use secateur_testkit::Dice;
use serde_json::Value;

/// A conversation, its client and its provider.
pub(crate) struct Play<'p> {
    pub(crate) label: String,
    pub(crate) model: &'p str,
    pub(crate) dialect: Dialect,
    pub(crate) policy: &'p Policy,
    /// Decides the requests before which everything expires; `None`: no pauses.
    pub(crate) pauses: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) requests: usize,
    pub(crate) rounds: usize,
    pub(crate) anchors: usize,
    pub(crate) direct: f64,
    pub(crate) pruned: f64,
    /// What went wrong.
    pub(crate) broken: Vec<String>,
}

/// Removes every marker.
fn strip(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("cache_control");
            members.remove("prompt_cache_breakpoint");
            members.values_mut().for_each(strip);
        }
        Value::Array(elements) => elements.iter_mut().for_each(strip),
        _ => {}
    }
}

/// The messages of a body without markers.
fn stripped(body: &[u8], dialect: Dialect) -> Vec<Value> {
    let mut body: Value = serde_json::from_slice(body).unwrap();
    strip(&mut body);
    body[list(dialect)].as_array().unwrap().clone()
}

/// The markers of a body in the order in which a model reads it, with the block's type; top-level last.
fn markers_of(body: &[u8]) -> Vec<(String, Value)> {
    fn on(block: &Value, found: &mut Vec<(String, Value)>) {
        for key in ["cache_control", "prompt_cache_breakpoint"] {
            if let Some(marker) = block.get(key).filter(|marker| !marker.is_null()) {
                found.push((
                    block["type"].as_str().unwrap_or("").to_owned(),
                    marker.clone(),
                ));
            }
        }
        for inner in block["content"].as_array().into_iter().flatten() {
            on(inner, found);
        }
    }
    let body: Value = serde_json::from_slice(body).unwrap();
    let mut found = Vec::new();
    for key in ["tools", "system", "messages", "input"] {
        for element in body[key].as_array().into_iter().flatten() {
            on(element, &mut found);
        }
    }
    found.extend(
        body.get("cache_control")
            .map(|top| (String::new(), top.clone())),
    );
    found
}

/// The blocks that the report's plan marks.
fn anchors(report: &Report) -> Vec<&Mark> {
    let edits = report.plan.edits.iter();
    let mark = edits.filter_map(|edit| match &edit.action {
        Action::Mark(mark) => {
            assert_eq!(edit.strategy.0, "cache-anchor");
            Some(mark)
        }
        _ => None,
    });
    mark.collect()
}

impl Play<'_> {
    /// Plays all requests.
    pub(crate) fn run(&self, bodies: &[Value], seen: &mut Seen) {
        let request = Request {
            dialect: Some(self.dialect),
            model: Some(self.model),
            ..Request::default()
        };
        // Without pauses nothing expires.
        let step_seconds = if self.pauses.is_some() { 20.0 } else { 0.5 };
        let mut direct = Provider::new(self.model, self.dialect, step_seconds);
        let mut pruned = Provider::new(self.model, self.dialect, step_seconds);
        let mut dice = self.pauses.map(Dice::new);
        let mut before: Vec<Value> = Vec::new();
        for (number, body) in bodies.iter().enumerate() {
            let label = format!("{}, request {number}", self.label);
            let input = serde_json::to_vec(body).unwrap();
            let outcome = prune(&input, &request, self.policy);
            assert_eq!(outcome.error, None, "{label}");
            let output = outcome.body.into_owned();
            let report = &outcome.report;
            // People take their time; the calls of one run follow each other.
            let may_pause = user_spoke(body, self.dialect);
            if may_pause && dice.as_mut().is_some_and(|dice| dice.one_in(2)) {
                direct.expire();
                pruned.expire();
            }
            direct.send(&input);
            let read = pruned.send(&output);
            let costs = format!("{label}: costs {} instead of {}", pruned.cost, direct.cost);
            if pruned.cost > direct.cost * (1.0 + 1e-9) {
                seen.broken.push(costs);
            }
            if self.pauses.is_none() {
                seen.broken
                    .extend(wrong_prediction(&label, &pruned, report, read.end));
            }
            let is_round = report.account.is_some_and(|account| account.is_round);
            let now = stripped(&output, self.dialect);
            assert!(
                is_round || now.starts_with(&before),
                "{label}: the output does not begin with the one before"
            );
            before = now;
            markers_are_in_order(&label, &input, &output, report, is_round);
            strings_stay(&label, body, &output, report, self.dialect);
            let marks = anchors(report).len();
            seen.requests += 1;
            seen.rounds += usize::from(is_round);
            seen.anchors += marks;
        }
        seen.direct += direct.cost;
        seen.pruned += pruned.cost;
    }
}

/// Whether a request ends with something that the user wrote.
fn user_spoke(body: &Value, dialect: Dialect) -> bool {
    let text = serde_json::to_vec(body).unwrap();
    let view = dialect::read(&text, dialect, &Limits::default()).unwrap();
    view.turn_ids()
        .next_back()
        .is_some_and(|last| view.is_user_authored(last))
}

/// What the report says is read is what the provider reads.
fn wrong_prediction(
    label: &str,
    provider: &Provider,
    report: &Report,
    read: usize,
) -> Option<String> {
    let predicted = report.cached.after.read;
    let is_too_short = read == 0 && predicted < provider.min_bytes() * 6 / 5;
    // A prefix may end inside a block, which the simulated cache compares as a whole.
    let slack = if provider.kind() == CacheKind::Automatic {
        400
    } else {
        0
    };
    let is_right = is_too_short || predicted.abs_diff(read) <= slack;
    (!is_right).then(|| {
        let hit = report.cached.hit;
        format!("{label}: predicted to read up to {predicted}, read up to {read} ({hit:?})")
    })
}

/// At most four markers, none on thinking, longer lifetimes first; anchors only at rounds, with the client's lifetime.
fn markers_are_in_order(label: &str, input: &[u8], output: &[u8], report: &Report, is_round: bool) {
    let (before, after) = (markers_of(input), markers_of(output));
    assert!(after.len() <= 4, "{label}: {} markers", after.len());
    assert!(
        after.iter().all(|(block, _)| !block.ends_with("thinking")),
        "{label}: a marker on thinking"
    );
    let is_long = |(_, marker): &(String, Value)| marker["ttl"] == "1h";
    let longs = after.iter().take_while(|one| is_long(one)).count();
    assert!(
        !after[longs..].iter().any(is_long),
        "{label}: a longer lifetime after a shorter one"
    );
    let anchors = anchors(report);
    assert_eq!(after.len(), before.len() + anchors.len(), "{label}");
    assert!(anchors.len() <= 1, "{label}: two anchors");
    for anchor in anchors {
        assert!(is_round, "{label}: an anchor without a round");
        assert!(before.len() < 4, "{label}: no place was free");
        assert!(matches!(anchor.place, MarkPlace::Block(_)));
        if let Some((_, last)) = before.last() {
            let marker: Value = serde_json::from_str(&format!("{{{}}}", anchor.member)).unwrap();
            assert_eq!(
                marker["cache_control"], *last,
                "{label}: not the client's lifetime"
            );
        }
    }
}

/// Content given as a string is still a string.
fn strings_stay(label: &str, body: &Value, output: &[u8], report: &Report, dialect: Dialect) {
    let after: Value = serde_json::from_slice(output).unwrap();
    let (before, after) = (&body[list(dialect)], &after[list(dialect)]);
    let count = |list: &Value| {
        let items = list.as_array().unwrap().iter();
        items.filter(|item| item["content"].is_string()).count()
    };
    if report.turns_removed == 0 {
        assert_eq!(
            count(before),
            count(after),
            "{label}: a string became blocks"
        );
    }
}

/// The requests of an Anthropic client.
pub(crate) fn anthropic(whole: &Value, marks: Marks) -> Vec<Value> {
    let mut bodies = requests(whole, Dialect::AnthropicMessages);
    for body in &mut bodies {
        mark_anthropic(body, marks);
    }
    bodies
}

impl Seen {
    /// Fails if anything went wrong.
    pub(crate) fn check(&self, label: &str) {
        let share = self.pruned / self.direct;
        println!(
            "{label}: {} requests, {} rounds, {} anchors, costs {share:.3}",
            self.requests, self.rounds, self.anchors
        );
        assert!(self.broken.is_empty(), "{:#?}", self.broken);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.rounds += other.rounds;
        self.anchors += other.anchors;
    }
}
