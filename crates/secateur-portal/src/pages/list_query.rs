//! Which rows an address of the audit asks for: read leniently, spelled in one way.

use secateur_ledger::moment;
use secateur_ledger::{After, Filter};

use crate::link;

/// Filters longer than this are cut: nothing in the ledger is that long.
const MAX_FILTER_CHARS: usize = 200;

/// A page that loads itself again more often leaves no time to read it.
pub(crate) const LEAST_REFRESH: u32 = 30;
const MOST_REFRESH: u32 = 3600;

/// How `stack` says that no mechanic fired.
const NO_STACK: &str = "none";

/// Other names that are offered at most.
const MAX_OFFERED: usize = 8;

/// Which page of the list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Page {
    #[default]
    First,
    /// Of the rows that are older than this one.
    After(After),
    /// Of those that are newer, the nearest.
    Before(After),
}

/// The filters, order and page that an address of the audit asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ListQuery {
    pub(crate) workload: String,
    pub(crate) stack: String,
    pub(crate) model: String,
    pub(crate) session: String,
    pub(crate) changed: bool,
    pub(crate) trouble: bool,
    pub(crate) since: String,
    pub(crate) until: String,
    pub(crate) page: Page,
    pub(crate) refresh: Option<u32>,
    /// Fields that could not be read, in words.
    pub(crate) problems: Vec<&'static str>,
    /// Whether the address names fields without a value, as a browser's form does.
    pub(crate) is_wordy: bool,
}

/// What the reader may have meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hint {
    pub(crate) words: String,
    /// Name and address.
    pub(crate) offers: Vec<(String, String)>,
}

/// What there is to filter by.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) stacks: Vec<String>,
    pub(crate) models: Vec<String>,
}

/// A stack as rows spell it: small letters, sorted.
fn spelled_stack(typed: &str) -> String {
    let small = typed.to_ascii_lowercase();
    let mut names: Vec<&str> = small
        .split(['+', ',', ' '])
        .filter(|name| !name.is_empty())
        .collect();
    names.sort_unstable();
    names.dedup();
    names.join("+")
}

