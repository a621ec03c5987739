//! The text that was cut, before and after, or why it is not there.

use secateur_ledger::moment::Moment;
use secateur_ledger::{CapturedCut, Row};

use crate::link;
use crate::numbers::thousands;
use crate::plan::{CutText, PlanView};

/// What the ledger has of the texts of one row.
#[derive(Debug, Default)]
pub(crate) struct KeptTexts {
    /// What is there, with the cut that it belongs to; a row without a plan tells no cuts.
    pub(crate) texts: Vec<(Option<CutText>, CapturedCut)>,
    /// When the newest of those was taken that are no longer there.
    pub(crate) expired: Option<Moment>,
    /// Texts beyond those that a page shows.
    pub(crate) left_out: usize,
}

/// One text as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptText {
    pub(crate) anchor: String,
    pub(crate) id: String,
    pub(crate) at: Moment,
    /// Where it stood and who cut it, where the plan tells.
    pub(crate) place: String,
    pub(crate) chars: String,
    pub(crate) before: String,
    /// In words: what stands in its place.
    pub(crate) after: String,
    pub(crate) after_text: Option<String>,
    /// Whether the model can ask for it.
    pub(crate) is_named: bool,
}

/// Where a page has the text of this id.
pub(crate) fn anchor(id: &str) -> String {
    format!("cut-{}", link::segment(id))
}

fn count(text: &str) -> u64 {
    text.chars().count() as u64
}

/// What stands in the text's place, in words and letter by letter. A text is kept once; a later request may
/// cut it further.
fn after(cut: Option<&CutText>, kept: Option<String>) -> (String, Option<String>) {
    let Some(text) = kept else {
        let words = match cut {
            Some(cut) if cut.is_dropped => "Removed: nothing stands in its place.".to_owned(),
            Some(CutText {
                chars_after: Some(chars),
                ..
            }) => format!(
                "{} characters stand in its place. They were not kept.",
                thousands(*chars)
            ),
            _ => "What stands in its place was not kept.".to_owned(),
        };
        return (words, None);
    };
    let chars = thousands(count(&text));
    let words = match cut.and_then(|cut| cut.chars_after) {
        _ if cut.is_some_and(|cut| cut.is_dropped) => format!(
            "Removed in this request. When it was cut first, {chars} characters stood in its place:"
        ),
        Some(here) if here != count(&text) => format!(
            "{} characters in this request. When it was cut first, they were these {chars}:",
            thousands(here)
        ),
        _ => format!("{chars} characters"),
    };
    (words, Some(text))
}

impl KeptText {
    pub(crate) fn of(cut: Option<&CutText>, kept: CapturedCut) -> Self {
        let place = cut.map_or(String::new(), |cut| {
            format!("{}, {}", cut.place, cut.strategy)
        });
        let (after, after_text) = after(cut, kept.after);
        let tag = format!("[recall:{}]", kept.id);
        Self {
            anchor: anchor(&kept.id),
            at: Moment(kept.at),
            place,
            chars: thousands(count(&kept.text)),
            before: kept.text,
            is_named: after_text.as_ref().is_some_and(|text| text.contains(&tag)),
            after,
            after_text,
            id: kept.id,
        }
    }
}

/// Why there is no text to show.
pub(crate) fn why_none(
    row: &Row,
    plan: Option<&PlanView>,
    expired: Option<Moment>,
    captures: bool,
) -> String {
    let fired = |name: &str| row.stack.split('+').any(|one| one == name);
    let cuts_nothing = plan.is_some_and(|plan| plan.cuts.is_empty());
    if row.held_out {
        return "Nothing was cut: its session is held out for comparison.".into();
    }
    if cuts_nothing || (row.struck_stack.is_empty() && !fired("m7") && !fired("m3")) {
        return "Nothing was cut from this request.".into();
    }
    if plan.is_some_and(|plan| plan.only_compressed) || (fired("m3") && !fired("m7")) {
        return "Compress (m3) took out loose white space and nothing else. White space is not kept."
            .into();
    }
    if let Some(at) = expired {
        return format!(
            "It is no longer there: the workload's limits on captured text took it at {} UTC.",
            at.full()
        );
    }
    if !captures {
        return format!(
            "None is kept. Add [workload.{}.capture] to the configuration file to keep the text that is cut, encrypted, for a while.",
            row.workload
        );
    }
    if plan.is_some_and(|plan| plan.texts().is_empty()) {
        return "None is kept of this request: it came before the workload kept text, or nothing was lost, because what went stands elsewhere in the request.".into();
    }
    "It is not there. It is written a moment after the request, and left out while too many others wait; the next request of the conversation brings it again.".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(action: &str, chars_after: u64) -> CutText {
        let plan = format!(
            r#"{{"cuts":[{{"message":1,"action":"{action}","chars_after":{chars_after},"recall":"x"}}]}}"#
        );
        PlanView::read(&plan).unwrap().texts().remove(0)
    }

    #[test]
    fn what_stands_in_the_place_of_a_cut_is_told_as_it_is_in_this_request() {
        let told = |cut: &CutText, kept: Option<&str>| after(Some(cut), kept.map(str::to_owned));
        let (words, text) = told(&cut("drop-turn", 0), None);
        assert!(words.starts_with("Removed") && text.is_none());
        let (words, text) = told(&cut("rewrite", 4), Some("four"));
        assert_eq!(
            (words.as_str(), text.as_deref()),
            ("4 characters", Some("four"))
        );
        let (words, _) = told(&cut("rewrite", 2_866), Some("four"));
        assert!(
            words.starts_with("2,866 characters in this request."),
            "{words}"
        );
        let (words, _) = told(&cut("rewrite", 2_866), None);
        assert!(
            words.starts_with("2,866 characters stand in its place"),
            "{words}"
        );
        let (words, _) = told(&cut("drop-part", 0), Some("four"));
        assert!(words.starts_with("Removed in this request"), "{words}");
    }

    #[test]
    fn each_way_of_having_no_text_has_its_own_words() {
        let row = |stack: &str| Row {
            workload: "coding".into(),
            stack: stack.into(),
            ..Row::default()
        };
        let plan = |cuts: &str| PlanView::read(&format!(r#"{{"cuts":[{cuts}]}}"#)).unwrap();
        let (none, white, lost) = (
            plan(""),
            plan(r#"{"message":1,"action":"rewrite","why":"loose-whitespace"}"#),
            plan(r#"{"message":1,"action":"drop-turn","recall":"x"}"#),
        );
        let held = Row {
            held_out: true,
            ..row("")
        };
        assert!(why_none(&held, None, None, true).contains("held out"));
        assert!(why_none(&row(""), Some(&none), None, true).starts_with("Nothing was cut"));
        assert!(why_none(&row("m1"), None, None, true).starts_with("Nothing was cut"));
        assert!(why_none(&row("m3"), Some(&white), None, true).contains("white space"));
        assert!(
            why_none(&row("m7"), Some(&lost), None, false).contains("[workload.coding.capture]")
        );
        assert!(why_none(&row("m7"), Some(&lost), Some(Moment(0)), true).contains("1970-01-01"));
        assert!(why_none(&row("m7"), Some(&lost), None, true).contains("a moment after"));
    }
}
