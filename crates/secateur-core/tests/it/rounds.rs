//! Rounds: between two rounds the output only grows, and no conversation costs more than without
//! pruning, wherever it ends. On generated sessions, and on real ones if they are available
//! (`SECATEUR_DATA`, by default `../shared/data` beside the workspace).
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use secateur_core::Limits;
use secateur_core::dialect::{self, Dialect};
use secateur_core::internal::view::{Role, View};
use secateur_core::policy::Policy;
use secateur_core::report::Verdict;
use secateur_core::{Request, prune};
use secateur_testkit::session::{agent_session, support_chat};

use crate::data::rows;

/// The body with the first `items` messages only.
fn cut(view: &View<'_>, items: usize) -> Vec<u8> {
    let (body, list) = (view.body(), view.list().unwrap());
    let end = view.items()[items - 1].span.end as usize;
    let tail = &body[list.end as usize - 1..];
    [&body[..end], tail].concat().into_bytes()
}

/// How many messages each request of the conversation had.
fn requests(view: &View<'_>) -> Vec<usize> {
    let mut requests = Vec::new();
    let ids: Vec<_> = view.turn_ids().collect();
    for pair in ids.windows(2) {
        let role = |at: usize| view.turn(pair[at]).role;
        if role(1) == Role::Assistant && role(0) != Role::Assistant {
            requests.extend(view.item_index(pair[1]));
        }
    }
    requests
}

/// The bytes up to the end of the last message.
fn messages(body: &str, dialect: Dialect) -> &str {
    let view = dialect::read(body.as_bytes(), dialect, &Limits::default()).unwrap();
    &body[..view.items().last().unwrap().span.end as usize]
}

#[derive(Debug, Default)]
struct Seen {
    requests: usize,
    rounds: usize,
    pruned: usize,
}

/// Plays a conversation request by request.
fn play(body: &[u8], dialect: Dialect, policy: &Policy, seen: &mut Seen) {
    let view = dialect::read(body, dialect, &Limits::default()).unwrap();
    let request = Request {
        dialect: Some(dialect),
        ..Request::default()
    };
    let mut before = String::new();
    for items in requests(&view) {
        let sent = cut(&view, items);
        let outcome = prune(&sent, &request, policy);
        assert_eq!(outcome.error, None, "{dialect}, {items} messages");
        let account = outcome.report.account.unwrap();
        assert!(
            account.cost_with <= account.cost_without + 1e-6,
            "{dialect}, {items} messages: costs {} instead of {}",
            account.cost_with,
            account.cost_without
        );
        let out = String::from_utf8(outcome.body.into_owned()).unwrap();
        let now = messages(&out, dialect).to_owned();
        let shared = now
            .bytes()
            .zip(before.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        assert!(
            account.is_round || shared == before.len(),
            "{dialect}, {items} messages: the output does not begin with the one before:\n{}\n{}",
            String::from_utf8_lossy(
                &before.as_bytes()[shared.saturating_sub(300)..before.len().min(shared + 300)]
            ),
            String::from_utf8_lossy(
                &now.as_bytes()[shared.saturating_sub(300)..now.len().min(shared + 300)]
            ),
        );
        seen.requests += 1;
        seen.rounds += usize::from(account.is_round);
        seen.pruned += usize::from(outcome.report.verdict == Verdict::Pruned);
        before = now;
    }
}

/// `steady`, and settings of it that cut more and at once.
fn policies() -> Vec<Policy> {
    let bold = [
        "rounds.min_gain_chars=200",
        "rounds.horizon=20",
        "stale-results.min_chars=100",
        "stale-results.commands=1",
        "stale-results.named_files=3",
        "stale-results.others=2",
        "stale-results.edits=4",
        "long-arrivals.max_chars=600",
        "long-arrivals.keep_chars=300",
        "long-arrivals.other_tools=true",
    ];
    let other = [
        "m7.strategies=[\"repeated-lines\",\"old-tool-results\",\"middle-turns\",\"old-thinking\"]",
        "old-tool-results.mode=aggressive",
        "middle-turns.drop_tool_turns=true",
        "rounds.min_gain_chars=500",
        "rounds.horizon=50",
    ];
    let settings = |list: &[&str]| list.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
    [vec![], settings(&bold), settings(&other)]
        .iter()
        .map(|list| Policy::resolve(Some("steady"), None, list).unwrap())
        .collect()
}

#[test]
fn generated_sessions_only_grow_between_rounds() {
    for (number, policy) in policies().iter().enumerate() {
        let mut seen = Seen::default();
        for seed in 0..4 {
            for dialect in Dialect::ALL {
                play(
                    &agent_session(seed, 60).body(dialect),
                    dialect,
                    policy,
                    &mut seen,
                );
                play(
                    &support_chat(seed, 24).body(dialect),
                    dialect,
                    policy,
                    &mut seen,
                );
            }
        }
        println!("policy {number}: {seen:?}");
        // The last list has no arrivals, so nothing is ever saved that could pay for a round.
        assert!(
            number == 2 || seen.pruned > 100,
            "policy {number} hardly does anything: {seen:?}"
        );
        assert!(
            number != 1 || seen.rounds > 10,
            "policy {number} takes no rounds: {seen:?}"
        );
    }
}

#[test]
fn real_sessions_only_grow_between_rounds() {
    let Some(rows) = rows("sessions/claude-code.jsonl.gz") else {
        return;
    };
    let policies = policies();
    let mut seen = Seen::default();
    for (number, row) in rows.enumerate() {
        let body = serde_json::json!({ "model": "claude-opus-4-6", "messages": row["messages"] });
        let body = serde_json::to_vec(&body).unwrap();
        play(
            &body,
            Dialect::AnthropicMessages,
            &policies[number % 2],
            &mut seen,
        );
    }
    println!("{seen:?}");
    assert!(seen.requests > 7000 && seen.rounds > 100, "{seen:?}");
}
