//! The boundary, the protected tools, the budget and the words.

use super::*;
use crate::read::dialect::Dialect;
use crate::strategy::tests::bodies::{Pruned, Say, exchange, model, pruned, user};

const COMPACTED: &str = "<tool-output-compacted />";

fn run(dialect: Dialect, says: &[Say], options: &str) -> Pruned {
    let policy = format!(
        "strategies = [\"unprotected-tool-outputs\"]\n[unprotected-tool-outputs]\n{options}\n"
    );
    pruned(dialect, says, &policy)
}

/// Exchanges with outputs of these lengths, then two user turns.
fn session(lengths: &[usize]) -> Vec<Say> {
    let mut says = vec![user("task")];
    for &length in lengths {
        says.extend(exchange("bash", &"o".repeat(length)));
    }
    says.extend([model("done"), user("next"), model("ok"), user("last")]);
    says
}

fn compacted(found: &Pruned) -> Vec<usize> {
    let is_compacted = |(at, turn): (usize, &String)| (turn == COMPACTED).then_some(at);
    found
        .turns
        .iter()
        .enumerate()
        .filter_map(is_compacted)
        .collect()
}

#[test]
fn the_worked_example_with_ten_messages() {
    let mut says = vec![user("a")];
    says.extend(exchange("read_file", &"f".repeat(300)));
    says.push(user("b"));
    says.extend(exchange("skill", &"s".repeat(300)));
    says.extend(exchange("edit_file", &"e".repeat(300)));
    says.extend([user("c"), model("d")]);
    assert_eq!(says.len(), 10);
    for dialect in Dialect::ALL {
        assert_eq!(compacted(&run(dialect, &says, "")), [2], "{dialect}");
        // Only the last user turn protected: the skill's output stays for its name alone.
        let found = run(dialect, &says, "skip_user_turns = 1");
        assert_eq!(compacted(&found), [2, 7], "{dialect}");
        let found = run(dialect, &says, "skip_user_turns = 1\nprotected_tools = []");
        assert_eq!(compacted(&found), [2, 5, 7], "{dialect}");
    }
}

#[test]
fn protected_tools_take_wildcards_and_any_case() {
    let mut says = vec![user("task")];
    for tool in ["Skill", "memory_store", "memory_read", "bash"] {
        says.extend(exchange(tool, &"o".repeat(300)));
    }
    says.extend([model("done"), user("next"), model("ok"), user("last")]);
    for dialect in Dialect::ALL {
        assert_eq!(compacted(&run(dialect, &says, "")), [4, 6, 8], "{dialect}");
        let found = run(dialect, &says, "protected_tools = ['SKILL', 'Memory_*']");
        assert_eq!(compacted(&found), [8], "{dialect}");
    }
}

#[test]
fn fewer_user_turns_than_are_protected_prune_nothing() {
    for dialect in Dialect::ALL {
        let mut says = vec![user("task")];
        says.extend(exchange("bash", &"o".repeat(300)));
        let found = run(dialect, &says, "");
        let reason = found.report.plan.skips[0].reason;
        assert_eq!(reason, SkipReason::TooFewTurns, "{dialect}");
        // Messages with only results are no user turns: with two of them, the first is the boundary.
        says.push(user("last"));
        assert!(compacted(&run(dialect, &says, "")).is_empty(), "{dialect}");
        let found = run(dialect, &says, "skip_user_turns = 0");
        assert_eq!(compacted(&found), [2], "{dialect}");
    }
}

#[test]
fn the_newest_outputs_stay_up_to_the_budget() {
    // 100 tokens each; the one that crosses the budget goes too.
    let says = session(&[400; 5]);
    for (protect, expected) in [
        (0, vec![2, 4, 6, 8, 10]),
        (99, vec![2, 4, 6, 8, 10]),
        (100, vec![2, 4, 6, 8]),
        (300, vec![2, 4]),
        (500, vec![]),
    ] {
        for dialect in Dialect::ALL {
            let found = run(dialect, &says, &format!("protect_tokens = {protect}"));
            assert_eq!(compacted(&found), expected, "{dialect} {protect}");
        }
    }
}

#[test]
fn nothing_is_cut_unless_more_than_the_minimum_is_freed() {
    let says = session(&[400; 5]);
    for (minimum, cuts) in [(499, true), (500, false), (501, false)] {
        let found = run(
            Dialect::AnthropicMessages,
            &says,
            &format!("minimum_tokens = {minimum}"),
        );
        assert_eq!(!compacted(&found).is_empty(), cuts, "{minimum}");
    }
}

#[test]
fn failed_results_can_be_kept() {
    let mut says = vec![
        user("task"),
        Say::Call("bash"),
        Say::Failed("e".repeat(300)),
    ];
    says.extend(session(&[300])[1..].to_vec());
    for dialect in [Dialect::AnthropicMessages, Dialect::GeminiGenerateContent] {
        assert_eq!(compacted(&run(dialect, &says, "")), [2, 4], "{dialect}");
        let found = run(dialect, &says, "keep_errors = true");
        assert_eq!(compacted(&found), [4], "{dialect}");
    }
}

#[test]
fn short_outputs_and_outputs_with_images_stay() {
    let mut says = vec![user("task"), Say::Call("shot")];
    says.push(Say::ResultWithPicture("o".repeat(300)));
    says.extend(session(&[COMPACTED.len(), COMPACTED.len() + 1])[1..].to_vec());
    for dialect in Dialect::ALL {
        assert_eq!(compacted(&run(dialect, &says, "")), [6], "{dialect}");
    }
}

#[test]
fn outputs_can_be_described_or_keep_their_head_and_tail() {
    let says = session(&[5000, 40]);
    for dialect in Dialect::ALL {
        let found = run(dialect, &says, "placeholder = \"described\"");
        let start = "[Output of bash removed to save space (5,000 characters). It began: ";
        assert!(found.turns[2].starts_with(start), "{dialect}");
        assert_eq!(
            found.turns[4], COMPACTED,
            "{dialect}: no room for a description"
        );
        let found = run(
            dialect,
            &says,
            "keep_head_chars = 100\nkeep_tail_chars = 50",
        );
        assert!(found.turns[2].contains("kept first 100 chars and last 50 chars of 5000 chars."));
        assert_eq!(found.turns[4], "o".repeat(40), "{dialect}");
    }
}

#[test]
fn results_that_share_a_turn_with_the_boundarys_words_come_before_them() {
    let big = "o".repeat(300);
    let body = serde_json::json!({"messages": [
        {"role": "user", "content": "task"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "bash", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": big},
            {"type": "text", "text": "next"}]},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "last"},
    ]});
    let found = crate::strategy::tests::bodies::pruned_once(
        Dialect::AnthropicMessages,
        body.to_string().as_bytes(),
        "strategies = [\"unprotected-tool-outputs\"]\n",
    );
    assert_eq!(found.turns[2], format!("{COMPACTED} | next"));
}
