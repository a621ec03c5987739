//! A replay that prunes only where it must is equal to one that prunes every request.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use secateur_core::{Policy, Request, prune};
use secateur_replay::{
    BodyPolicy, Measure, Pricing, RoundPolicy, RoundsSoFar, SentBody, Session, read_bytes,
    replay_steps,
};
use serde_json::json;

const STEPS: usize = 40;

fn session() -> Session {
    let mut messages = vec![json!({ "role": "user", "content": "make it build" })];
    for step in 0..STEPS {
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        // Now and then many calls together.
        for call in 0..(if step % 10 == 7 { 15 } else { 1 }) {
            let id = format!("t{step}-{call}");
            let mut text = String::new();
            for line in 0..120 {
                let _ = writeln!(
                    text,
                    "{step}.{call}: unit {} of {line} is linked",
                    line * 7 + step
                );
            }
            calls.push(json!({ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": "make" } }));
            results.push(json!({ "type": "tool_result", "tool_use_id": id, "content": text }));
        }
        messages.push(json!({ "role": "assistant", "content": calls }));
        messages.push(json!({ "role": "user", "content": results }));
    }
    messages.push(json!({ "role": "assistant", "content": "done" }));
    let row = json!({ "model": "claude-opus-4-6", "messages": messages }).to_string();
    let mut session = read_bytes("s.json", row.as_bytes()).sessions.pop().unwrap();
    session.fixed_tokens = 20_000.0;
    let cold = session.boundaries().nth(25).unwrap();
    session.cold = vec![cold];
    session
}

#[test]
fn requests_between_rounds_cost_what_they_cost_when_each_is_pruned() {
    let session = session();
    for preset in ["steady", "steady-bold", "tessera"] {
        let policy = Policy::preset(preset).unwrap();
        let pruned = AtomicUsize::new(0);
        let every = BodyPolicy(|body: &[u8]| {
            let outcome = prune(body, &Request::default(), &policy);
            let is_round = outcome
                .report
                .account
                .is_some_and(|account| account.is_round);
            (outcome.body.into_owned(), is_round)
        });
        let few = RoundPolicy(|body: &[u8]| {
            pruned.fetch_add(1, Ordering::Relaxed);
            let outcome = prune(body, &Request::default(), &policy);
            let account = outcome.report.account;
            SentBody {
                is_round: account.is_some_and(|account| account.is_round),
                rounds: account.map(|account| RoundsSoFar {
                    requests: account.requests,
                    last: account.last_round,
                }),
                body: outcome.body.into_owned(),
            }
        });
        let found = replay_steps(&session, &[&every, &few], Pricing::default(), Measure::Cost);
        assert_eq!(found[0].steps, found[1].steps, "{preset}");
        let count = pruned.load(Ordering::Relaxed);
        match preset {
            "tessera" => assert_eq!(count, STEPS + 1, "it decides at every request"),
            _ => assert!(count < STEPS * 3 / 4, "{preset}: {count}"),
        }
    }
}
