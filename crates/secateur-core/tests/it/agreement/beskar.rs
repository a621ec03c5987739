//! Beskar: which messages stay, and the summary's text.

use std::collections::BTreeMap;

use secateur_core::internal::edit::Action;
use serde_json::Value;

use super::data::{Data, body, index, messages_of, policy, run as prune};
use super::{Tally, UNEXPLAINED};

const LAST_USER: &str = "the last user message stays";
const MADE_UP: &str = "another turn goes so that the count holds with the last user message kept";
const COUNT: &str = "the summary counts one turn fewer, because the last user message stays";

pub(crate) fn run(data: &Data, tallies: &mut BTreeMap<String, Tally>) {
    for row in data.recorded("beskar") {
        if row["peer_bug"] == true {
            continue;
        }
        let mode = row["mode"].as_str().unwrap();
        let (preset, strategy) = match mode {
            "sliding-window" => ("beskar-window", "turns-outside-window"),
            "summarize" => ("beskar-summarize", "summarized-turns"),
            _ => ("beskar-importance", "unimportant-turns"),
        };
        let messages = data.messages(&row);
        let body = body(messages);
        let max_turns = &row["params"]["max_turns"];
        let policy = policy(preset, &[format!("{strategy}.max_turns={max_turns}")]);
        let outcome = prune(&body, &policy);
        let mut ours = vec![true; messages.len()];
        for edit in &outcome.report.plan.edits {
            if let Action::DropTurn(turn) = edit.action {
                ours[turn.index()] = false;
            }
        }
        let output = messages_of(&outcome);
        let (summary, output) = split_summary(&output, messages);
        let kept = messages.iter().zip(&ours).filter(|(_, kept)| **kept);
        assert!(
            output.iter().eq(kept.map(|(message, _)| message)),
            "{}",
            row["id"]
        );

        let mut theirs = vec![false; messages.len()];
        for at in row["kept"].as_array().unwrap() {
            theirs[index(at)] = true;
        }
        let last_user = messages.iter().rposition(is_users);
        let keeps_more = last_user.is_some_and(|at| ours[at] && !theirs[at]);
        let mut differences = Vec::new();
        for at in (0..messages.len()).filter(|&at| ours[at] != theirs[at]) {
            differences.push(match (Some(at) == last_user, ours[at]) {
                (true, true) => LAST_USER,
                (false, false) if keeps_more && mode == "importance" => MADE_UP,
                _ => {
                    println!("{} message {at}: kept here {}", row["id"], ours[at]);
                    UNEXPLAINED
                }
            });
        }
        let mut decisions = messages.len();
        if mode == "summarize" {
            decisions += 1;
            if summary.as_deref() != row["summary"].as_str() {
                differences.push(if keeps_more { COUNT } else { UNEXPLAINED });
            }
        }
        let tally = tallies.entry(format!("beskar/{mode}")).or_default();
        tally.row(decisions, &differences);
    }
}

/// The inserted message's text, and the messages without it.
fn split_summary(output: &[Value], input: &[Value]) -> (Option<String>, Vec<Value>) {
    let mut rest = output.to_vec();
    let found = rest
        .iter()
        .position(|message| message["content"].is_string() && !input.contains(message));
    let summary = found.map(|at| rest.remove(at)["content"].as_str().unwrap().to_owned());
    (summary, rest)
}

/// Whether a user wrote the message: it holds more than tool results.
fn is_users(message: &Value) -> bool {
    let is_result = |block: &Value| block["type"] == "tool_result";
    message["role"] == "user"
        && !message["content"]
            .as_array()
            .is_some_and(|blocks| blocks.iter().all(is_result))
}
