//! Pricing and scoring on sessions small enough to compute by hand.

use std::sync::Arc;

use secateur_replay::{
    BodyPolicy, PartKind, Policy, Pricing, Pruned, Session, Totals, read_bytes, replay,
};

const LINE: &str = "let answer = compute_the_answer(42);";

fn session() -> Session {
    let rows = serde_json::json!({ "messages": [
        { "role": "user", "content": "fix it" },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "t", "name": "Read", "input": { "file_path": "/src/main.rs" } }] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t", "content": format!("{LINE}\nother line that nobody wants") }] },
        { "role": "assistant", "content": [{ "type": "text", "text": "ok" }] },
        { "role": "user", "content": "go on" },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "u", "name": "Edit", "input": { "old_string": LINE } }] },
    ]});
    read_bytes("s.json", rows.to_string().as_bytes())
        .sessions
        .remove(0)
}

fn whole(session: &Session, upto: usize) -> Pruned {
    Pruned::whole(session, upto)
}

/// Clears every result that the assistant has answered.
fn cleared(session: &Session, upto: usize) -> Pruned {
    let mut pruned = Pruned::whole(session, upto);
    let last = pruned.messages.len() - 1;
    for part in pruned.messages[..last]
        .iter_mut()
        .flat_map(|m| &mut m.parts)
        .filter(|p| p.kind == PartKind::ToolResult)
    {
        part.text = Arc::from("gone");
    }
    pruned
}

fn run(policy: &dyn Policy) -> Totals {
    replay(&[session()], &[policy], Pricing::default(), 2, &|_, _| {}).swap_remove(0)
}

#[test]
fn no_pruning_costs_what_it_costs_and_loses_nothing() {
    let totals = run(&whole);
    assert!((totals.bill() - 1.0).abs() < 1e-12);
    assert_eq!((totals.ids(), totals.lines()), (1.0, 1.0));
    assert_eq!(totals.sessions[0].requests, 3);
}

#[test]
fn the_cost_is_reads_of_the_shared_prefix_and_writes_of_the_rest() {
    let session = session();
    let chars: Vec<f64> = session
        .messages
        .iter()
        .map(|m| m.parts.iter().map(|p| p.text.chars().count() as f64).sum())
        .collect();
    let first = 1.25 * chars[0];
    let second = 0.1 * chars[0] + 1.25 * (chars[1] + chars[2]);
    let third = 0.1 * (chars[0] + chars[1] + chars[2]) + 1.25 * (chars[3] + chars[4]);
    let expected = (first + second + third) / 2.6;
    assert!((run(&whole).sessions[0].cost - expected).abs() < 1e-9);
}

#[test]
fn a_cleared_line_is_counted_as_lost_and_breaks_the_prefix_there() {
    let totals = run(&cleared);
    assert_eq!(totals.lines(), 0.0);
    assert!(totals.ids() < 1.0);
    let session = session();
    let chars: Vec<f64> = session
        .messages
        .iter()
        .map(|m| m.parts.iter().map(|p| p.text.chars().count() as f64).sum())
        .collect();
    // The last entry before the cut is at the end of the first request.
    let third = 0.1 * chars[0] + 1.25 * (chars[1] + 4.0 + chars[3] + chars[4]);
    let expected = (1.25 * chars[0] + 0.1 * chars[0] + 1.25 * (chars[1] + chars[2]) + third) / 2.6;
    assert!((totals.sessions[0].cost - expected).abs() < 1e-9);
}

#[test]
fn a_policy_on_bytes_scores_as_the_same_policy_on_messages() {
    let on_bytes = BodyPolicy(|body: &[u8]| {
        let mut value: serde_json::Value = serde_json::from_slice(body).unwrap();
        let messages = value["messages"].as_array_mut().unwrap();
        let last = messages.len() - 1;
        for message in &mut messages[..last] {
            if let Some(block) = message["content"]
                .as_array_mut()
                .and_then(|c| c.iter_mut().find(|b| b["type"] == "tool_result"))
            {
                block["content"] = "gone".into();
            }
        }
        (value.to_string().into_bytes(), false)
    });
    let (bytes, messages) = (run(&on_bytes), run(&cleared));
    assert_eq!(bytes.sessions, messages.sessions);
}

#[test]
fn a_trace_tells_each_request_and_adds_up_to_the_score() {
    let session = session();
    let steps = secateur_replay::trace(&session, &cleared, Pricing::default());
    let score = run(&cleared).sessions.swap_remove(0);
    assert_eq!(steps.len(), score.requests);
    let sum = |of: fn(&secateur_replay::Step) -> f64| steps.iter().map(of).sum::<f64>();
    assert!((sum(|step| step.tokens) - score.tokens).abs() < 1e-9);
    assert!((sum(|step| step.full_tokens) - score.full_tokens).abs() < 1e-9);
    assert!((sum(|step| step.cache_read) - score.cache_read).abs() < 1e-9);
    assert!(steps[2].tokens < steps[2].full_tokens);
}
