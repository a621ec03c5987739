//! The engine's report, read back from a row: what was cut and left, by whom and why.
//!
//! Read leniently: rows outlive the version that wrote them. What is not known is shown by its name.

use std::collections::BTreeMap;

use secateur_core::edit::{SkipReason, Why};
use serde::Deserialize;
use serde_json::Value;

use crate::numbers::thousands;

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Stored {
    verdict: Value,
    cuts: Vec<StoredCut>,
    left: Vec<StoredLeft>,
    ignored_keys: Vec<String>,
    account: Option<StoredAccount>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct StoredAccount {
    requests: u64,
    rounds: u64,
    is_round: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct StoredCut {
    message: Option<u64>,
    part: Option<u64>,
    role: Option<String>,
    action: String,
    strategy: String,
    why: String,
    chars_before: u64,
    chars_after: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct StoredLeft {
    message: Option<u64>,
    part: Option<u64>,
    strategy: Option<String>,
    reason: String,
}

/// A run of like cuts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) place: String,
    pub(crate) action: String,
    pub(crate) who: String,
    pub(crate) strategy: String,
    pub(crate) why: String,
    pub(crate) chars: String,
}

/// What one strategy left for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) places: String,
    pub(crate) strategy: String,
    pub(crate) reason: String,
    pub(crate) count: String,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlanView {
    pub(crate) verdict: String,
    pub(crate) rounds: Option<String>,
    pub(crate) cuts: Vec<Cut>,
    pub(crate) left: Vec<Left>,
    pub(crate) ignored_keys: Vec<String>,
}

/// A reason by its name in rows, in words where it is known.
pub(crate) fn reason_words(name: &str) -> String {
    let known: Option<SkipReason> = serde_json::from_value(Value::from(name)).ok();
    known.map_or_else(
        || name.replace('-', " "),
        |reason| reason.words().to_owned(),
    )
}

fn why_words(name: &str) -> String {
    let known: Option<Why> = serde_json::from_value(Value::from(name)).ok();
    known.map_or_else(|| name.replace('-', " "), |why| why.words().to_owned())
}

fn spell(message: Option<u64>, part: Option<u64>) -> String {
    match (message, part) {
        (None, _) => "the request".into(),
        (Some(message), None) => format!("message {message}"),
        (Some(message), Some(part)) => format!("message {message}, part {part}"),
    }
}

fn verdict_words(verdict: &Value) -> String {
    let kind = verdict
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default();
    match (kind, verdict.get("detail").and_then(Value::as_str)) {
        ("pruned", _) => "pruned".into(),
        ("unchanged", _) => "unchanged: there was nothing to do".into(),
        ("failed-open", Some(detail)) => format!("the original went out: {detail}"),
        (other, _) => other.replace('-', " "),
    }
}

/// The ids of the cut texts, each once, in the plan's order.
pub(crate) fn recall_ids(plan: &str) -> Vec<String> {
    #[derive(Deserialize)]
    struct Cuts {
        #[serde(default)]
        cuts: Vec<CutId>,
    }
    #[derive(Deserialize)]
    struct CutId {
        recall: Option<String>,
    }
    let mut ids: Vec<String> = Vec::new();
    let cuts = serde_json::from_str::<Cuts>(plan).map_or(Vec::new(), |plan| plan.cuts);
    for id in cuts.into_iter().filter_map(|cut| cut.recall) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

impl PlanView {
    /// Reads a row's plan; `None` where it is no report.
    pub(crate) fn read(plan: &str) -> Option<Self> {
        let stored: Stored = serde_json::from_str(plan).ok()?;
        Some(Self {
            verdict: verdict_words(&stored.verdict),
            rounds: stored.account.map(|account| {
                let now = if account.is_round {
                    "this request takes one"
                } else {
                    "none on this request"
                };
                format!("{} in {} requests, {now}", account.rounds, account.requests)
            }),
            cuts: cuts(stored.cuts),
            left: left(stored.left),
            ignored_keys: stored.ignored_keys,
        })
    }
}

/// One line for each run of like cuts in neighbouring messages.
fn cuts(mut stored: Vec<StoredCut>) -> Vec<Cut> {
    stored.sort_by_key(|cut| (cut.message, cut.part));
    let alike = |one: &StoredCut, other: &StoredCut| {
        one.message.map(|at| at + 1) == other.message
            && (&one.action, &one.strategy, &one.why)
                == (&other.action, &other.strategy, &other.why)
            && one.part.is_none()
            && other.part.is_none()
    };
    let line = |run: &[StoredCut]| {
        let (first, last) = (run.first()?, run.last()?);
        let place = match (first.message, last.message) {
            (Some(from), Some(to)) if from < to => format!("messages {from} to {to}"),
            _ => spell(first.message, first.part),
        };
        let who = match run.len() {
            1 => first.role.clone().unwrap_or_default(),
            count => format!("{count} turns"),
        };
        let before: u64 = run.iter().map(|cut| cut.chars_before).sum();
        let after: u64 = run.iter().map(|cut| cut.chars_after).sum();
        Some(Cut {
            place,
            action: first.action.replace('-', " "),
            who,
            strategy: first.strategy.clone(),
            why: why_words(&first.why),
            chars: format!("{} → {}", thousands(before), thousands(after)),
        })
    };
    stored.chunk_by(alike).filter_map(line).collect()
}

/// One line for each strategy and reason.
fn left(stored: Vec<StoredLeft>) -> Vec<Left> {
    let mut groups: BTreeMap<(Option<String>, String), Vec<String>> = BTreeMap::new();
    for left in stored {
        let place = spell(left.message, left.part);
        groups
            .entry((left.strategy, left.reason))
            .or_default()
            .push(place);
    }
    let line = |((strategy, reason), places): ((Option<String>, String), Vec<String>)| {
        let mut named: Vec<&str> = places.iter().take(3).map(String::as_str).collect();
        if places.len() > named.len() {
            named.push("…");
        }
        Left {
            places: named.join("; "),
            strategy: strategy.unwrap_or_else(|| "the engine".into()),
            reason: reason_words(&reason),
            count: thousands(places.len() as u64),
        }
    };
    groups.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_like_cuts_are_one_line_and_reasons_are_in_words() {
        let cut = |message: u64| {
            format!(
                r#"{{"message":{message},"part":null,"role":"user","action":"drop-turn","strategy":"middle-turns","why":"middle-turn","chars_before":1000,"chars_after":0}}"#
            )
        };
        let text = format!(
            r#"{{"verdict":{{"kind":"pruned"}},"cuts":[{},{},{}],"left":[{{"message":9,"part":1,"strategy":null,"reason":"signed"}}],"ignored_keys":["x"],"new":1}}"#,
            cut(3),
            cut(2),
            cut(5)
        );
        let plan = PlanView::read(&text).unwrap();
        assert_eq!(plan.verdict, "pruned");
        let places: Vec<&str> = plan.cuts.iter().map(|cut| cut.place.as_str()).collect();
        assert_eq!(places, ["messages 2 to 3", "message 5"]);
        assert_eq!(plan.cuts[0].chars, "2,000 → 0");
        assert_eq!(
            plan.cuts[0].why,
            "between the head and the last turns, no tool reference"
        );
        assert_eq!(plan.left[0].places, "message 9, part 1");
        assert_eq!(plan.left[0].strategy, "the engine");
    }

    #[test]
    fn what_is_not_known_is_shown_by_its_name() {
        assert_eq!(reason_words("not-yet-invented"), "not yet invented");
        assert_eq!(reason_words("not-opted-in"), "not switched on");
        assert!(PlanView::read("no json").is_none());
        assert!(PlanView::read("{}").is_some());
    }

    #[test]
    fn a_report_of_the_engine_is_read() {
        let body = br#"{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}"#;
        let policy = secateur_core::policy::Policy::default();
        let report = secateur_core::prune(body, &secateur_core::Request::default(), &policy).report;
        let plan = PlanView::read(&serde_json::to_string(&report).unwrap()).unwrap();
        assert!(plan.verdict.starts_with("unchanged"), "{plan:?}");
    }
}
