//! M3 in every dialect: what it reaches, what stays verbatim, who claims the request.

use proptest::prelude::*;
use secateur_core::Dialect;
use secateur_core::internal::edit::SkipReason;
use secateur_core::mechanic::{Mechanic, MechanicSet};
use secateur_core::policy::Policy;
use secateur_core::report::{Report, Verdict};
use secateur_core::{Candidates, Request, prune};
use serde_json::{Value, json};

use super::conversation::{Step, assistant, body, pruned, run, tool, untouched, user};

const LOOSE: &str = "Some   words  with   space.   \n\n\n\n    indented   line\n";
const TIGHT: &str = "Some words with space.\n\n    indented line\n";

fn m3(settings: &str) -> Policy {
    Policy::resolve(None, Some(&format!("[m3]\n{settings}")), &[]).unwrap()
}

fn both() -> Policy {
    m3("compress_system_enabled = true\ncompress_user_turns_enabled = true")
}

fn loose(times: usize) -> String {
    LOOSE.repeat(times)
}

fn tight(times: usize) -> String {
    TIGHT.repeat(times)
}

fn talk() -> Vec<Step> {
    vec![
        user(format!("user {}", loose(5))),
        tool(
            "cat",
            json!({"text": "call  with   space"}),
            format!("result {}", loose(5)),
        ),
        assistant(format!("assistant {}", loose(5))),
        user(format!("last {}", loose(5))),
    ]
}

fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.trim_matches('"').to_owned()
}

fn skip_of(report: &Report, mechanic: Mechanic) -> Option<SkipReason> {
    let mut skips = report.mechanics.iter();
    skips
        .find(|skip| skip.mechanic == mechanic)
        .map(|skip| skip.reason)
}

#[test]
fn each_toggle_reaches_its_roles_and_nothing_else() {
    let system = format!("system {}", loose(5));
    for dialect in Dialect::ALL {
        let text = body(dialect, &system, &talk());
        for (settings, roles) in [
            ("compress_system_enabled = true", &["system"][..]),
            (
                "compress_user_turns_enabled = true",
                &["user", "assistant", "last"],
            ),
            (
                "compress_user_turns_enabled = true\ncompress_tool_text = true",
                &["user", "assistant", "last", "result"],
            ),
        ] {
            let out = pruned(dialect, &text, &m3(settings));
            for role in ["system", "user", "assistant", "last", "result"] {
                let expected = if roles.contains(&role) {
                    tight(5)
                } else {
                    loose(5)
                };
                let expected = escaped(&format!("{role} {expected}"));
                assert!(
                    out.contains(&expected),
                    "{dialect}: {role} with {settings}\n{out}"
                );
            }
            assert!(
                out.contains("call  with   space"),
                "{dialect}: calls stay verbatim"
            );
        }
    }
}

#[test]
fn without_a_toggle_it_is_off_and_the_legacy_key_changes_nothing() {
    for dialect in Dialect::ALL {
        let text = body(dialect, "", &talk());
        let policy = m3("auto_compress_enabled = true\ncompress_tool_text = true");
        untouched(dialect, &text, &policy);
        let report = run(dialect, &text, &policy).report;
        assert_eq!(skip_of(&report, Mechanic::M3), Some(SkipReason::NotOptedIn));
        assert_eq!(report.ignored_keys, ["m3.auto_compress_enabled"]);
        assert_eq!(report.compress, None);
    }
}

#[test]
fn the_report_says_what_was_saved() {
    for dialect in Dialect::ALL {
        let text = body(dialect, "", &talk());
        let outcome = run(dialect, &text, &both());
        let report = outcome.report;
        let compress = report.compress.unwrap();
        assert_eq!(report.stack, ["m3"]);
        assert_eq!(compress.chars_before, text.chars().count());
        let out = String::from_utf8(outcome.body.into_owned()).unwrap();
        assert_eq!(compress.chars_after, out.chars().count());
        assert!(compress.pct_saved() > 2.0 && compress.compress_system);
    }
}

