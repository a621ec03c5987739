//! `failed-inputs` in every dialect.

use super::conversation::{Step, assistant, body, failed, policy, pruned, tool, untouched, user};
use secateur_core::Dialect;
use serde_json::{Value, json};

fn write_args() -> Value {
    json!({"path": "src/a.py", "mode": 420, "content": "print('é \"x\"')\n".repeat(80)})
}

fn talk(call: Step, turns_after: usize) -> Vec<Step> {
    let mut steps = vec![user("Write the file."), call];
    steps.extend((0..turns_after).map(|at| match at % 2 {
        0 => assistant(format!("answer {at}")),
        _ => user(format!("question {at}")),
    }));
    steps
}

#[test]
fn long_arguments_of_a_failed_call_become_notes() {
    let policy = policy(&["failed-inputs"], "");
    for dialect in Dialect::ALL {
        let steps = talk(failed("write", write_args(), "Error: disk full"), 4);
        let out = pruned(dialect, &body(dialect, "", &steps), &policy);
        assert!(
            out.contains("characters removed: this call failed]"),
            "{dialect}: {out}"
        );
        assert!(out.contains("src/a.py") && out.contains("420"), "{dialect}");
        assert!(!out.contains("print("), "{dialect}");
        assert!(out.contains("disk full"), "{dialect}: the error stays");
    }
}

#[test]
fn calls_that_worked_or_failed_just_now_or_are_small_stay() {
    let policy = policy(&["failed-inputs"], "");
    for dialect in Dialect::ALL {
        let worked = talk(tool("write", write_args(), "written"), 6);
        untouched(dialect, &body(dialect, "", &worked), &policy);
        let recent = talk(failed("write", write_args(), "Error: disk full"), 3);
        untouched(dialect, &body(dialect, "", &recent), &policy);
        let small = talk(failed("write", json!({"path": "a"}), "Error: disk full"), 6);
        untouched(dialect, &body(dialect, "", &small), &policy);
    }
}

#[test]
fn a_signed_call_stays() {
    let text = body(
        Dialect::GeminiGenerateContent,
        "",
        &talk(failed("write", write_args(), "Error: disk full"), 6),
    );
    let signed = text.replacen(
        r#"{"functionCall":"#,
        r#"{"thoughtSignature":"c2ln","functionCall":"#,
        1,
    );
    assert_ne!(text, signed);
    let policy = policy(&["failed-inputs"], "");
    let reasons = untouched(Dialect::GeminiGenerateContent, &signed, &policy);
    assert_eq!(reasons, ["signed"]);
}
