//! What holds for every strategy on any conversation.

use proptest::prelude::*;
use secateur_core::Limits;
use secateur_core::check::check;
use secateur_core::dialect::{Dialect, read};
use secateur_core::report::Verdict;
use serde_json::json;

use super::conversation::{Step, assistant, body, failed, policy, run, tool, user};

const LISTS: [&[&str]; 7] = [
    &["stale-results"],
    &["failed-inputs"],
    &["replaced-text"],
    &["old-thinking"],
    &["repeated-lines"],
    &["repeated-lines", "failed-inputs", "old-thinking"],
    &["repeated-lines", "old-thinking", "middle-turns"],
];

/// The first lists settle in one run. Where lines became a note, the lines around it may be repeated ones of another
/// result; and of several strategies, one may give a cut back because another takes what its note points at.
const SETTLE_AT_ONCE: usize = 4;
const RUNS_TO_SETTLE: usize = 4;

fn lines(from: usize, count: usize) -> String {
    let line = |at| format!("{at:>6}→    let value_{at} = compute(\"{at}\");\n");
    (from..from + count).map(line).collect()
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..60usize, 1..40usize, 0..2usize).prop_map(|(from, count, file)| tool(
            "Read",
            json!({"file_path": format!("f{file}.rs"), "offset": from}),
            lines(from, count),
        )),
        1 => (0..2usize).prop_map(|file| tool(
            "Write",
            json!({"file_path": format!("f{file}.rs"), "content": lines(0, 20)}),
            "written",
        )),
        1 => (0..3usize).prop_map(|at| failed(
            "Edit",
            json!({"file_path": "f0.rs", "old_string": lines(at, 12)}),
            "Error: not found",
        )),
        1 => (0..3usize, 1..12usize).prop_map(|(at, count)| tool(
            "Edit",
            json!({"file_path": "f0.rs", "old_string": lines(at, count), "new_string": lines(at, 3)}),
            "The file was updated.",
        )),
        1 => (0..3usize).prop_map(|at| tool("ls", json!({"dir": at}), lines(at, 10))),
        1 => Just(user("next, please")),
        1 => Just(assistant("done")),
        2 => Just(Step::Thought("let me think".into(), "thought it over".into())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_output_is_smaller_acceptable_and_settled(
        steps in proptest::collection::vec(step(), 1..24), list in 0..LISTS.len(),
        dialect in proptest::sample::select(&Dialect::ALL[..]),
    ) {
        let mut all = vec![user("Begin.")];
        all.extend(steps);
        all.push(user("And now?"));
        let text = body(dialect, "Be brief.", &all);
        let settings = "[old-thinking]\nkeep_last_assistants = 1\n[failed-inputs]\nafter_turns = 2\n\
            [middle-turns]\ndrop_tool_turns = true\n";
        let policy = policy(LISTS[list], settings);
        let outcome = run(dialect, &text, &policy);
        if outcome.report.verdict == Verdict::Unchanged {
            prop_assert_eq!(&*outcome.body, text.as_bytes());
            return Ok(());
        }
        prop_assert!(outcome.body.len() < text.len());
        let broken = |bytes: &[u8]| check(&read(bytes, dialect, &Limits::default()).unwrap()).len();
        prop_assert!(broken(&outcome.body) <= broken(text.as_bytes()));
        let runs = if list < SETTLE_AT_ONCE { 1 } else { RUNS_TO_SETTLE };
        let mut body = String::from_utf8(outcome.body.into_owned()).unwrap();
        let mut verdict = Verdict::Pruned;
        for _ in 0..runs {
            let again = run(dialect, &body, &policy);
            verdict = again.report.verdict;
            body = String::from_utf8(again.body.into_owned()).unwrap();
        }
        prop_assert_eq!(verdict, Verdict::Unchanged);
    }

    /// A line that a read showed and no later write replaced is shown at least once.
    #[test]
    fn no_line_of_a_file_is_lost(
        reads in proptest::collection::vec((0..60usize, 1..40usize), 2..10),
        dialect in proptest::sample::select(&Dialect::ALL[..]),
    ) {
        let mut all = vec![user("Begin.")];
        for &(from, count) in &reads {
            // Without the limit, a shorter answer to the same call would say that the file got shorter.
            let asked = json!({"file_path": "f.rs", "offset": from, "limit": count});
            all.push(tool("Read", asked, lines(from, count)));
        }
        all.push(user("And now?"));
        let text = body(dialect, "", &all);
        let policy = policy(&["repeated-lines"], "");
        let out = String::from_utf8(run(dialect, &text, &policy).body.into_owned()).unwrap();
        for at in 0..100 {
            let name = format!("value_{at} ");
            prop_assert_eq!(out.contains(&name), text.contains(&name), "line {}", at);
        }
    }
}
