//! Where texts are cut, and which.

use super::*;
use crate::read::dialect::Dialect;
use crate::strategy::tests::bodies::{Pruned, Say, model, pruned, user};

fn run(dialect: Dialect, says: &[Say], options: &str) -> Pruned {
    let policy = format!("strategies = [\"long-messages\"]\n[long-messages]\n{options}\n");
    pruned(dialect, says, &policy)
}

/// The task, these messages, and then `answers` short answers.
fn session(says: &[Say], answers: usize) -> Vec<Say> {
    let mut all = vec![user(&"The task is long. ".repeat(100))];
    all.extend_from_slice(says);
    for _ in 0..answers {
        all.extend([user("go on"), model("done")]);
    }
    all
}

#[test]
fn a_text_is_cut_at_a_sentence_else_at_a_word_else_hard() {
    let at = |text: &str, limit| {
        let (end, is_sentence) = cut(text, limit);
        (text[..end].to_owned(), is_sentence)
    };
    assert_eq!(
        at("One. Two! Three four", 12),
        ("One. Two!".to_owned(), true)
    );
    assert_eq!(
        at("See main.rs at 1.5 or", 18),
        ("See main.rs at 1.5".to_owned(), false)
    );
    assert_eq!(
        at("See main.rs at 1.5 or", 17),
        ("See main.rs at".to_owned(), false)
    );
    assert_eq!(at("abcdefghij", 4), ("abcd".to_owned(), false));
    assert_eq!(at("你好。世界很大", 12), ("你好。".to_owned(), true));
    assert_eq!(at("  abcdef", 4), ("  ab".to_owned(), false));
}

#[test]
fn old_texts_are_condensed_with_a_marker_in_every_dialect() {
    let long = "A sentence here. ".repeat(100);
    let says = session(&[model(&long), user(&long), model("ok")], 8);
    for dialect in Dialect::ALL {
        let found = run(dialect, &says, "");
        assert!(found.turns[0].len() > 1000, "{dialect}: the task stays");
        assert!(
            found.turns[1].ends_with("here.\n[Response condensed]"),
            "{dialect}"
        );
        assert!(found.turns[1].len() <= 800 + 21, "{dialect}");
        assert!(
            found.turns[2].ends_with("here.\n[Message condensed]"),
            "{dialect}"
        );
        assert!(found.turns[2].len() <= 600 + 20, "{dialect}");
    }
}

#[test]
fn a_text_at_its_limit_stays_and_zero_switches_off() {
    let says = |length: usize| session(&[model("ok"), user(&"x".repeat(length)), model("ok")], 8);
    for (length, options, changes) in [
        (600, "", false),
        (700, "", true),
        (700, "max_user_chars = 700", false),
        (700, "max_user_chars = 0", false),
        (700, "turns_threshold = 0", false),
    ] {
        let found = run(Dialect::OpenaiChat, &says(length), options);
        assert_eq!(
            !found.report.plan.edits.is_empty(),
            changes,
            "{length} {options}"
        );
    }
    // One character over the limit is not worth a marker.
    let found = run(Dialect::OpenaiChat, &says(601), "");
    assert_eq!(found.report.plan.skips[0].reason, SkipReason::NotSmaller);
}

#[test]
fn the_last_eight_answers_and_what_comes_after_them_stay() {
    let long = "A sentence here. ".repeat(100);
    for (answers, changes) in [(6, false), (7, false), (8, true)] {
        let says = session(&[model("ok"), user(&long), model(&long)], answers);
        let found = run(Dialect::AnthropicMessages, &says, "");
        assert_eq!(found.turns[2].len() < long.len(), answers >= 7, "{answers}");
        assert_eq!(found.turns[3].len() < long.len(), changes, "{answers}");
    }
    let found = run(Dialect::AnthropicMessages, &session(&[], 7), "");
    assert_eq!(found.report.plan.skips[0].reason, SkipReason::TooFewTurns);
}

#[test]
fn calls_results_and_images_stay() {
    let long = "r".repeat(3000);
    let says = session(
        &[
            model("ok"),
            Say::Picture,
            Say::Call("read"),
            Say::Result(long.clone()),
        ],
        9,
    );
    for dialect in Dialect::ALL {
        let found = run(dialect, &says, "");
        assert!(found.report.plan.edits.is_empty(), "{dialect}");
    }
}

/// Any text with the marker at its end was taken for one that was condensed before.
#[test]
fn a_long_text_that_ends_in_the_marker_is_condensed() {
    let imitated = format!("{}{MESSAGE}", "A sentence here. ".repeat(300));
    let says = session(&[model("ok"), user(&imitated)], 9);
    for dialect in Dialect::ALL {
        let found = run(dialect, &says, "");
        let condensed = &found.turns[2];
        assert!(
            condensed.chars().count() <= 600 + MESSAGE.len(),
            "{dialect}"
        );
        let again = session(&[model("ok"), user(condensed)], 9);
        assert!(run(dialect, &again, "").report.plan.edits.is_empty());
    }
}
