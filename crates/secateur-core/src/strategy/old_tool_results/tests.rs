//! Thresholds at, below and above; the three modes; what is left alone.

use crate::plan::edit::SkipReason;
use crate::read::dialect::Dialect;
use crate::strategy::tests::bodies::{Pruned, Say, exchange, model, pruned, user};

const CLEARED: &str = "[Old tool result content cleared]";

fn run(dialect: Dialect, says: &[Say], options: &str) -> Pruned {
    let policy = format!("strategies = [\"old-tool-results\"]\n[old-tool-results]\n{options}\n");
    pruned(dialect, says, &policy)
}

/// A task, then exchanges with results of these lengths, then three answers.
fn session(lengths: &[usize]) -> Vec<Say> {
    let mut says = vec![user("task")];
    for &length in lengths {
        says.extend(exchange("read", &"r".repeat(length)));
    }
    for _ in 0..3 {
        says.extend([user("go on"), model("done")]);
    }
    says
}

/// Characters of a session that count: its texts and `{}` for each call's arguments.
fn total(lengths: &[usize]) -> usize {
    let results: usize = lengths.iter().sum();
    4 + results + 2 * lengths.len() + 3 * ("go on".len() + "done".len())
}

fn reason(found: &Pruned) -> Option<SkipReason> {
    found.report.plan.skips.first().map(|skip| skip.reason)
}

#[test]
fn a_long_result_keeps_head_and_tail_in_every_dialect() {
    for dialect in Dialect::ALL {
        let found = run(dialect, &session(&[5000, 4000]), "window_tokens = 4000");
        let expected = format!(
            "{0}\n...\n{0}\n\n[Tool result trimmed: kept first 1500 chars and last 1500 chars of \
             5000 chars.]",
            "r".repeat(1500)
        );
        assert_eq!(found.turns[2], expected, "{dialect}");
        assert_eq!(found.turns[4], "r".repeat(4000), "{dialect}");
    }
}

#[test]
fn trims_from_the_soft_ratio_on_and_not_below() {
    let lengths = [5001];
    let options = |window_chars: usize| {
        format!(
            "window_tokens = {}\nsoft_trim_ratio = 0.5\nhard_clear_ratio = 2.0",
            window_chars / 4
        )
    };
    // The session is exactly half of the window, or a token less than that.
    let exact = total(&lengths) * 2;
    assert_eq!(exact % 4, 0);
    for dialect in Dialect::ALL {
        assert!(
            !run(dialect, &session(&lengths), &options(exact))
                .report
                .plan
                .edits
                .is_empty()
        );
        let above = run(dialect, &session(&lengths), &options(exact + 4));
        assert_eq!(
            reason(&above),
            Some(SkipReason::ContextIsSmall),
            "{dialect}"
        );
    }
}

#[test]
fn a_result_is_trimmed_above_max_chars_and_not_at_it() {
    for (length, is_trimmed) in [(3999, false), (4000, false), (4001, true)] {
        let found = run(
            Dialect::OpenaiChat,
            &session(&[length]),
            "soft_trim_ratio = 0.0\nhard_clear_ratio = 9.0",
        );
        assert_eq!(!found.report.plan.edits.is_empty(), is_trimmed, "{length}");
    }
}

#[test]
fn clears_the_oldest_first_until_the_ratio_is_reached() {
    let lengths = [3000; 6];
    let options = "window_tokens = 5000\nmin_prunable_tool_chars = 0";
    for dialect in Dialect::ALL {
        let found = run(dialect, &session(&lengths), options);
        let cleared = found.turns.iter().filter(|turn| *turn == CLEARED).count();
        // 18,043 of 20,000 characters; three gone leave 9,142, which is under half.
        assert_eq!(cleared, 3, "{dialect}: {:?}", found.turns.len());
        assert_eq!(found.turns[2], CLEARED);
        assert_eq!(found.turns[6], CLEARED);
        assert_ne!(found.turns[8], CLEARED);
    }
}

#[test]
fn clears_only_if_the_results_hold_enough_together() {
    let prunable = 6 * 3000;
    for (minimum, clears) in [(prunable, true), (prunable + 1, false)] {
        let options = format!("window_tokens = 5000\nmin_prunable_tool_chars = {minimum}");
        let found = run(Dialect::AnthropicMessages, &session(&[3000; 6]), &options);
        assert_eq!(
            found.turns.contains(&CLEARED.to_owned()),
            clears,
            "{minimum}"
        );
    }
}

