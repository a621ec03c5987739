//! The work of searching for rounds grows with the conversation and not faster: counted in visits of parts, not
//! in time.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use secateur_core::Dialect;
use secateur_core::policy::Policy;
use secateur_core::{Request, prune};
use secateur_testkit::session::agent_session;
use serde_json::json;

const TURNS: [usize; 3] = [100, 1000, 10_000];

/// Visits for each turn.
fn visits(body: &[u8], turns: usize, policy: &Policy) -> f64 {
    let request = Request {
        dialect: Some(Dialect::AnthropicMessages),
        ..Request::default()
    };
    let outcome = prune(body, &request, policy);
    assert_eq!(outcome.error, None);
    let account = outcome.report.account.unwrap();
    account.visits as f64 / turns as f64
}

fn policy(preset: &str, settings: &[&str]) -> Policy {
    let settings: Vec<String> = settings.iter().map(|&one| one.to_owned()).collect();
    Policy::resolve(Some(preset), None, &settings).unwrap()
}

/// A conversation in which everything is due and a note of the newest output pins all of it, one output by
/// the other: a search finds much to visit and nothing to cut.
fn pinned(turns: usize) -> Vec<u8> {
    let mut messages = vec![json!({"role": "user", "content": "Watch the build."})];
    for at in 0..turns / 2 {
        let line = |step: usize, line: usize| {
            format!("step {step} has now built the target of number {line} for the release\n")
        };
        let output: String = (0..3)
            .filter_map(|number| Some(line(at.checked_sub(1)?, number)))
            .chain((0..6).map(|number| line(at, number)))
            .collect();
        let id = format!("call_{at}");
        messages.push(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "make"}}]}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": output}]}));
    }
    let body = json!({"model": "claude-opus-4-6", "messages": messages});
    serde_json::to_vec(&body).unwrap()
}

/// A conversation in which every round comes before very many parts without text.
fn hollow(turns: usize) -> Vec<u8> {
    let mut messages = vec![json!({"role": "user", "content": "Watch the build."})];
    for at in 0..turns / 2 {
        let hit = |line| format!("src/a/long/way/down/to/a/file.rs:{line}:in step {at}\n");
        let hits: String = (0..20).map(hit).collect();
        let id = format!("call_{at}");
        let empty = json!({"type": "thinking", "thinking": "", "signature": "x"});
        let call = json!({"type": "tool_use", "id": id, "name": "Grep", "input": {}});
        let mut content = vec![empty; 8];
        content.push(call);
        messages.push(json!({"role": "assistant", "content": content}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": hits}]}));
    }
    let body = json!({"model": "claude-opus-4-6", "messages": messages});
    serde_json::to_vec(&body).unwrap()
}

#[test]
fn sessions_of_an_agent_take_a_few_visits_for_each_turn() {
    for preset in ["steady", "steady-bold"] {
        let policy = policy(preset, &[]);
        let per_turn = TURNS.map(|turns| {
            let body = agent_session(7, turns).body(Dialect::AnthropicMessages);
            visits(&body, turns, &policy)
        });
        assert!(per_turn[1] > 0.1, "{preset}: no part is visited");
        assert!(
            per_turn.iter().all(|&visits| visits < 60.0),
            "{preset}: {per_turn:?}"
        );
        assert!(per_turn[2] < 2.0 * per_turn[1], "{preset}: {per_turn:?}");
    }
}

/// A round is tried at every request, however much there is to visit.
const EAGER: [&str; 6] = [
    "rounds.retry_percent=0",
    "rounds.trigger_chars=0",
    "rounds.min_gain_chars=0",
    "rounds.horizon=100000",
    "stale-results.min_chars=0",
    "stale-results.searches=300",
];

#[test]
fn the_worst_conversations_take_no_more_visits_than_they_bring_in() {
    // Each part brings 64 visits, and every 16 characters one.
    for (name, make, most) in [
        ("pinned", pinned as fn(usize) -> Vec<u8>, 200.0),
        ("hollow", hollow, 400.0),
    ] {
        let policy = policy("steady", &EAGER);
        let per_turn = TURNS.map(|turns| visits(&make(turns), turns, &policy));
        assert!(
            per_turn[1] > 10.0,
            "{name}: hardly any part is visited: {per_turn:?}"
        );
        assert!(per_turn[2] < most, "{name}: {per_turn:?}");
    }
}

#[test]
fn plans_made_anew_are_linear_too() {
    let settings = [
        "m7.strategies=[\"padded-listings\",\"old-tool-results\"]",
        "old-tool-results.mode=aggressive",
    ];
    let policy = policy("steady", &[&settings[..], &EAGER[..4]].concat());
    let per_turn = TURNS.map(|turns| {
        let body = agent_session(7, turns).body(Dialect::AnthropicMessages);
        visits(&body, turns, &policy)
    });
    assert!(
        per_turn[2] < 1.2 * per_turn[1].max(per_turn[0]),
        "{per_turn:?}"
    );
}
