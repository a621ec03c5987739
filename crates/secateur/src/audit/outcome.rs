//! Below the sums: predictions and bill by kind of token, and the cost of comparing answers.

use comfy_table::{Cell, CellAlignment};
use secateur_ledger::{Filter, ShadowCost, Totals};
use serde_json::{Value, json};

use crate::table::{counted, table, thousands, usd};

/// What comparing answers cost is known by workload and time alone: since when, if nothing else is asked.
pub(crate) fn shadow_since(filter: &Filter) -> Option<i64> {
    let narrower = Filter {
        workload: None,
        since: None,
        ..filter.clone()
    };
    (narrower == Filter::default()).then(|| filter.since.unwrap_or(0))
}

fn sum(costs: &[ShadowCost]) -> (u64, f64) {
    let calls = costs.iter().map(|cost| cost.calls).sum();
    (calls, costs.iter().fold(0.0, |sum, cost| sum + cost.usd))
}

/// For `--json`.
pub(crate) fn shadow_json(costs: &[ShadowCost]) -> Value {
    let (calls, spent) = sum(costs);
    json!({ "calls": calls, "usd": spent, "days": costs })
}

/// For people; `None` where nothing was compared.
pub(crate) fn shadow_words(costs: &[ShadowCost]) -> Option<String> {
    let (calls, spent) = sum(costs);
    (calls > 0).then(|| {
        format!(
            "comparing answers (canary): {}, {}; not taken off what is saved",
            counted(calls, "call"),
            usd(spent)
        )
    })
}

/// Predicted against billed tokens of the requests where both are known; `None` where there are none.
pub(crate) fn by_kind(all: &Totals) -> Option<String> {
    if all.predicted_tokens == 0 && all.billed_tokens == 0 {
        return None;
    }
    let mut rows = table(&["input tokens", "predicted", "billed", "off by"]);
    let kinds = [
        ("all", all.predicted_tokens, all.billed_tokens),
        (
            "read from cache",
            all.predicted_cache_read_tokens,
            all.billed_cache_read_tokens,
        ),
        (
            "written to cache",
            all.predicted_cache_write_tokens,
            all.billed_cache_write_tokens,
        ),
    ];
    for (kind, predicted, billed) in kinds {
        rows.add_row([
            Cell::new(kind),
            Cell::new(thousands(predicted)),
            Cell::new(thousands(billed)),
            Cell::new(off_by(predicted, billed)),
        ]);
    }
    for column in rows.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    Some(rows.to_string())
}

fn off_by(predicted: u64, billed: u64) -> String {
    if billed == 0 {
        return "–".into();
    }
    let off = predicted as f64 / billed as f64 - 1.0;
    format!("{:+.1} %", off * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_are_held_against_the_bill_by_kind() {
        let all = Totals {
            predicted_tokens: 1_100,
            billed_tokens: 1_000,
            predicted_cache_read_tokens: 450,
            billed_cache_read_tokens: 500,
            ..Totals::default()
        };
        let text = by_kind(&all).unwrap();
        for words in ["1,100", "+10.0 %", "-10.0 %", "written to cache"] {
            assert!(text.contains(words), "{words} in {text}");
        }
        assert_eq!(by_kind(&Totals::default()), None);
    }

    #[test]
    fn the_cost_of_comparing_is_reported_only_where_it_fits_the_filter() {
        let by_workload = Filter {
            workload: Some("a".into()),
            since: Some(7),
            ..Filter::default()
        };
        assert_eq!(shadow_since(&by_workload), Some(7));
        assert_eq!(shadow_since(&Filter::default()), Some(0));
        let by_model = Filter {
            model: Some("m".into()),
            ..Filter::default()
        };
        assert_eq!(shadow_since(&by_model), None);
        let cost = ShadowCost {
            day: "2026-11-16".into(),
            workload: "a".into(),
            calls: 34,
            usd: 0.41,
        };
        let words = shadow_words(std::slice::from_ref(&cost)).unwrap();
        assert!(words.contains("34 calls, $0.4100"), "{words}");
        assert_eq!(shadow_json(&[cost])["calls"], 34);
        assert_eq!(shadow_words(&[]), None);
    }
}
