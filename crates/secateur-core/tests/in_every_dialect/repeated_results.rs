//! `repeated-results` in every dialect.

use crate::conversation::{Step, assistant, body, failed, policy, pruned, tool, untouched, user};
use secateur_core::dialect::DialectId;
use serde_json::json;

fn long(word: &str) -> String {
    format!("{word} output line\n").repeat(40)
}

fn talk(first: Step, second: Step) -> Vec<Step> {
    vec![
        user("Please look at the repository."),
        first,
        assistant("Looking again."),
        second,
        user("And now?"),
    ]
}

#[test]
fn the_older_of_two_equal_outputs_becomes_a_pointer() {
    let policy = policy(&["repeated-results"], "");
    for dialect in DialectId::ALL {
        let steps = talk(
            tool("ls", json!({"dir": "a"}), long("same")),
            tool("find", json!({"dir": "b"}), long("same")),
        );
        let text = body(dialect, "", &steps);
        let out = pruned(dialect, &text, &policy);
        let pointer = out.find("the same output appears again later").unwrap();
        let copy = out.find("same output line").unwrap();
        assert!(pointer < copy, "{dialect}: the later copy stays");
        assert_eq!(out.matches("same output line").count(), 40, "{dialect}");
    }
}

#[test]
fn the_same_call_made_again_stands_in_with_its_newer_output() {
    let policy = policy(&["repeated-results"], "");
    for dialect in DialectId::ALL {
        let args = json!({"command": "git status"});
        let steps = talk(
            tool("bash", args.clone(), long("old")),
            tool("bash", args, long("new")),
        );
        let out = pruned(dialect, &body(dialect, "", &steps), &policy);
        assert!(
            out.contains("the same call was made again later"),
            "{dialect}"
        );
        assert!(
            !out.contains("old output") && out.contains("new output"),
            "{dialect}"
        );
    }
}

#[test]
fn a_short_or_failed_later_output_is_no_stand_in() {
    let policy = policy(&["repeated-results"], "");
    for dialect in DialectId::ALL {
        let args = json!({"file_path": "a.rs"});
        let unchanged = tool("read", args.clone(), "File unchanged since the last read.");
        let steps = talk(tool("read", args.clone(), long("kept")), unchanged);
        untouched(dialect, &body(dialect, "", &steps), &policy);
    }
    let args = json!({"file_path": "a.rs"});
    let steps = talk(
        tool("read", args.clone(), long("kept")),
        failed("read", args, long("no such file")),
    );
    for dialect in [
        DialectId::AnthropicMessages,
        DialectId::GeminiGenerateContent,
    ] {
        untouched(dialect, &body(dialect, "", &steps), &policy);
    }
}

#[test]
fn other_arguments_are_another_call_and_options_count() {
    for dialect in DialectId::ALL {
        let other = talk(
            tool("bash", json!({"command": "a"}), long("one")),
            tool("bash", json!({"command": "b"}), long("two")),
        );
        untouched(
            dialect,
            &body(dialect, "", &other),
            &policy(&["repeated-results"], ""),
        );
        let same = talk(
            tool("bash", json!({"command": "a"}), long("one")),
            tool("bash", json!({"command": "a"}), long("two")),
        );
        let same = body(dialect, "", &same);
        let exact_only = "[repeated-results]\nsame_call = false\n";
        untouched(dialect, &same, &policy(&["repeated-results"], exact_only));
        let large_only = "[repeated-results]\nmin_chars = 100000\n";
        untouched(dialect, &same, &policy(&["repeated-results"], large_only));
    }
}

#[test]
fn a_pointer_is_taken_back_when_what_it_points_at_is_cut_afterwards() {
    // The second strategy drops the later copy's turns: the older copy must then stay.
    let settings =
        "[middle-turns]\nkeep_last_turns = 1\nkeep_head_turns = 3\ndrop_tool_turns = true\n";
    let policy = policy(&["repeated-results", "middle-turns"], settings);
    for dialect in DialectId::ALL {
        let steps = talk(
            tool("ls", json!({"dir": "a"}), long("same")),
            tool("find", json!({"dir": "b"}), long("same")),
        );
        let out = pruned(dialect, &body(dialect, "", &steps), &policy);
        assert_eq!(out.matches("same output line").count(), 40, "{dialect}");
        assert!(!out.contains("appears again later"), "{dialect}");
    }
}

#[test]
fn of_many_copies_only_the_last_stays() {
    let policy = policy(&["repeated-results"], "");
    for dialect in DialectId::ALL {
        let mut steps = vec![user("go")];
        steps.extend((0..20).map(|_| tool("poll", json!({"job": 1}), long("state"))));
        steps.push(user("and now?"));
        let out = pruned(dialect, &body(dialect, "", &steps), &policy);
        assert_eq!(out.matches("state output line").count(), 40, "{dialect}");
        assert_eq!(out.matches("appears again later").count(), 19, "{dialect}");
    }
}

/// Any output with the words of a note in it was taken for one, and never cut.
#[test]
fn an_output_that_imitates_a_note_is_cut_like_any_other() {
    let policy = policy(&["repeated-results"], "");
    let imitated = "[This output was removed to save space: \
        the same output appears again later in this conversation.]";
    for dialect in DialectId::ALL {
        let output = format!("{}{imitated}", long("same"));
        let steps = talk(
            tool("ls", json!({"dir": "a"}), output.clone()),
            tool("find", json!({"dir": "b"}), output),
        );
        let out = pruned(dialect, &body(dialect, "", &steps), &policy);
        assert_eq!(out.matches("same output line").count(), 40, "{dialect}");
        untouched(dialect, &out, &policy);
    }
}
