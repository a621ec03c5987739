//! The audit: rows, newest first, with filters in the address and a link to the older ones.

use askama::Template;
use secateur_ledger::moment::{self, Moment};
use secateur_ledger::{After, Filter, Row};

use super::row_line::RowLine;
use crate::link;
use crate::shell::Shell;

/// Rows on a page.
pub(crate) const PAGE_ROWS: u32 = 50;
/// Filters longer than this are cut: nothing in the ledger is that long.
const MAX_FILTER_CHARS: usize = 200;

/// What the address asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ListQuery {
    workload: String,
    stack: String,
    model: String,
    session: String,
    changed: bool,
    trouble: bool,
    since: String,
    until: String,
    after: String,
    pub(crate) refresh: Option<u32>,
    /// Fields that could not be read, in words.
    problems: Vec<&'static str>,
}

/// How `stack` says that no mechanic fired.
const NO_STACK: &str = "none";

impl ListQuery {
    pub(crate) fn read(query: &str) -> Self {
        let mut out = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value: String = value.trim().chars().take(MAX_FILTER_CHARS).collect();
            match name.as_ref() {
                "workload" => out.workload = value,
                "stack" => out.stack = value,
                "model" => out.model = value,
                "session" => out.session = value,
                "changed" => out.changed = !value.is_empty(),
                "trouble" => out.trouble = !value.is_empty(),
                "since" => out.since = value,
                "until" => out.until = value,
                "after" => out.after = value,
                "refresh" => {
                    out.refresh = value
                        .parse()
                        .ok()
                        .filter(|seconds| (2..=3600).contains(seconds));
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

    /// The place in the list: time and id with a dot between.
    pub(crate) fn after(&self) -> Option<After> {
        let (at, id) = self.after.split_once('.')?;
        Some(After {
            at: at.parse().ok()?,
            id: id.to_owned(),
        })
    }

    fn href(&self, after: &str, refresh: Option<u32>) -> String {
        let flag = |is_set: bool| if is_set { "1" } else { "" };
        let refresh = refresh.map_or(String::new(), |seconds| seconds.to_string());
        link::audit(&[
            ("workload", &self.workload),
            ("stack", &self.stack),
            ("model", &self.model),
            ("session", &self.session),
            ("changed", flag(self.changed)),
            ("trouble", flag(self.trouble)),
            ("since", &self.since),
            ("until", &self.until),
            ("after", after),
            ("refresh", &refresh),
        ])
    }

    /// How many filters are set.
    fn count(&self) -> usize {
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
}

#[derive(Template)]
#[template(path = "audit_list.html")]
pub(crate) struct AuditListPage {
    shell: Shell,
    query: ListQuery,
    filters: usize,
    /// Workloads to choose from, with the chosen one among them.
    workloads: Vec<String>,
    rows: Vec<RowLine>,
    older: Option<String>,
    newest: Option<String>,
    refresh_on: Option<String>,
    refresh_off: Option<String>,
}

impl AuditListPage {
    /// `rows` may hold one more than a page shows: then there are older ones.
    pub(crate) fn of(
        query: ListQuery,
        mut rows: Vec<Row>,
        mut workloads: Vec<String>,
        shell: Shell,
    ) -> Self {
        let page = PAGE_ROWS as usize;
        let has_older = rows.len() > page;
        rows.truncate(page);
        let last = rows.last().filter(|_| has_older);
        let older = last.map(|row| query.href(&format!("{}.{}", row.at, row.id), None));
        if !query.workload.is_empty() && !workloads.contains(&query.workload) {
            workloads.push(query.workload.clone());
        }
        let is_first = query.after.is_empty();
        let is_fresh = query.refresh.is_some();
        Self {
            filters: query.count(),
            rows: rows.iter().map(RowLine::of).collect(),
            older,
            newest: (!is_first).then(|| query.href("", None)),
            refresh_on: (is_first && !is_fresh).then(|| query.href("", Some(5))),
            refresh_off: is_fresh.then(|| query.href("", None)),
            workloads,
            query,
            shell,
        }
    }

    /// When the oldest row on the page came in.
    fn reaches_back_to(&self) -> Option<Moment> {
        self.rows.last().map(|row| row.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_which_rows_and_says_it_again_on_the_next_page() {
        let query = ListQuery::read(
            "workload=a%20b&stack=none&changed=1&since=2026-11-16T05%3A00&after=12.x.y&nonsense=1",
        );
        let filter = query.filter();
        assert_eq!(filter.workload.as_deref(), Some("a b"));
        assert_eq!(filter.stack.as_deref(), Some(""));
        assert!(filter.only_changed && !filter.only_trouble);
        assert_eq!(filter.since, moment::read("2026-11-16T05:00"));
        assert_eq!(
            query.after(),
            Some(After {
                at: 12,
                id: "x.y".into()
            })
        );
        assert_eq!(
            ListQuery::read(query.href("12.x.y", None).split_once('?').unwrap().1),
            query
        );
        assert_eq!(query.count(), 4);
    }

    #[test]
    fn what_cannot_be_read_is_told_and_left_out() {
        let query = ListQuery::read("since=yesterday&after=x&refresh=0");
        assert_eq!(query.filter(), Filter::default());
        assert_eq!(query.problems.len(), 1);
        assert_eq!((query.after(), query.refresh), (None, None));
    }
}
