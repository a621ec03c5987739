//! One row of the audit as a line of a list.

use secateur_ledger::Row;
use secateur_ledger::moment::Moment;

use crate::chip::Chip;
use crate::link;
use crate::numbers::{percent, signed, thousands, usd};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct RowLine {
    pub(crate) href: String,
    pub(crate) id: String,
    pub(crate) at: Moment,
    pub(crate) workload: String,
    pub(crate) quality: String,
    pub(crate) model: String,
    pub(crate) routed_to: Option<String>,
    pub(crate) chips: Vec<Chip>,
    /// Characters as they came and as they were sent.
    pub(crate) chars: Option<(String, String)>,
    /// How much smaller, where it is.
    pub(crate) change: Option<String>,
    pub(crate) input_tokens: String,
    pub(crate) cache_read: Option<String>,
    pub(crate) tokens_saved: Option<String>,
    pub(crate) paid: Option<String>,
    pub(crate) saved: Option<String>,
    /// The cut cost more than it saved.
    pub(crate) is_loss: bool,
    pub(crate) status: u16,
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

/// `1 − after / before` as a signed share: `−75.0 %`.
pub(crate) fn change(before: u64, after: u64) -> Option<String> {
    (before > 0 && before != after).then(|| percent(after as f64 / before as f64 - 1.0))
}

impl RowLine {
    pub(crate) fn of(row: &Row) -> Self {
        let sizes = row.chars_before.zip(row.chars_after);
        let receipt = &row.receipt;
        Self {
            href: link::row(&row.id),
            id: row.id.clone(),
            at: Moment(row.at),
            workload: row.workload.clone(),
            quality: link::quality(&row.workload),
            model: row.model.clone().unwrap_or_else(|| "–".to_owned()),
            routed_to: row.routed_to.clone(),
            chips: Chip::all(&row.stack),
            chars: sizes.map(|(before, after)| (thousands(before), thousands(after))),
            change: sizes.and_then(|(before, after)| change(before, after)),
            input_tokens: row.usage.input.map_or("–".to_owned(), thousands),
            cache_read: row.usage.cache_read.filter(|read| *read > 0).map(thousands),
            tokens_saved: receipt.tokens_saved.filter(|saved| *saved != 0).map(signed),
            paid: receipt.actual_usd.map(usd),
            saved: receipt.saved_usd.filter(|saved| *saved != 0.0).map(usd),
            is_loss: receipt.saved_usd.is_some_and(|saved| saved < 0.0),
            status: row.status,
            is_error: row.status >= 400 || row.status == 0,
            remarks: remarks(row),
        }
    }
}
