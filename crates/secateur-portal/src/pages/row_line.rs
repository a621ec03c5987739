//! One row of the audit as a line of a list.

use secateur_ledger::Row;
use secateur_ledger::moment::Moment;

use super::list_query::ListQuery;
use crate::chip::Chip;
use crate::link;
use crate::numbers::{percent, signed, thousands, usd_in, usd_places};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct RowLine {
    pub(crate) href: String,
    pub(crate) id: String,
    pub(crate) at: Moment,
    /// To the millisecond: many requests come within a second.
    pub(crate) clock: String,
    pub(crate) workload: String,
    pub(crate) quality: String,
    pub(crate) model: String,
    pub(crate) routed_to: Option<String>,
    /// The end of its session's name, and the session's rows.
    pub(crate) session: Option<(String, String)>,
    pub(crate) chips: Vec<Chip>,
    /// Characters as they came and as they were sent.
    pub(crate) chars: Option<(String, String)>,
    /// How much smaller, where it is.
    pub(crate) change: Option<String>,
    pub(crate) input_tokens: String,
    pub(crate) cache_read: Option<String>,
    pub(crate) tokens_saved: Option<String>,
    pub(crate) billed: Option<String>,
    pub(crate) saved: Option<String>,
    /// The cut cost more than it saved.
    pub(crate) is_loss: bool,
    pub(crate) status: String,
    pub(crate) is_error: bool,
    /// What else is to be known, in words.
    pub(crate) remarks: Vec<String>,
}

/// What is out of the ordinary about a row.
pub(crate) fn remarks(row: &Row) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(reason) = &row.failed_open {
        out.push(format!("original sent: {}", reason.replace('-', " ")));
    }
    if !row.struck_stack.is_empty() {
        out.push(format!(
            "provider rejected {}, original sent",
            row.struck_stack
        ));
    }
    if row.bypassed {
        out.push("bypassed by header".to_owned());
    }
    if row.held_out {
        out.push("held out for comparison".to_owned());
    }
    if row.ended != "complete" {
        out.push(row.ended.replace('-', " "));
    }
    out
}

/// `2026-11-16 05:02:33.007`.
pub(crate) fn clock(at: Moment) -> String {
    format!("{}.{:03}", at.full(), at.0.rem_euclid(1000))
}

/// `1 − after / before` as a signed share: `−75.0 %`.
pub(crate) fn change(before: u64, after: u64) -> Option<String> {
    (before > 0 && before != after).then(|| percent(after as f64 / before as f64 - 1.0))
}

/// What the client got; 0 stands for nothing.
pub(crate) fn status(row: &Row) -> String {
    match row.status {
        0 => "no response".to_owned(),
        status => status.to_string(),
    }
}

/// Letters of a session's name that tell it from others in a list.
const SESSION_CHARS: usize = 8;

fn ending(name: &str) -> String {
    let count = name.chars().count();
    if count <= SESSION_CHARS + 1 {
        return name.to_owned();
    }
    let end: String = name.chars().skip(count - SESSION_CHARS).collect();
    format!("…{end}")
}

/// Places of the dollars in a list's receipts.
pub(crate) fn places(rows: &[Row]) -> usize {
    let of = |row: &Row| [row.receipt.billed_usd, row.receipt.saved_usd];
    usd_places(rows.iter().flat_map(of).flatten())
}

impl RowLine {
    /// A line of the list that `query` asks for.
    pub(crate) fn of(row: &Row, query: &ListQuery, places: usize) -> Self {
        let sizes = row.chars_before.zip(row.chars_after);
        let receipt = &row.receipt;
        Self {
            href: query.row_href(&row.id),
            id: row.id.clone(),
            at: Moment(row.at),
            clock: clock(Moment(row.at)),
            workload: row.workload.clone(),
            quality: link::quality(&row.workload),
            model: row.model.clone().unwrap_or_else(|| "–".to_owned()),
            routed_to: row.routed_to.clone(),
            session: row
                .session
                .as_deref()
                .map(|session| (ending(session), link::audit(&[("session", session)]))),
            chips: Chip::all(&row.stack),
            chars: sizes.map(|(before, after)| (thousands(before), thousands(after))),
            change: sizes.and_then(|(before, after)| change(before, after)),
            input_tokens: row.usage.input.map_or("–".to_owned(), thousands),
            cache_read: row.usage.cache_read.filter(|read| *read > 0).map(thousands),
            tokens_saved: receipt.tokens_saved.filter(|saved| *saved != 0).map(signed),
            billed: match receipt.billed_usd {
                Some(amount) => Some(usd_in(amount, places)),
                None => row.is_unpriced().then(|| "no price".to_owned()),
            },
            saved: receipt
                .saved_usd
                .filter(|saved| *saved != 0.0)
                .map(|amount| usd_in(amount, places)),
            is_loss: receipt.saved_usd.is_some_and(|saved| saved < 0.0),
            status: status(row),
            is_error: row.status >= 400 || row.status == 0,
            remarks: remarks(row),
        }
    }
}
