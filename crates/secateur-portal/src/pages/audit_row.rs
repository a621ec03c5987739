//! One request: everything on its row, the chain, the plan, the receipt, the captured text.

use askama::Template;
use secateur_ledger::moment::Moment;
use secateur_ledger::{LedgerError, Row, StepRow};

use super::kept_text::{KeptText, KeptTexts, why_none};
use super::list_query::ListQuery;
use super::row_line::{change, clock, remarks, status};
use crate::chip::Chip;
use crate::link;
use crate::numbers::{micros, off_by, percent, share, signed, thousands, usd_in, usd_places};
use crate::plan::{PlanView, reason_words};
use crate::shell::Shell;

/// A name and what stands beside it.
pub(crate) struct Fact {
    name: &'static str,
    value: String,
    href: Option<String>,
}

pub(crate) struct Link {
    chip: Chip,
    /// Why it did nothing; `None`: it fired.
    skipped: Option<String>,
}

/// One line of the receipt: predicted without cuts, predicted with cuts, billed.
pub(crate) struct ReceiptLine {
    name: &'static str,
    without: String,
    with: String,
    billed: String,
}

/// What stands around a row.
#[derive(Debug, Default)]
pub(crate) struct Around {
    /// Ids of the requests of its session before and after it.
    pub(crate) earlier: Option<String>,
    pub(crate) later: Option<String>,
    /// Whether its workload keeps the text that is cut.
    pub(crate) captures: bool,
}

#[derive(Template)]
#[template(path = "audit_row.html")]
pub(crate) struct AuditRowPage {
    shell: Shell,
    /// The list that the reader came from.
    list: String,
    earlier: Option<String>,
    later: Option<String>,
    id: String,
    at: Moment,
    clock: String,
    chips: Vec<Chip>,
    status: String,
    is_error: bool,
    remarks: Vec<String>,
    request: Vec<Fact>,
    sizes: Vec<Fact>,
    times: Vec<Fact>,
    chain: Vec<Link>,
    plan: Option<PlanView>,
    has_unread_plan: bool,
    receipt: Vec<ReceiptLine>,
    settled: Vec<Fact>,
    is_loss: bool,
    captured: Vec<KeptText>,
    /// Texts beyond those that are shown.
    left_out: usize,
    /// Why there is none.
    why_none: String,
    /// Why the text that was cut cannot be shown.
    captured_problem: Option<String>,
}

fn fact(name: &'static str, value: impl Into<String>) -> Option<Fact> {
    let value = value.into();
    (!value.is_empty()).then_some(Fact {
        name,
        value,
        href: None,
    })
}

fn linked(name: &'static str, value: &str, href: String) -> Option<Fact> {
    let href = Some(href);
    (!value.is_empty()).then(|| Fact {
        name,
        value: value.to_owned(),
        href,
    })
}

