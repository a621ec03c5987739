//! The engine's report, read back from a row: what was cut and left, by whom and why.
//!
//! Read leniently: rows outlive the version that wrote them. What is not known is shown by its name.

use std::collections::BTreeMap;

use secateur_core::internal::edit::{CutReason, SkipReason};
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
    cache_read: StoredCacheRead,
    usage_implausible: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct StoredCacheRead {
    summary: String,
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
    recall: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct StoredLeft {
    message: Option<u64>,
    part: Option<u64>,
    strategy: Option<String>,
    reason: String,
}

/// A text that was cut, as the plan names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CutText {
    /// What it is kept under.
    pub(crate) id: String,
    pub(crate) place: String,
    pub(crate) strategy: String,
    /// Whether anything stands in its place.
    pub(crate) is_dropped: bool,
    /// Characters that stand in its place, where the plan counts them as the text does.
    pub(crate) chars_after: Option<u64>,
}

impl CutText {
    fn of(cut: &StoredCut) -> Option<Self> {
        Some(Self {
            id: cut.recall.clone()?,
            place: spell(cut.message, cut.part, SYSTEM),
            strategy: cut.strategy.clone(),
            is_dropped: cut.action.starts_with("drop"),
            chars_after: (cut.action == "rewrite").then_some(cut.chars_after),
        })
    }
}

/// A run of like cuts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The texts of its messages.
    pub(crate) texts: Vec<CutText>,
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

/// The parts of a row's report that pages show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlanView {
    pub(crate) verdict: String,
    pub(crate) rounds: Option<String>,
    /// What was read from the cache, by which rule, or why not. Empty where nothing was billed.
    pub(crate) cache_read: String,
    /// Whether the provider's token counts cannot all be true.
    pub(crate) usage_implausible: bool,
    /// Whether a mechanic looked at the request; else this holds a mark alone.
    pub(crate) is_report: bool,
    /// Whether nothing but white space went.
    pub(crate) only_compressed: bool,
    pub(crate) cuts: Vec<Cut>,
    pub(crate) left: Vec<Left>,
    pub(crate) ignored_keys: Vec<String>,
}

/// A reason by its name in rows, in words where it is known.
pub(crate) fn reason_words(name: &str) -> String {
    let known: Option<SkipReason> = serde_json::from_value(Value::from(name)).ok();
    known.map_or_else(
        || name.replace('-', " "),
        |reason| reason.describe().to_owned(),
    )
}

fn why_words(name: &str) -> String {
    let known: Option<CutReason> = serde_json::from_value(Value::from(name)).ok();
    known.map_or_else(|| name.replace('-', " "), |why| why.describe().to_owned())
}

/// What a cut outside of the messages is about.
const SYSTEM: &str = "the system prompt";
/// What else can stand outside of the messages.
const REQUEST: &str = "the request";

fn spell(message: Option<u64>, part: Option<u64>, outside: &str) -> String {
    match (message, part) {
        (None, _) => outside.into(),
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
                format!(
                    "Cuts come in rounds, each when it pays for the cache that it breaks: {} so far in {} requests, {now}",
                    account.rounds, account.requests
                )
            }),
            cache_read: stored.cache_read.summary,
            usage_implausible: stored.usage_implausible,
            is_report: !stored.usage_implausible || !stored.verdict.is_null(),
            only_compressed: !stored.cuts.is_empty()
                && stored.cuts.iter().all(|cut| cut.why == "loose-whitespace"),
            cuts: cuts(stored.cuts),
            left: left(stored.left),
            ignored_keys: stored.ignored_keys,
        })
    }

    /// The texts that were cut, each once, in the order of the lines.
    pub(crate) fn texts(&self) -> Vec<CutText> {
        let mut texts: Vec<CutText> = Vec::new();
        for text in self.cuts.iter().flat_map(|cut| &cut.texts) {
            if texts.iter().all(|known| known.id != text.id) {
                texts.push(text.clone());
            }
        }
        texts
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
            _ => spell(first.message, first.part, SYSTEM),
        };
        let who = match run.len() {
            1 => first.role.clone().unwrap_or_default(),
            count => format!("{count} turns"),
        };
        let before: u64 = run.iter().map(|cut| cut.chars_before).sum();
        let after: u64 = run.iter().map(|cut| cut.chars_after).sum();
        Some(Cut {
            texts: run.iter().filter_map(CutText::of).collect(),
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
        let place = spell(left.message, left.part, REQUEST);
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
            r#"{{"verdict":{{"kind":"pruned"}},"cuts":[{},{},{}],"left":[{{"message":9,"part":1,"strategy":null,"reason":"signed"}}],"ignored_keys":["x"],"new":1,"cache_read":{{"billed":9,"summary":"read 9: no marker reaches an entry"}}}}"#,
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
        assert_eq!(plan.cache_read, "read 9: no marker reaches an entry");
        assert!(plan.is_report && !plan.usage_implausible);
    }

    #[test]
    fn a_mark_is_no_plan() {
        let mark = PlanView::read(r#"{"usage_implausible":true}"#).unwrap();
        assert!(mark.usage_implausible && !mark.is_report);
        let both = r#"{"verdict":{"kind":"pruned"},"usage_implausible":true}"#;
        let both = PlanView::read(both).unwrap();
        assert!(both.usage_implausible && both.is_report);
    }

    #[test]
    fn a_cut_names_its_texts_and_the_system_prompt() {
        let text = r#"{"cuts":[
            {"message":4,"action":"drop-turn","strategy":"s","why":"w","recall":"b"},
            {"message":3,"action":"drop-turn","strategy":"s","why":"w","recall":"a"},
            {"message":6,"part":0,"action":"rewrite","chars_after":7,"recall":"a"},
            {"message":null,"action":"rewrite","why":"loose-whitespace"}],
            "left":[{"message":null,"reason":"system-stays"}]}"#;
        let plan = PlanView::read(text).unwrap();
        assert_eq!(plan.cuts[0].place, "the system prompt");
        assert_eq!(plan.left[0].places, "the request");
        let run: Vec<&str> = plan.cuts[1]
            .texts
            .iter()
            .map(|text| text.id.as_str())
            .collect();
        assert_eq!(run, ["a", "b"]);
        assert_eq!(plan.cuts[2].texts[0].chars_after, Some(7));
        let all: Vec<(String, bool)> = plan
            .texts()
            .into_iter()
            .map(|text| (text.id, text.is_dropped))
            .collect();
        assert_eq!(all, [("a".to_owned(), true), ("b".to_owned(), true)]);
        assert!(!plan.only_compressed);
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