impl ListQuery {
    pub(crate) fn read(query: &str) -> Self {
        let mut out = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value: String = value.trim().chars().take(MAX_FILTER_CHARS).collect();
            out.is_wordy |= value.is_empty();
            match name.as_ref() {
                "workload" => out.workload = value,
                "stack" => out.stack = value,
                "model" => out.model = value,
                "session" => out.session = value,
                "changed" => out.changed = !value.is_empty(),
                "trouble" => out.trouble = !value.is_empty(),
                "since" => out.since = value,
                "until" => out.until = value,
                "after" if !value.is_empty() => out.page = Page::After(After(value)),
                "before" if !value.is_empty() => out.page = Page::Before(After(value)),
                "refresh" => {
                    let seconds: Option<u32> = value.parse().ok();
                    out.refresh = seconds
                        .filter(|seconds| (1..=MOST_REFRESH).contains(seconds))
                        .map(|seconds| seconds.max(LEAST_REFRESH));
                }
                _ => {}
            }
        }
        for (text, problem) in [
            (
                &mut out.since,
                "“From” is no date and time; it was left out.",
            ),
            (
                &mut out.until,
                "“Until” is no date and time; it was left out.",
            ),
        ] {
            if !text.is_empty() && moment::read(text).is_none() {
                text.clear();
                out.problems.push(problem);
            }
        }
        out
    }

    pub(crate) fn filter(&self) -> Filter {
        let some = |text: &String| (!text.is_empty()).then(|| text.clone());
        Filter {
            workload: some(&self.workload),
            stack: some(&self.stack).map(|stack| {
                if stack == NO_STACK {
                    String::new()
                } else {
                    stack
                }
            }),
            model: some(&self.model),
            session: some(&self.session),
            only_trouble: self.trouble,
            only_changed: self.changed,
            since: moment::read(&self.since),
            until: moment::read(&self.until),
        }
    }

    fn pairs(&self, page: &Page, refresh: Option<u32>) -> String {
        let flag = |is_set: bool| if is_set { "1" } else { "" };
        let (after, before) = match page {
            Page::First => Default::default(),
            Page::After(After(id)) => (id.clone(), String::new()),
            Page::Before(After(id)) => (String::new(), id.clone()),
        };
        let refresh = refresh.map_or(String::new(), |seconds| seconds.to_string());
        link::query(&[
            ("workload", &self.workload),
            ("stack", &self.stack),
            ("model", &self.model),
            ("session", &self.session),
            ("changed", flag(self.changed)),
            ("trouble", flag(self.trouble)),
            ("since", &self.since),
            ("until", &self.until),
            ("after", &after),
            ("before", &before),
            ("refresh", &refresh),
        ])
    }

    pub(crate) fn href(&self, page: &Page, refresh: Option<u32>) -> String {
        format!("/portal/audit{}", self.pairs(page, refresh))
    }

    /// The page of one row, from which there is a way back to this list.
    pub(crate) fn row_href(&self, id: &str) -> String {
        format!("{}{}", link::row(id), self.pairs(&self.page, None))
    }

    /// How many filters are set.
    pub(crate) fn count(&self) -> usize {
        let texts = [
            &self.workload,
            &self.stack,
            &self.model,
            &self.session,
            &self.since,
            &self.until,
        ];
        texts.iter().filter(|text| !text.is_empty()).count()
            + usize::from(self.changed)
            + usize::from(self.trouble)
    }

    /// Takes what was typed for what it names, whatever its letters' case, and tells where it may have
    /// meant something else.
    pub(crate) fn settle(&mut self, seen: &Seen) -> Vec<Hint> {
        let mut hints = Vec::new();
        hints.extend(self.settle_stack(&seen.stacks));
        hints.extend(self.settle_model(&seen.models));
        hints
    }

    fn settle_stack(&mut self, seen: &[String]) -> Option<Hint> {
        if self.stack.is_empty() {
            return None;
        }
        if !seen.contains(&self.stack) {
            self.stack = spelled_stack(&self.stack);
        }
        let stack = self.stack.clone();
        let is_seen = stack == NO_STACK || seen.contains(&stack);
        let holds = |other: &&String| {
            **other != stack
                && stack
                    .split('+')
                    .all(|name| other.split('+').any(|one| one == name))
        };
        let offers = self.offers(seen.iter().filter(holds), |query, name| query.stack = name);
        let words = match (is_seen, offers.is_empty()) {
            (true, true) => return None,
            (true, false) => format!("Rows with exactly the stack {stack}. It is also part of"),
            (false, true) => format!("No row has the stack {stack}."),
            (false, false) => format!("No row has exactly the stack {stack}. It is part of"),
        };
        Some(Hint { words, offers })
    }

    fn settle_model(&mut self, seen: &[String]) -> Option<Hint> {
        if self.model.is_empty() || seen.contains(&self.model) {
            return None;
        }
        let typed = self.model.clone();
        let small = typed.to_lowercase();
        if let Some(same) = seen.iter().find(|name| name.to_lowercase() == small) {
            self.model.clone_from(same);
            return None;
        }
        let near: Vec<&String> = seen
            .iter()
            .filter(|name| name.to_lowercase().contains(&small))
            .collect();
        if let [only] = near.as_slice() {
            self.model.clone_from(only);
            let words =
                format!("“{typed}” was taken for {only}, the only model with it in its name.");
            let offers = Vec::new();
            return Some(Hint { words, offers });
        }
        let offers = self.offers(near.into_iter(), |query, name| query.model = name);
        let words = if offers.is_empty() {
            format!("No row names the model “{typed}”.")
        } else {
            format!("No model is called “{typed}”. It is part of")
        };
        Some(Hint { words, offers })
    }

    /// The same list with another name in one place.
    fn offers<'s>(
        &self,
        names: impl Iterator<Item = &'s String>,
        put: fn(&mut Self, String),
    ) -> Vec<(String, String)> {
        let offer = |name: &String| {
            let mut other = self.clone();
            put(&mut other, name.clone());
            (name.clone(), other.href(&Page::First, None))
        };
        names.take(MAX_OFFERED).map(offer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_which_rows_and_says_it_again_on_the_next_page() {
        let query = ListQuery::read(
            "workload=a%20b&stack=none&changed=1&since=2026-11-16T05%3A00&after=x.y&nonsense=1",
        );
        let filter = query.filter();
        assert_eq!(filter.workload.as_deref(), Some("a b"));
        assert_eq!(filter.stack.as_deref(), Some(""));
        assert!(filter.only_changed && !filter.only_trouble);
        assert_eq!(filter.since, moment::read("2026-11-16T05:00"));
        let place = After("x.y".into());
        assert_eq!(query.page, Page::After(place.clone()));
        let back = ListQuery {
            page: Page::Before(place),
            ..query.clone()
        };
        for query in [query, back] {
            for href in [query.href(&query.page, None), query.row_href("r/1")] {
                assert_eq!(ListQuery::read(href.split_once('?').unwrap().1), query);
            }
            assert_eq!(query.count(), 4);
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_and_left_out() {
        let query = ListQuery::read("since=yesterday&refresh=0");
        assert_eq!(query.filter(), Filter::default());
        assert_eq!(query.problems.len(), 1);
        assert_eq!((&query.page, query.refresh), (&Page::First, None));
        assert_eq!(ListQuery::read("after=").page, Page::First);
        assert_eq!(ListQuery::read("refresh=5").refresh, Some(LEAST_REFRESH));
        assert!(ListQuery::read("stack=&model=x").is_wordy && !query.is_wordy);
    }

    #[test]
    fn what_is_typed_is_taken_for_what_there_is() {
        let name = str::to_owned;
        let seen = Seen {
            stacks: ["", "m3", "m3+m7", "m7"].map(name).into(),
            models: ["Claude-Sonnet", "claude-haiku", "gpt-4o"].map(name).into(),
        };
        let settle = |query: &str| {
            let mut query = ListQuery::read(query);
            let hints = query.settle(&seen);
            (query.stack, query.model, hints)
        };
        let (stack, _, hints) = settle("stack=M7");
        assert_eq!(stack, "m7");
        assert_eq!(hints[0].offers[0].0, "m3+m7");
        assert_eq!(hints[0].offers[0].1, "/portal/audit?stack=m3%2Bm7");
        let (stack, _, hints) = settle("stack=m7%2Bm3");
        assert_eq!((stack.as_str(), hints.len()), ("m3+m7", 0));
        assert!(settle("stack=m9").2[0].words.starts_with("No row has"));
        let (_, model, hints) = settle("model=CLAUDE-SONNET");
        assert_eq!((model.as_str(), hints.len()), ("Claude-Sonnet", 0));
        assert_eq!(settle("model=gpt").1, "gpt-4o");
        assert_eq!(settle("model=claude").2[0].offers.len(), 2);
        assert!(
            settle("model=nobody").2[0]
                .words
                .starts_with("No row names")
        );
        assert!(settle("stack=none").2.is_empty());
    }
}