fn request(row: &Row) -> Vec<Fact> {
    let session = row.session.as_deref().unwrap_or_default();
    let routed = row
        .routed_to
        .as_ref()
        .map_or(String::new(), |model| format!("{model}, chosen by m1"));
    [
        linked("Workload", &row.workload, link::quality(&row.workload)),
        linked("Session", session, link::audit(&[("session", session)])),
        fact("Client key", row.key.clone().unwrap_or_default()),
        fact("Provider", row.provider.clone()),
        fact(
            "Wire format",
            row.dialect
                .clone()
                .unwrap_or_else(|| "passed through".into()),
        ),
        fact("Model", row.model.clone().unwrap_or_default()),
        fact("Sent to", routed),
        fact(
            "Status",
            match row.upstream_status {
                Some(upstream) if upstream != row.status => {
                    format!("{} (upstream {upstream})", status(row))
                }
                None if row.status != 0 => format!("{} (no response from upstream)", row.status),
                _ => status(row),
            },
        ),
        fact(
            "Response",
            format!(
                "{}, {} bytes",
                if row.is_stream {
                    "stream of events"
                } else {
                    "in one piece"
                },
                thousands(row.response_bytes)
            ),
        ),
        fact("Ended", row.ended.replace('-', " ")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn pair(before: Option<u64>, after: Option<u64>) -> String {
    let Some((before, after)) = before.zip(after) else {
        return String::new();
    };
    let change = change(before, after).map_or(String::new(), |change| format!(" ({change})"));
    format!("{} → {}{change}", thousands(before), thousands(after))
}

fn sizes(row: &Row) -> Vec<Fact> {
    let compress = row.compress.as_ref();
    let count = |number: u64| {
        if number > 0 {
            thousands(number)
        } else {
            String::new()
        }
    };
    let chunks = if row.rag_kept + row.rag_dropped > 0 {
        format!(
            "{} kept, {} dropped",
            thousands(row.rag_kept),
            thousands(row.rag_dropped)
        )
    } else {
        String::new()
    };
    let edit = row.first_edit_at.map_or(String::new(), |at| {
        let kept = share(at, row.bytes_before).map_or(String::new(), |share| {
            format!(" ({} of the body)", percent(share))
        });
        format!(
            "byte {}{kept}: the first difference from the request as it came",
            thousands(at)
        )
    });
    [
        fact("Bytes", pair(Some(row.bytes_before), Some(row.bytes_after))),
        fact("Characters", pair(row.chars_before, row.chars_after)),
        fact("Messages", pair(row.messages_before, row.messages_after)),
        fact("Turns removed", count(row.turns_removed)),
        fact("Context chunks", chunks),
        fact(
            "Compress (m3)",
            compress.map_or(String::new(), |compress| {
                pair(Some(compress.chars_before), Some(compress.chars_after))
            }),
        ),
        fact("First edit", edit),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn times(row: &Row) -> Vec<Fact> {
    [
        fact("Added by the proxy", micros(row.added_us)),
        fact(
            "Upstream to first byte",
            row.upstream_head_us.map_or(String::new(), micros),
        ),
        fact("In all", micros(row.total_us)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Places of all dollars of a receipt.
fn places(row: &Row) -> usize {
    let receipt = &row.receipt;
    let amounts = [
        receipt.predicted_usd_without,
        receipt.predicted_usd_with,
        receipt.billed_input_usd,
        receipt.billed_usd,
        receipt.saved_usd,
    ];
    usd_places(amounts.into_iter().flatten())
}

fn receipt(row: &Row) -> Vec<ReceiptLine> {
    let dash = || "–".to_owned();
    let tokens = |count: Option<u64>| count.map_or_else(dash, thousands);
    let (receipt, usage) = (&row.receipt, &row.usage);
    let places = places(row);
    let dollars = |amount: Option<f64>| amount.map_or_else(dash, |amount| usd_in(amount, places));
    let line = |name, without, with, billed| ReceiptLine {
        name,
        without,
        with,
        billed,
    };
    vec![
        line(
            "Input tokens",
            tokens(receipt.predicted_tokens_before),
            tokens(receipt.predicted_tokens_after),
            tokens(usage.input),
        ),
        line(
            "of them read from cache",
            dash(),
            tokens(receipt.predicted_cache_read),
            tokens(usage.cache_read),
        ),
        line(
            "of them written to cache",
            dash(),
            tokens(receipt.predicted_cache_write),
            tokens(usage.cache_write),
        ),
        line("Output tokens", dash(), dash(), tokens(usage.output)),
        line(
            "Input cost",
            dollars(receipt.predicted_usd_without),
            dollars(receipt.predicted_usd_with),
            dollars(receipt.billed_input_usd),
        ),
        line(
            "Cost in all",
            dash(),
            dash(),
            if row.is_unpriced() {
                "no price".to_owned()
            } else {
                dollars(receipt.billed_usd)
            },
        ),
    ]
}

/// After how many further turns a cut has earned back what it cost.
fn pays_off(turns: f64) -> String {
    if turns < 0.05 {
        "at once".into()
    } else {
        format!("after {turns:.1} further turns")
    }
}

fn settled(row: &Row, plan: Option<&PlanView>) -> Vec<Fact> {
    let receipt = &row.receipt;
    let counted = if receipt.tokens_are_exact {
        "with the model's own vocabulary"
    } else {
        "an estimate"
    };
    let off = receipt
        .predicted_usd_with
        .zip(receipt.billed_input_usd)
        .filter(|(_, billed)| *billed > 0.0);
    [
        fact(
            "Tokens saved",
            receipt.tokens_saved.map_or(String::new(), signed),
        ),
        fact(
            "Saved, net",
            receipt
                .saved_usd
                .map_or(String::new(), |saved| usd_in(saved, places(row))),
        ),
        fact("Cache", plan.map_or("", |plan| plan.cache_read.as_str())),
        fact(
            "Provider's counts",
            plan.filter(|plan| plan.usage_implausible).map_or(
                "",
                |_| "cannot all be true: left out, or cut to what is possible",
            ),
        ),
        fact(
            "Prediction against bill",
            off.map_or(String::new(), |(predicted, billed)| {
                off_by(predicted, billed)
            }),
        ),
        fact(
            "Pays off",
            receipt.break_even_turns.map_or(String::new(), pays_off),
        ),
        fact(
            "Predicted tokens",
            receipt.predicted_tokens_after.map_or("", |_| counted),
        ),
        fact("Prices of", receipt.price_date.clone().unwrap_or_default()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl AuditRowPage {
    pub(crate) fn of(
        row: &Row,
        captured: Result<KeptTexts, LedgerError>,
        around: Around,
        query: &ListQuery,
        shell: Shell,
    ) -> Self {
        let link = |step: &StepRow| Link {
            chip: Chip::of(&step.mechanic),
            skipped: step.skipped.as_deref().map(reason_words),
        };
        let mut plan = row.plan.as_deref().and_then(PlanView::read);
        let (captured, captured_problem) = match captured {
            Ok(captured) => (captured, None),
            Err(error) => (KeptTexts::default(), Some(error.to_string())),
        };
        let why_none = why_none(row, plan.as_ref(), captured.expired, around.captures);
        let texts: Vec<KeptText> = captured
            .texts
            .into_iter()
            .map(|(cut, kept)| KeptText::of(cut.as_ref(), kept))
            .collect();
        for cut in plan.iter_mut().flat_map(|plan| &mut plan.cuts) {
            cut.texts
                .retain(|text| texts.iter().any(|shown| shown.id == text.id));
        }
        Self {
            shell,
            list: query.href(&query.page, None),
            earlier: around.earlier.map(|id| query.row_href(&id)),
            later: around.later.map(|id| query.row_href(&id)),
            id: row.id.clone(),
            at: Moment(row.at),
            clock: clock(Moment(row.at)),
            chips: Chip::all(&row.stack),
            status: status(row),
            is_error: row.status >= 400 || row.status == 0,
            remarks: remarks(row),
            request: request(row),
            sizes: sizes(row),
            times: times(row),
            chain: row.steps.iter().map(link).collect(),
            has_unread_plan: row.plan.is_some() && plan.is_none(),
            settled: settled(row, plan.as_ref()),
            plan: plan.filter(|plan| plan.is_report),
            receipt: receipt(row),
            is_loss: row.receipt.saved_usd.is_some_and(|saved| saved < 0.0),
            captured: texts,
            left_out: captured.left_out,
            why_none,
            captured_problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_that_costs_nothing_pays_off_at_once() {
        assert_eq!(pays_off(0.0), "at once");
        assert_eq!(pays_off(2.54), "after 2.5 further turns");
    }
}
