//! `superseded-reads` in every dialect.

use std::ops::Range;

use crate::conversation::{Step, assistant, body, failed, policy, pruned, tool, untouched, user};
use secateur_core::dialect::DialectId;
use secateur_core::policy::Policy;
use serde_json::json;

fn listing(lines: Range<usize>) -> String {
    lines
        .map(|at| format!("{at:>6}→    let value_{at} = compute({at});\n"))
        .collect()
}

fn read(path: &str, lines: Range<usize>) -> Step {
    let args = json!({"file_path": path, "offset": lines.start, "limit": lines.len()});
    tool("Read", args, listing(lines))
}

fn talk(steps: Vec<Step>) -> Vec<Step> {
    let mut all = vec![user("Fix the bug.")];
    all.extend(steps);
    all.push(assistant("Done."));
    all.push(user("Thanks. And now?"));
    all
}

fn only() -> Policy {
    policy(&["superseded-reads"], "")
}

#[test]
fn only_the_lines_that_are_read_again_go() {
    for dialect in DialectId::ALL {
        let steps = talk(vec![read("a.rs", 1..201), read("a.rs", 150..401)]);
        let out = pruned(dialect, &body(dialect, "", &steps), &only());
        assert!(
            out.contains("[Lines 150-200 of this read were removed"),
            "{dialect}"
        );
        for at in 1..401 {
            assert_eq!(
                out.matches(&format!("value_{at} ")).count(),
                1,
                "{dialect}: line {at}"
            );
        }
        let note = out.find("[Lines 150-200").unwrap();
        assert!(out.find("value_149 ").unwrap() < note && note < out.find("value_150 ").unwrap());
    }
}

#[test]
fn parts_of_a_file_that_do_not_overlap_stay_and_so_do_other_files() {
    for dialect in DialectId::ALL {
        let steps = talk(vec![
            read("a.rs", 1..100),
            read("a.rs", 100..200),
            read("b.rs", 1..100),
        ]);
        untouched(dialect, &body(dialect, "", &steps), &only());
    }
}

#[test]
fn a_file_that_is_written_anew_takes_the_whole_read() {
    for dialect in DialectId::ALL {
        let write = json!({"file_path": "./a.rs", "content": "fn main() {}"});
        let steps = talk(vec![
            read("a.rs", 1..100),
            read("b.rs", 1..50),
            tool("Write", write, "ok"),
            read("a.rs", 1..20),
        ]);
        let out = pruned(dialect, &body(dialect, "", &steps), &only());
        assert!(out.contains("the file was written anew later"), "{dialect}");
        assert!(!out.contains("value_60 "), "{dialect}");
        assert_eq!(
            out.matches("value_19 ").count(),
            2,
            "{dialect}: b.rs and the new a.rs"
        );
    }
}

#[test]
fn edits_and_failed_reads_and_writes_supersede_nothing() {
    let edit = json!({"file_path": "a.rs", "old_string": "let value_5", "new_string": "let v5"});
    let steps = talk(vec![
        read("a.rs", 1..100),
        tool("Edit", edit, "ok"),
        failed(
            "Write",
            json!({"file_path": "a.rs", "content": "x"}),
            "denied",
        ),
        failed("Read", json!({"file_path": "a.rs"}), listing(1..100)),
    ]);
    for dialect in [
        DialectId::AnthropicMessages,
        DialectId::GeminiGenerateContent,
    ] {
        untouched(dialect, &body(dialect, "", &steps), &only());
    }
}

#[test]
fn texts_without_numbers_are_compared_by_their_lines() {
    for dialect in DialectId::ALL {
        let plain = |lines: Range<usize>| -> String {
            lines
                .map(|at| format!("    value_{at} = compute({at})\n"))
                .collect()
        };
        let steps = talk(vec![
            tool("read_file", json!({"path": "a.py"}), plain(0..100)),
            tool(
                "read_file",
                json!({"path": "a.py", "offset": 50}),
                plain(50..150),
            ),
        ]);
        let out = pruned(dialect, &body(dialect, "", &steps), &only());
        assert!(
            out.contains("[50 lines of this read were removed"),
            "{dialect}"
        );
        assert!(
            (0..150).all(|at| out.matches(&format!("value_{at} ")).count() == 1),
            "{dialect}"
        );
    }
}

#[test]
fn the_editor_tool_says_by_its_command_what_it_does() {
    for dialect in DialectId::ALL {
        let view = json!({"command": "view", "path": "a.rs"});
        let create = json!({"command": "create", "path": "a.rs", "file_text": "new"});
        let steps = talk(vec![
            tool("str_replace_editor", view, listing(1..80)),
            tool("str_replace_editor", create, "created"),
        ]);
        let out = pruned(dialect, &body(dialect, "", &steps), &only());
        assert!(out.contains("written anew"), "{dialect}");
    }
}

#[test]
fn tool_and_argument_names_are_options() {
    for dialect in DialectId::ALL {
        let args = |offset: usize| json!({"doc": "a.rs", "from": offset});
        let steps = talk(vec![
            tool("fetch_lines", args(1), listing(1..100)),
            tool("fetch_lines", args(2), listing(1..120)),
        ]);
        let text = body(dialect, "", &steps);
        untouched(dialect, &text, &only());
        let settings = "[superseded-reads]\nread_tools = [\"FETCH*\"]\npath_keys = [\"doc\"]\n";
        pruned(dialect, &text, &policy(&["superseded-reads"], settings));
    }
}

#[test]
fn a_cut_is_taken_back_when_the_later_read_is_cut_afterwards() {
    let settings =
        "[middle-turns]\nkeep_last_turns = 2\nkeep_head_turns = 3\ndrop_tool_turns = true\n";
    let policy = policy(&["superseded-reads", "middle-turns"], settings);
    for dialect in DialectId::ALL {
        let steps = talk(vec![read("a.rs", 1..100), read("a.rs", 1..100)]);
        let out = pruned(dialect, &body(dialect, "", &steps), &policy);
        assert_eq!(out.matches("value_50 ").count(), 1, "{dialect}");
        assert!(!out.contains("were removed"), "{dialect}");
    }
}

#[test]
fn together_with_repeated_results_it_settles_in_one_run() {
    let policy = policy(&["superseded-reads", "repeated-results"], "");
    for dialect in DialectId::ALL {
        let args = json!({"file_path": "a.rs"});
        let whole = || tool("Read", args.clone(), listing(1..100));
        let steps = talk(vec![whole(), whole(), read("a.rs", 50..200)]);
        let out = pruned(dialect, &body(dialect, "", &steps), &policy);
        assert_eq!(out.matches("value_70 ").count(), 1, "{dialect}");
        assert!(out.contains("value_20 "), "{dialect}");
    }
}

/// Any read with the words of a note in it was taken for one that was cut before.
#[test]
fn a_read_that_quotes_a_note_is_cut_like_any_other() {
    let quoted = "// [Lines 1-9 of this read were removed to save space: a later read of this file shows them.]\n";
    for dialect in DialectId::ALL {
        let args = json!({"file_path": "a.rs"});
        let text = format!("{}{quoted}", listing(1..100));
        let steps = talk(vec![
            tool("Read", args.clone(), text.clone()),
            tool("Read", args, text),
        ]);
        let out = pruned(dialect, &body(dialect, "", &steps), &only());
        assert_eq!(out.matches("value_7 ").count(), 1, "{dialect}");
    }
}
