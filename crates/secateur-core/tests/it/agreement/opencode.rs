//! opencode: which results are compacted.

use std::collections::{BTreeMap, BTreeSet};

use super::data::{Data, body, index, messages_of, policy, results, run as prune};
use super::{Tally, UNEXPLAINED};

const PLACEHOLDER: &str = "<tool-output-compacted />";

pub(crate) fn run(data: &Data, tallies: &mut BTreeMap<String, Tally>) {
    for row in data.recorded("opencode") {
        let params = &row["params"];
        let keep_errors = params["error_results"] == "error";
        let option = |key: &str, value: String| format!("unprotected-tool-outputs.{key}={value}");
        let settings = [
            option("keep_errors", keep_errors.to_string()),
            option("protect_tokens", params["protect_tokens"].to_string()),
            option("minimum_tokens", params["minimum_tokens"].to_string()),
            option("skip_user_turns", params["skip_user_turns"].to_string()),
            option("protected_tools", params["protected_tools"].to_string()),
        ];
        let messages = data.messages(&row);
        let body = body(messages);
        let before: BTreeMap<_, _> = results(messages).into_iter().collect();
        let after = results(&messages_of(&prune(&body, &policy("opencode", &settings))));
        let ours: BTreeSet<_> = after
            .into_iter()
            .filter(|(at, text)| before[at] != *text)
            .map(|(at, text)| {
                assert_eq!(text, PLACEHOLDER);
                at
            })
            .collect();
        let theirs: BTreeSet<_> = row["changed"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| (index(&item["message"]), index(&item["block"])))
            .collect();
        let mut differences = Vec::new();
        let mut expected_skips = 0;
        for at in ours.symmetric_difference(&theirs) {
            // A replacement that is not smaller is expected to be skipped.
            let is_short = before[at].chars().count() <= PLACEHOLDER.len();
            if is_short && theirs.contains(at) {
                expected_skips += 1;
            } else {
                println!("{} {at:?}: {} here", row["id"], ours.contains(at));
                differences.push(UNEXPLAINED);
            }
        }
        let decisions = ours.union(&theirs).count().max(1);
        let tally = tallies.entry("opencode/prune".to_owned()).or_default();
        tally.expected_skips += expected_skips;
        tally.row(decisions, &differences);
    }
}