/// A body of exactly so many characters with so many redundant ones.
fn sized(chars: usize, redundant: usize) -> String {
    let frame = r#"{"messages":[{"role":"user","content":"a b"}]}"#;
    let words = "x".repeat(chars - redundant - frame.len());
    let space = " ".repeat(redundant + 1);
    format!(r#"{{"messages":[{{"role":"user","content":"a{space}b{words}"}}]}}"#)
}

#[test]
fn both_thresholds_count_exactly() {
    for (chars, redundant, fires) in [
        (511, 100, false),
        (512, 100, true),
        (1000, 19, false),
        (1000, 20, true),
    ] {
        let text = sized(chars, redundant);
        assert_eq!(text.chars().count(), chars);
        let report = run(Dialect::OpenaiChat, &text, &both()).report;
        let expected = if fires {
            Verdict::Pruned
        } else {
            Verdict::Unchanged
        };
        assert_eq!(report.verdict, expected, "{chars} {redundant}");
        let skip = skip_of(&report, Mechanic::M3);
        assert_eq!(skip, (!fires).then_some(SkipReason::NotEligible));
    }
}

#[test]
fn a_large_code_block_or_json_payload_is_not_redundant() {
    for text in [
        format!("```py\n{}```", "    if x:\n        return   1\n".repeat(40)),
        format!("{{\n{}  \"z\": 1\n}}", "    \"a\":   1,\n".repeat(60)),
        "    def f():\n            return 1\n".repeat(40),
    ] {
        for dialect in Dialect::ALL {
            let body = body(dialect, "", &[user(text.clone())]);
            untouched(dialect, &body, &both());
            let report = run(dialect, &body, &both()).report;
            assert_eq!(
                skip_of(&report, Mechanic::M3),
                Some(SkipReason::NotEligible)
            );
        }
    }
}

#[test]
fn escapes_beside_the_cuts_stay_as_they_are_written() {
    let words = r"caf\u00e9 \/  \u0020 tab\u0009end \ud83d\ude42  x\n\n\n\ny ".repeat(12);
    let text = format!(r#"{{"messages":[{{"role":"user","content":"{words}z"}}]}}"#);
    let out = pruned(Dialect::OpenaiChat, &text, &both());
    assert!(
        out.contains(r"caf\u00e9 \/ tab\u0009end \ud83d\ude42 x\n\ny "),
        "{out}"
    );
}

#[test]
fn texts_of_white_space_only_are_never_emptied() {
    for dialect in Dialect::ALL {
        let steps = [user(" ".repeat(600)), assistant("ok"), user("q")];
        let reasons = untouched(dialect, &body(dialect, "", &steps), &both());
        assert!(
            reasons.contains(&"the turn would be empty"),
            "{dialect}: {reasons:?}"
        );
    }
}

#[test]
fn signed_texts_thinking_and_media_stay() {
    let loose = loose(12);
    let anthropic = json!({"model": "claude-sonnet-4-5", "messages": [
        {"role": "user", "content": [
            {"type": "text", "text": loose},
            {"type": "document", "source": {"type": "text", "data": loose}}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": loose, "signature": "c2ln"},
            {"type": "text", "text": "ok"}]},
        {"role": "user", "content": "q"}]});
    let out = pruned(Dialect::AnthropicMessages, &anthropic.to_string(), &both());
    assert_eq!(
        out.matches(&escaped(&loose)).count(),
        2,
        "document and thinking"
    );
    let gemini = json!({"contents": [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [{"text": loose, "thoughtSignature": "c2ln"}]},
        {"role": "user", "parts": [{"text": "q"}]}]});
    untouched(Dialect::GeminiGenerateContent, &gemini.to_string(), &both());
}

#[test]
fn thinking_that_is_bound_to_a_changed_text_goes_with_it() {
    let bound = json!({"model": "claude-fable-5-1", "messages": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "text", "text": "ok"}]},
        {"role": "user", "content": "q2"}], "system": loose(12)});
    let out = pruned(Dialect::AnthropicMessages, &bound.to_string(), &both());
    assert!(
        !out.contains("\"thinking\""),
        "system comes before every turn: {out}"
    );
    let alone = bound
        .to_string()
        .replace("claude-fable-5-1", "claude-sonnet-4-5");
    assert!(pruned(Dialect::AnthropicMessages, &alone, &both()).contains("\"thinking\""));
}

