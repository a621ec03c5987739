//! OpenClaw: which results are trimmed or cleared, and to what text.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::data::{Data, body, index, messages_of, policy, results, run as prune};
use super::{Tally, UNEXPLAINED};

const ASTRAL: &str = "characters outside the BMP count once, and are never cut in half";

pub(crate) fn run(data: &Data, tallies: &mut BTreeMap<String, Tally>) {
    for row in data.recorded("openclaw") {
        let mode = row["mode"].as_str().unwrap();
        let messages = data.messages(&row);
        let body = body(messages);
        let policy = policy(&format!("openclaw-{mode}"), &settings(&row["params"]));
        let before: BTreeMap<_, _> = results(messages).into_iter().collect();
        let after = results(&messages_of(&prune(&body, &policy)));
        let ours: BTreeMap<_, _> = after
            .into_iter()
            .filter(|(at, text)| before[at] != *text)
            .collect();
        let recorded = row["changed"].as_array().unwrap();
        let mut differences = Vec::new();
        let (mut theirs, mut expected_skips) = (0, 0);
        for item in recorded {
            let at = (index(&item["message"]), index(&item["block"]));
            // A replacement that is not smaller is expected to be skipped.
            let skipped = item["not_smaller"] == true;
            theirs += 1;
            match ours.get(&at) {
                None if skipped => expected_skips += 1,
                Some(text) if !skipped && sha(text) == item["sha256"].as_str().unwrap() => {}
                Some(_) if !skipped && item["astral"] == true => differences.push(ASTRAL),
                found => {
                    println!("{} {at:?} {item}: {found:?}", row["id"]);
                    differences.push(UNEXPLAINED);
                }
            }
        }
        let is_recorded = |at: &(usize, usize)| {
            let (message, block) = *at;
            recorded
                .iter()
                .any(|item| item["message"] == message && item["block"] == block)
        };
        for at in ours.keys().filter(|at| !is_recorded(at)) {
            println!("{} {at:?}: changed here only", row["id"]);
            theirs += 1;
            differences.push(UNEXPLAINED);
        }
        // A row in which nothing changes is one decision.
        let tally = tallies.entry(format!("openclaw/{mode}")).or_default();
        tally.expected_skips += expected_skips;
        tally.row(theirs.max(1), &differences);
    }
}

fn sha(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// OpenClaw's settings under our keys.
fn settings(params: &Value) -> Vec<String> {
    let mut found = vec![format!(
        "old-tool-results.window_tokens={}",
        params["window_tokens"]
    )];
    flatten("", &params["settings"], &mut found);
    found
}

fn flatten(path: &str, value: &Value, found: &mut Vec<String>) {
    let Value::Object(members) = value else {
        found.push(format!("old-tool-results.{path}={value}"));
        return;
    };
    for (key, value) in members {
        let mut name = String::new();
        for character in key.chars() {
            if character.is_uppercase() {
                name.push('_');
            }
            name.extend(character.to_lowercase());
        }
        let path = if path.is_empty() {
            name
        } else {
            format!("{path}.{name}")
        };
        // Ratios are written as whole numbers where they are 0.
        match value.as_i64() {
            Some(whole) if path.ends_with("_ratio") => {
                found.push(format!("old-tool-results.{path}={whole}.0"));
            }
            _ => flatten(&path, value, found),
        }
    }
}