#[test]
fn a_trimmed_result_can_be_cleared_in_the_same_request() {
    let options = "window_tokens = 1000\nmin_prunable_tool_chars = 0";
    for dialect in Dialect::ALL {
        let found = run(dialect, &session(&[9000, 9000]), options);
        assert_eq!(found.turns[2], CLEARED, "{dialect}");
        let parts = found
            .report
            .plan
            .edits
            .iter()
            .map(crate::plan::edit::Edit::target);
        assert_eq!(parts.collect::<std::collections::BTreeSet<_>>().len(), 2);
        assert_eq!(found.report.plan.edits.len(), 2, "one edit for each result");
    }
}

#[test]
fn hard_clear_can_be_switched_off_but_not_in_aggressive_mode() {
    let off = "hard_clear = { enabled = false }\nwindow_tokens = 100\nmin_prunable_tool_chars = 0";
    let says = session(&[3000; 2]);
    let found = run(Dialect::AnthropicMessages, &says, off);
    assert!(found.report.plan.edits.is_empty());
    let found = run(
        Dialect::AnthropicMessages,
        &says,
        &format!("mode = \"aggressive\"\n{off}"),
    );
    assert_eq!(found.turns[2], CLEARED);
    let found = run(Dialect::AnthropicMessages, &says, "mode = \"off\"");
    assert_eq!(reason(&found), Some(SkipReason::NotOptedIn));
}

#[test]
fn aggressive_clears_every_old_result_and_skips_what_would_not_shrink() {
    for dialect in Dialect::ALL {
        let found = run(
            dialect,
            &session(&[200, 33, 34, 5]),
            "mode = \"aggressive\"",
        );
        let changed: Vec<bool> = [2, 4, 6, 8]
            .map(|at| found.turns[at] == CLEARED)
            .into_iter()
            .collect();
        assert_eq!(changed, [true, false, true, false], "{dialect}");
        let not_smaller = |skip: &&crate::plan::edit::Skip| skip.reason == SkipReason::NotSmaller;
        assert_eq!(
            found.report.plan.skips.iter().filter(not_smaller).count(),
            2
        );
    }
}

#[test]
fn fewer_than_three_assistant_messages_protect_everything() {
    for dialect in Dialect::ALL {
        let mut says = vec![user("task")];
        says.extend(exchange("read", &"r".repeat(9000)));
        says.extend([user("and?"), model("done")]);
        let found = run(dialect, &says, "mode = \"aggressive\"");
        assert_eq!(reason(&found), Some(SkipReason::TooFewTurns), "{dialect}");
        // With three, the cutoff is the first one: its own result is still protected.
        says.extend([user("more"), model("done")]);
        let found = run(dialect, &says, "mode = \"aggressive\"");
        assert!(found.report.plan.edits.is_empty(), "{dialect}");
        says.extend([user("more"), model("done")]);
        let found = run(dialect, &says, "mode = \"aggressive\"");
        assert_eq!(found.turns[2], CLEARED, "{dialect}");
    }
}

#[test]
fn keeping_no_assistant_message_protects_nothing() {
    let mut says = vec![user("task")];
    says.extend(exchange("read", &"r".repeat(900)));
    for dialect in Dialect::ALL {
        let found = run(
            dialect,
            &says,
            "mode = \"aggressive\"\nkeep_last_assistants = 0",
        );
        assert_eq!(found.turns[2], CLEARED, "{dialect}");
    }
}

#[test]
fn a_result_with_an_image_is_left_alone_and_an_image_counts_8000_characters() {
    let mut says = vec![user("task"), Say::Call("shot")];
    says.push(Say::ResultWithPicture("r".repeat(9000)));
    says.extend(session(&[4500])[1..].to_vec());
    says.push(Say::Picture);
    for dialect in Dialect::ALL {
        let found = run(dialect, &says, "mode = \"aggressive\"");
        assert!(found.turns[2].starts_with("rrr"), "{dialect}");
        assert_eq!(found.turns[4], CLEARED, "{dialect}");
        // 9,000 + 4,500 + two images: over 0.3 of 90,000, and under it without one of them.
        let found = run(dialect, &says, "window_tokens = 22500");
        assert!(found.turns[4].contains("\n...\n"), "{dialect}");
        let found = run(dialect, &says[..says.len() - 1], "window_tokens = 22500");
        assert_eq!(found.turns[4].len(), 4500, "{dialect}");
    }
}