#[test]
fn the_cap_lets_one_mechanic_at_a_request() {
    let all = "[m7]\nenabled = true\nmin_messages = 0\nstrategies = [\"middle-turns\"]\n\
               [m3]\ncompress_user_turns_enabled = true\n";
    let policy = Policy::resolve(None, Some(all), &[]).unwrap();
    let others: MechanicSet = [Mechanic::M1, Mechanic::M8].into_iter().collect();
    for dialect in Dialect::ALL {
        let steps: Vec<Step> = (0..30)
            .map(|at| match at % 2 {
                0 => user(loose(1)),
                _ => assistant("ok"),
            })
            .collect();
        let text = body(dialect, "", &steps);
        let request = Request {
            dialect: Some(dialect),
            others: Candidates {
                opted_in: others,
                eligible: others,
            },
            ..Request::default()
        };
        let report = prune(text.as_bytes(), &request, &policy).report;
        assert_eq!(report.stack, ["m7"], "{dialect}");
        for lost in [Mechanic::M1, Mechanic::M3, Mechanic::M8] {
            assert_eq!(
                skip_of(&report, lost),
                Some(SkipReason::LostToPriority),
                "{lost}"
            );
        }
        assert!(report.claim.unwrap().m1_forced_off);
        assert!(
            report
                .plan
                .edits
                .iter()
                .all(|edit| edit.strategy.0 == "middle-turns")
        );
    }
}

#[test]
fn a_body_whose_history_is_elsewhere_is_left_alone() {
    let text = json!({"previous_response_id": "resp_1", "input": loose(20)}).to_string();
    untouched(Dialect::OpenaiResponses, &text, &both());
    let report = run(Dialect::OpenaiResponses, &text, &both()).report;
    assert_eq!(
        skip_of(&report, Mechanic::M3),
        Some(SkipReason::HistoryIsElsewhere)
    );
}

#[test]
fn mistakes_in_the_table_are_explained() {
    let error = |text: &str| {
        Policy::resolve(None, Some(text), &[])
            .unwrap_err()
            .to_string()
    };
    let found = error("[m3]\ncompress_system_enable = true\n");
    assert!(found.contains("line 2"), "{found}");
    assert!(
        found.contains("did you mean `compress_system_enabled`?"),
        "{found}"
    );
    assert!(error("[m3]\nmin_redundant_pct = \"much\"\n").contains("line 2"));
    let found = error("[m7]\nstrategies = [\"loose-whitespace\"]\n");
    assert!(
        found.contains("no strategy `loose-whitespace`"),
        "a mechanic of its own: {found}"
    );
    let found = error("[repeated-line]\nmin_chars = 1\n");
    assert!(found.contains("did you mean `repeated-lines`?"), "{found}");
    let found = error("[long-arrivals]\nother_tool = true\n");
    assert!(found.contains("did you mean `other_tools`?"), "{found}");
}

proptest! {
    #[test]
    fn any_text_comes_out_smaller_and_stays_put(
        text in "([a-z+`{}\\[\\]\"0-9:|>-]{0,4}[ \\t\\n]{0,4}){0,60}", at in 0..4usize,
    ) {
        let dialect = Dialect::ALL[at];
        let settings = "compress_system_enabled = true\ncompress_user_turns_enabled = true\n\
            compress_tool_text = true\nmin_body_chars = 0\nmin_redundant_pct = 0.0";
        let policy = m3(settings);
        let steps = [
            user(format!("{text}.")),
            tool("cat", json!({"q": 1}), text.clone()),
            assistant(format!("{text}.")),
            user("q"),
        ];
        let before = body(dialect, &text, &steps);
        let first = run(dialect, &before, &policy);
        let out = String::from_utf8(first.body.into_owned()).unwrap();
        prop_assert!(out.len() <= before.len());
        let again = run(dialect, &out, &policy);
        prop_assert_eq!(again.report.verdict, Verdict::Unchanged);
        let solid = |text: &str| -> String {
            let text = text.replace("\\n", "").replace("\\t", "");
            text.chars().filter(|c| !c.is_whitespace()).collect()
        };
        prop_assert_eq!(solid(&out), solid(&before));
    }
}
