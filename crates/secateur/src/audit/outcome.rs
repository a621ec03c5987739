//! Below the sums: how predictions came out by kind of token, and what was spent.

use comfy_table::{Cell, CellAlignment};
use secateur_ledger::{Filter, Purpose, SpentDay, Totals};

use crate::table::{counted, table, thousands, usd};

/// What Secateur's own calls cost, a line for each purpose. They are listed by workload and time alone: where something
/// else is asked for, there are no lines, and only the sums have them.
pub(crate) fn spent_by_purpose(filter: &Filter, days: &[SpentDay]) -> Vec<String> {
    let narrower = Filter {
        workload: None,
        since: None,
        ..filter.clone()
    };
    if narrower != Filter::default() {
        return Vec::new();
    }
    let line = |purpose: Purpose| {
        let of = days.iter().filter(|day| day.purpose == purpose);
        let (calls, unpriced, spent) = of.fold((0, 0, 0.0), |(calls, unpriced, spent), day| {
            (calls + day.calls, unpriced + day.unpriced, spent + day.usd)
        });
        let what = match purpose {
            Purpose::Summary => "summaries by a model",
            _ => "comparing answers (canary)",
        };
        let unknown = if unpriced > 0 {
            format!(" and {} at an unknown cost", thousands(unpriced))
        } else {
            String::new()
        };
        (calls > 0).then(|| {
            format!(
                "{what}: {}, {}{unknown}",
                counted(calls, "call"),
                usd(spent)
            )
        })
    };
    Purpose::ALL.into_iter().filter_map(line).collect()
}

/// Predicted against billed tokens of the requests where both are known; `None` where there are none.
pub(crate) fn by_kind(all: &Totals) -> Option<String> {
    if all.predicted_tokens == 0 && all.billed_tokens == 0 {
        return None;
    }
    let mut rows = table(&["where predicted", "predicted", "billed", "off by"]);
    let kinds = [
        ("input tokens", all.predicted_tokens, all.billed_tokens),
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
    if all.reconciled_usd > 0.0 {
        let (predicted, billed) = (all.predicted_usd_with, all.reconciled_usd);
        rows.add_row([
            Cell::new("input cost"),
            Cell::new(usd(predicted)),
            Cell::new(usd(billed)),
            Cell::new(format!("{:+.1} %", (predicted / billed - 1.0) * 100.0)),
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
    fn what_was_spent_is_listed_by_purpose_where_it_fits_the_question() {
        let by_workload = Filter {
            workload: Some("a".into()),
            since: Some(7),
            ..Filter::default()
        };
        let day = |purpose, unpriced| SpentDay {
            day: "2026-11-16".into(),
            workload: "a".into(),
            purpose,
            calls: 34,
            unpriced,
            usd: 0.41,
        };
        let days = [day(Purpose::Shadow, 0), day(Purpose::Summary, 3)];
        assert_eq!(
            spent_by_purpose(&by_workload, &days),
            [
                "comparing answers (canary): 34 calls, $0.4100",
                "summaries by a model: 34 calls, $0.4100 and 3 at an unknown cost"
            ]
        );
        let by_model = Filter {
            model: Some("m".into()),
            ..Filter::default()
        };
        assert!(spent_by_purpose(&by_model, &days).is_empty());
        assert!(spent_by_purpose(&Filter::default(), &[]).is_empty());
    }
}
