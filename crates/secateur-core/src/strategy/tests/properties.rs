//! What holds for every strategy in every dialect, on conversations made by chance.

use proptest::prelude::*;

use super::bodies::{Say, body, pruned_once};
use crate::plan::edit::Action;
use crate::read::dialect::Dialect;
use crate::read::view::TurnId;

/// Policies that bring every branch into reach of small conversations.
const POLICIES: [&str; 12] = [
    "strategies = ['old-tool-results']\n[old-tool-results]\nwindow_tokens = 300\nmin_prunable_tool_chars = 100\nsoft_trim = { max_chars = 200, head_chars = 60, tail_chars = 40 }\nmid_trim = { turns_threshold = 2, max_user_chars = 40, max_assistant_chars = 50 }",
    "strategies = ['old-tool-results']\n[old-tool-results]\nwindow_tokens = 300\nmin_prunable_tool_chars = 0\nsnap_to_lines = true\nsoft_trim = { max_chars = 100, head_chars = 200, tail_chars = 90 }\nkeep_last_assistants = 0\nhard_clear = { style = 'described' }",
    "strategies = ['old-tool-results']\n[old-tool-results]\nmode = 'aggressive'\nkeep_last_assistants = 1\nhard_clear = { style = 'described' }",
    "strategies = ['long-messages']\n[long-messages]\nturns_threshold = 1\nmax_user_chars = 30\nmax_assistant_chars = 30",
    "strategies = ['unprotected-tool-outputs']\n[unprotected-tool-outputs]\nprotect_tokens = 30",
    "strategies = ['unprotected-tool-outputs']\n[unprotected-tool-outputs]\nskip_user_turns = 1\nplaceholder = 'described'",
    "strategies = ['unprotected-tool-outputs']\n[unprotected-tool-outputs]\nskip_user_turns = 0\nkeep_head_chars = 20\nkeep_tail_chars = 30\nsnap_to_lines = true",
    "strategies = ['turns-outside-window']\n[turns-outside-window]\nmax_turns = 4",
    "strategies = ['summarized-turns']\n[summarized-turns]\nmax_turns = 3",
    "strategies = ['summarized-turns']\n[summarized-turns]\nmax_turns = 5\nsummary = 'digest'",
    "strategies = ['unimportant-turns']\n[unimportant-turns]\nmax_turns = 5",
    "strategies = ['unimportant-turns']\n[unimportant-turns]\nmax_turns = 0",
];

fn text() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "ok",
        "Done. ",
        "a sentence with words. ",
        "\n",
        "é漢🙂 ",
        "\"quoted\\\" ",
        "x",
        "decision: y. ",
    ]);
    prop::collection::vec(words, 1..40).prop_map(|words| format!("t{}", words.concat()))
}

/// A user's turn, a model's, or exchanges; often in the order of a real conversation.
fn says() -> impl Strategy<Value = Vec<Say>> {
    let result = prop_oneof![
        6 => text().prop_map(Say::Result),
        1 => text().prop_map(Say::Failed),
        1 => text().prop_map(Say::ResultWithPicture),
    ];
    let tool = prop::sample::select(vec!["read", "Skill", "bash"]);
    let step = prop_oneof![
        3 => (text(), text()).prop_map(|(u, m)| vec![Say::User(u), Say::Model(m)]),
        4 => (tool, result, text(), any::<bool>()).prop_map(|(tool, result, text, asks)| {
            let mut says = vec![Say::Call(tool), result];
            says.extend(asks.then_some(Say::User(text)));
            says
        }),
        1 => Just(vec![Say::Picture]),
        1 => text().prop_map(|text| vec![Say::Model(text)]),
    ];
    (text(), prop::collection::vec(step, 0..12)).prop_map(|(task, steps)| {
        let mut says = vec![Say::User(task)];
        says.extend(steps.into_iter().flatten());
        says
    })
}

/// Output of tools: listings, hits, logs, with lines that come again.
fn output() -> impl Strategy<Value = String> {
    let lines = prop::sample::select(vec![
        "     1→fn a() {\n",
        "     2→    let path = \"/a/b\";\n",
        "     3→\tlet tab = '\\t';\n",
        "     4→}\n",
        "    10→// the tenth line of a file\n",
        "  let path = \"/a/b\";\n",
        "src/a.rs:12:let path = 1;\n",
        "src/a.rs:13:let other = 2;\n",
        "test round_trip::deep ... ok\n",
        "\t\tlet tab = '\\t';   \n",
        "é漢🙂 a longer line that says something\n",
        "\n",
    ]);
    prop::collection::vec(lines, 1..40).prop_map(|lines| lines.concat())
}