#[test]
fn tools_are_chosen_by_pattern_whatever_the_case() {
    let mut says = vec![user("task")];
    for tool in ["Read", "Bash", "mcp__browser__click"] {
        says.extend(exchange(tool, &"r".repeat(900)));
    }
    says.extend(session(&[])[1..].to_vec());
    for dialect in Dialect::ALL {
        let cleared = |tools: &str| {
            let options = format!("mode = \"aggressive\"\ntools = {tools}");
            let found = run(dialect, &says, &options);
            [2, 4, 6].map(|at| found.turns[at] == CLEARED)
        };
        assert_eq!(cleared("{}"), [true, true, true], "{dialect}");
        assert_eq!(cleared("{ allow = ['READ', 'b*h'] }"), [true, true, false]);
        assert_eq!(cleared("{ deny = ['MCP__*'] }"), [true, true, false]);
        assert_eq!(
            cleared("{ allow = ['*'], deny = ['read'] }"),
            [false, true, true]
        );
    }
}

#[test]
fn a_described_placeholder_says_what_ran_and_is_recognised() {
    let mut says = vec![user("task"), Say::Call("bash")];
    says.push(Say::Failed(format!(
        "error: no such file\n{}",
        "x".repeat(900)
    )));
    says.extend(session(&[90])[1..].to_vec());
    let options = "mode = \"aggressive\"\nhard_clear = { style = \"described\" }";
    let found = run(Dialect::AnthropicMessages, &says, options);
    assert_eq!(
        found.turns[2],
        "[Output of bash removed to save space (920 characters). The tool reported an error. \
         Outcome: \"error: no such file\". Run it again if you need all of it.]"
    );
    let short =
        "[Output of read removed to save space (90 characters). Call it again if you need it.]";
    assert_eq!(found.turns[4], short, "no room for its first line");
}

#[test]
fn mid_trim_runs_between_trimming_and_clearing() {
    let mut says = vec![user("task")];
    says.extend(exchange("read", &"r".repeat(3000)));
    says.push(user(&"Look at this. ".repeat(300)));
    for _ in 0..8 {
        says.extend([model("done"), user("go on")]);
    }
    // With the condensed message the session is under half of 8,000 characters, without it is not.
    let options = "window_tokens = 2000\nmin_prunable_tool_chars = 0\n";
    for dialect in Dialect::ALL {
        let found = run(dialect, &says, options);
        assert!(
            found.turns[3].ends_with("this.\n[Message condensed]"),
            "{dialect}"
        );
        assert_eq!(found.turns[2].len(), 3000, "{dialect}");
        let without = format!("{options}mid_trim = {{ turns_threshold = 0 }}");
        let found = run(dialect, &says, &without);
        assert_eq!(found.turns[2], CLEARED, "{dialect}");
        assert_eq!(found.turns[3].len(), 4200, "{dialect}");
    }
}

#[test]
fn a_blank_placeholder_falls_back_and_a_padded_one_is_trimmed() {
    for (placeholder, expected) in [("  ", CLEARED), ("  [cleared]  ", "[cleared]")] {
        let options =
            format!("mode = \"aggressive\"\nhard_clear = {{ placeholder = \"{placeholder}\" }}");
        let found = run(Dialect::OpenaiResponses, &session(&[900]), &options);
        assert_eq!(found.turns[2], expected);
    }
}

#[test]
fn cuts_fall_on_characters_and_on_lines_if_asked() {
    let text = "é漢🙂\n".repeat(2000);
    let mut says = vec![user("task")];
    says.extend(exchange("read", &text));
    says.extend(session(&[])[1..].to_vec());
    let options = "soft_trim_ratio = 0.0\nhard_clear_ratio = 9.0\nsnap_to_lines = true\n\
                   soft_trim = { max_chars = 100, head_chars = 50, tail_chars = 50 }";
    for dialect in Dialect::ALL {
        let found = run(dialect, &says, options);
        let (head, tail) = found.turns[2].split_once("\n...\n").unwrap();
        assert!(
            head.ends_with("é漢🙂") && tail.starts_with("é漢🙂\n"),
            "{dialect}"
        );
        assert!(
            tail.contains("kept first 47 chars and last 48 chars of 8000 chars."),
            "{tail}"
        );
    }
}
