//! The text of the message and its position.

use crate::plan::edit::SkipReason;
use crate::read::dialect::Dialect;
use crate::strategy::tests::bodies::{Pruned, Say, exchange, model, pruned, user};

fn run(dialect: Dialect, says: &[Say], options: &str) -> Pruned {
    let policy = format!("strategies = [\"summarized-turns\"]\n[summarized-turns]\n{options}\n");
    pruned(dialect, says, &policy)
}

/// user, call, result, answer, three times over.
fn session() -> Vec<Say> {
    let mut says = Vec::new();
    for at in 0..3 {
        says.push(user(&format!("question {at}, in some more words")));
        says.extend(exchange(
            "read",
            &format!("result {at} {}", "r".repeat(200)),
        ));
        says.push(model(&format!("answer {at}")));
    }
    says
}

#[test]
fn older_turns_become_one_message_with_their_number() {
    for dialect in Dialect::ALL {
        for (max_turns, count, next) in [
            (4, 8, "question 2, in some more words"),
            // A call can begin the window, because the message before it is a user's.
            (7, 5, "call read"),
            // Between a call and its result: the call stays.
            (6, 5, "call read"),
            (5, 7, "answer 1"),
        ] {
            let found = run(dialect, &session(), &format!("max_turns = {max_turns}"));
            let heading = format!("[Previous context: {count} turns summarized]");
            assert_eq!(found.turns[0], heading, "{dialect} {max_turns}");
            assert_eq!(found.turns[1], next, "{dialect} {max_turns}");
            assert_eq!(found.turns.len(), 1 + 12 - count, "{dialect} {max_turns}");
            assert_eq!(found.report.turns_removed, count);
        }
    }
}

#[test]
fn turns_with_less_text_than_the_message_stay() {
    let says: Vec<Say> = (0..6).flat_map(|_| [user("a"), model("b")]).collect();
    for dialect in Dialect::ALL {
        let found = run(dialect, &says, "max_turns = 2");
        assert!(found.report.plan.edits.is_empty(), "{dialect}");
        assert_eq!(found.report.plan.skips[0].reason, SkipReason::NotSmaller);
    }
}

#[test]
fn short_conversations_and_short_histories_stay() {
    for dialect in Dialect::ALL {
        let found = run(dialect, &session(), "max_turns = 12");
        assert_eq!(found.report.plan.skips[0].reason, SkipReason::NothingToCut);
        let says = [user("a"), model("b"), user("c")];
        let found = run(dialect, &says[1..], "max_turns = 1");
        assert!(found.report.plan.edits.is_empty(), "{dialect}");
    }
    let found = run(
        Dialect::OpenaiChat,
        &[user("a"), model("b")],
        "max_turns = 1",
    );
    assert!(
        found.report.plan.edits.is_empty(),
        "the message would be longer"
    );
}

#[test]
fn the_last_user_message_stays_and_does_not_count() {
    let mut says = session();
    says.push(user("question 3"));
    for _ in 0..4 {
        says.extend(exchange("read", &"r".repeat(300)));
    }
    for dialect in Dialect::ALL {
        let found = run(dialect, &says, "max_turns = 2");
        assert_eq!(
            found.turns[0], "[Previous context: 18 turns summarized]",
            "{dialect}"
        );
        assert_eq!(found.turns[1], "question 3", "{dialect}");
        assert_eq!(found.turns.len(), 4, "{dialect}");
    }
}

#[test]
fn an_earlier_summary_counts_for_the_turns_it_tells_of() {
    let mut says = vec![user("[Previous context: 30 turns summarized]")];
    says.extend(session());
    for dialect in Dialect::ALL {
        let found = run(dialect, &says, "max_turns = 4");
        assert_eq!(
            found.turns[0], "[Previous context: 38 turns summarized]",
            "{dialect}"
        );
    }
}

#[test]
fn a_digest_names_tools_files_errors_and_decisions() {
    let call = |at: usize, name: &str, path: &str| {
        // Agents name the argument in several ways.
        let key = if at == 1 { "filePath" } else { "file_path" };
        serde_json::json!({"role": "assistant", "content": [
            {"type": "text", "text": "Let me look. I will use a span scanner. Then test it."},
            {"type": "tool_use", "id": format!("t{at}"), "name": name, "input": {key: path}}]})
    };
    let result = |at: usize, is_error: bool| {
        serde_json::json!({"role": "user", "content": [{"type": "tool_result",
            "tool_use_id": format!("t{at}"), "is_error": is_error,
            "content": format!("\nno such file\n{}", "x".repeat(200))}]})
    };
    let mut messages = vec![serde_json::json!({"role": "user", "content": "task"})];
    for (at, (name, path)) in [("Read", "a.rs"), ("Edit", "b.rs"), ("Read", "a.rs")]
        .into_iter()
        .enumerate()
    {
        messages.extend([call(at, name, path), result(at, at == 1)]);
    }
    messages.push(serde_json::json!({"role": "assistant", "content": "done"}));
    messages.push(serde_json::json!({"role": "user", "content": "next"}));
    let body = serde_json::json!({"messages": messages}).to_string();
    let policy = "strategies = [\"summarized-turns\"]\n[summarized-turns]\nmax_turns = 1\n\
                  summary = \"digest\"\n";
    let run = |body: &[u8]| {
        crate::strategy::tests::bodies::pruned_once(Dialect::AnthropicMessages, body, policy)
    };
    let found = run(body.as_bytes());
    assert_eq!(
        found.turns[0],
        "[Previous context: 8 turns summarized]\nTools called: Read ×2, Edit ×1\nFiles touched: \
         b.rs, a.rs\nErrors: Edit: no such file\nDecisions: I will use a span scanner."
    );
    assert_eq!(run(body.as_bytes()).turns, found.turns);
    for dialect in Dialect::ALL {
        let found = crate::strategy::tests::bodies::pruned(dialect, &session(), policy);
        assert!(
            found.turns[0].ends_with("\nTools called: read ×3"),
            "{dialect}"
        );
    }
}