fn outputs() -> impl Strategy<Value = Vec<Say>> {
    let tool = prop::sample::select(vec!["Read", "Bash", "Grep", "Edit"]);
    let exchange =
        (tool, output()).prop_map(|(tool, text)| vec![Say::Call(tool), Say::Result(text)]);
    prop::collection::vec(exchange, 1..8).prop_map(|exchanges| {
        let mut says = vec![Say::User("Look at src/a.rs.".to_owned())];
        says.extend(exchanges.into_iter().flatten());
        says
    })
}

/// What works on arrival, with limits that short texts reach.
const ON_ARRIVAL: &str = "strategies = ['padded-listings', 'repeated-lines', 'long-arrivals', 'stale-results']\n\
    [padded-listings]\nsparse_numbers = true\nbare_lines = true\n\
    [repeated-lines]\nmin_lines = 1\nmin_chars = 20\n\
    [long-arrivals]\nmax_chars = 400\nkeep_chars = 300\n\
    [stale-results]\nmin_chars = 100\ncommands = 1\n";

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn output_is_sound_smaller_and_stable(says in says()) {
        for dialect in Dialect::ALL {
            let input = body(dialect, &says);
            for policy in POLICIES {
                // Reads the output back: a body that the provider would reject fails here.
                let found = pruned_once(dialect, input.as_bytes(), policy);
                let same = pruned_once(dialect, input.as_bytes(), policy);
                prop_assert_eq!(&same.output, &found.output);
                let again = pruned_once(dialect, &found.output, policy);
                prop_assert_eq!(
                    String::from_utf8_lossy(&again.output),
                    String::from_utf8_lossy(&found.output),
                    "{} {}: not idempotent on {}", dialect, policy, input
                );
                let before = crate::read::wire::read(input.as_bytes(), dialect, &secateur_json::Limits::default()).unwrap();
                let last_user = before.last_user();
                let drops: Vec<TurnId> = found.report.plan.edits.iter().filter_map(|edit| match edit.action {
                    Action::DropTurn(turn) => Some(turn),
                    _ => None,
                }).collect();
                prop_assert!(drops.iter().all(|&turn| Some(turn) != last_user));
                prop_assert!(!found.turns.is_empty());
            }
        }
    }

    /// A slash may be escaped, and then a text is decoded instead of read in place.
    #[test]
    fn what_is_cut_does_not_depend_on_how_a_text_is_spelled(says in outputs()) {
        for dialect in Dialect::ALL {
            let usual = body(dialect, &says);
            let found = pruned_once(dialect, usual.as_bytes(), ON_ARRIVAL);
            let otherwise = pruned_once(dialect, usual.replace('/', "\\/").as_bytes(), ON_ARRIVAL);
            prop_assert_eq!(&found.report.plan.edits, &otherwise.report.plan.edits, "{}", usual);
            prop_assert_eq!(found.turns, otherwise.turns);
        }
    }

    #[test]
    fn strategies_can_follow_one_another_in_any_order(
        says in says(),
        order in Just(vec![
            "old-tool-results", "long-messages", "unprotected-tool-outputs", "middle-turns",
            "summarized-turns", "unimportant-turns", "turns-outside-window",
        ]).prop_shuffle(),
        length in 2..7usize,
    ) {
        let options = "[old-tool-results]\nwindow_tokens = 200\nmin_prunable_tool_chars = 0\n\
            [long-messages]\nturns_threshold = 1\nmax_user_chars = 30\n\
            [unprotected-tool-outputs]\nskip_user_turns = 1\n\
            [middle-turns]\nkeep_last_turns = 6\ndrop_tool_turns = true\n\
            [summarized-turns]\nmax_turns = 8\n[unimportant-turns]\nmax_turns = 7\n\
            [turns-outside-window]\nmax_turns = 5\n";
        let policy = format!("strategies = {:?}\n{options}", &order[..length]);
        for dialect in Dialect::ALL {
            let found = pruned_once(dialect, body(dialect, &says).as_bytes(), &policy);
            prop_assert!(!found.turns.is_empty());
        }
    }
}
