//! `secateur audit show`: one row, and its plan in the words of `secateur plan`.

use std::collections::BTreeMap;

use comfy_table::Cell;
use secateur_core::internal::edit::{CutReason, SkipReason};
use secateur_ledger::shown::in_line;
use secateur_ledger::{Ledger, Row};
use serde_json::Value;

use super::args::ShowArgs;
use super::by_prefix::find;
use super::stats::usd;
use super::time::spell;
use crate::failure::Failure;
use crate::input::{show, write_stdout};
use crate::table::{amber_cell, bold, green_cell, table, thousands};

const NO_PLAN: &str = "\nNo plan was kept: no mechanic looked at this request.\n";

pub(crate) fn run(ledger: &Ledger, args: &ShowArgs) -> Result<(), Failure> {
    let row = find(ledger, &args.id)?;
    if args.json {
        return write_stdout(format!("{:#}\n", json(&row)).as_bytes());
    }
    let plan = row.plan.as_deref().map(serde_json::from_str::<Value>);
    let mut text = facts(&row, plan.as_ref().and_then(|plan| plan.as_ref().ok()));
    if row.held_out {
        // Its plan says no more than that nothing was switched on.
        return show(&(text + "\nNothing was looked at: the session is held out.\n"));
    }
    match plan {
        None => text += NO_PLAN,
        Some(Err(_)) => text += "\nThe plan cannot be read.\n",
        Some(Ok(plan)) if plan["verdict"].is_null() && plan["usage_implausible"] == true => {
            text += NO_PLAN;
        }
        Some(Ok(plan)) => text += &explain(&plan),
    }
    show(&text)
}

/// The plan as JSON within JSON, not as a text.
pub(super) fn json(row: &Row) -> Value {
    let plan = row
        .plan
        .as_deref()
        .and_then(|plan| serde_json::from_str::<Value>(plan).ok());
    let mut json = serde_json::to_value(row).unwrap_or_default();
    if let (Some(plan), Some(object)) = (plan, json.as_object_mut()) {
        object.insert("plan".into(), plan);
    }
    json
}

fn count(number: u64) -> String {
    thousands(usize::try_from(number).unwrap_or(usize::MAX))
}

fn pair(before: Option<u64>, after: Option<u64>) -> Option<String> {
    Some(format!("{} → {}", count(before?), count(after?)))
}

fn facts(row: &Row, plan: Option<&Value>) -> String {
    let receipt = &row.receipt;
    let is_implausible = plan.is_some_and(|plan| plan["usage_implausible"] == true);
    // What was read from the cache, by which rule, or why not.
    let cache = plan.and_then(|plan| Some(plan["cache_read"]["summary"].as_str()?.to_owned()));
    let milliseconds = |us: u64| format!("{}.{:03} ms", count(us / 1_000), us % 1_000);
    let tokens = |number: Option<u64>| number.map(count);
    let steps: Vec<String> = row
        .steps
        .iter()
        .map(|step| match &step.skipped {
            None => format!("{} fired", step.mechanic),
            Some(reason) => format!("{}: {}", step.mechanic, skip_words(reason)),
        })
        .collect();
    let kind = if receipt.tokens_are_exact {
        ""
    } else {
        " (estimate)"
    };
    let facts: Vec<(&str, Option<String>)> = vec![
        ("id", Some(row.id.clone())),
        ("time", Some(format!("{} UTC", spell(row.at)))),
        ("workload", Some(row.workload.clone())),
        ("key", row.key.clone()),
        ("session", row.session.clone()),
        ("model", row.model.clone()),
        ("routed to", row.routed_to.clone()),
        ("dialect", row.dialect.clone()),
        (
            "stack",
            Some(if row.stack.is_empty() {
                "none".into()
            } else {
                row.stack.clone()
            }),
        ),
        ("chain", (!steps.is_empty()).then(|| steps.join("; "))),
        ("in doubt", row.failed_open.clone()),
        (
            "rejected",
            (!row.struck_stack.is_empty()).then(|| {
                format!(
                    "{} by the provider; the original was sent",
                    row.struck_stack
                )
            }),
        ),
        (
            "bypassed",
            row.bypassed.then(|| "x-secateur-bypass was set".into()),
        ),
        (
            "held out",
            row.held_out
                .then(|| "its session is kept unpruned for comparison".into()),
        ),
        ("bytes", pair(Some(row.bytes_before), Some(row.bytes_after))),
        ("characters", pair(row.chars_before, row.chars_after)),
        ("messages", pair(row.messages_before, row.messages_after)),
        (
            "compressed",
            row.compress
                .and_then(|compress| pair(Some(compress.chars_before), Some(compress.chars_after))),
        ),
        (
            "first difference",
            row.first_edit_at
                .map(|at| format!("at byte {} of the request as it came", count(at))),
        ),
        (
            "status",
            Some(match row.status {
                0 => "no response".into(),
                status => status.to_string(),
            }),
        ),
        ("ended", (!row.ended.is_empty()).then(|| row.ended.clone())),
        ("added", Some(milliseconds(row.added_us))),
        ("took", Some(milliseconds(row.total_us))),
        (
            "predicted tokens",
            pair(
                receipt.predicted_tokens_before,
                receipt.predicted_tokens_after,
            )
            .map(|pair| pair + kind),
        ),
        ("  read from cache", tokens(receipt.predicted_cache_read)),
        ("  written to cache", tokens(receipt.predicted_cache_write)),
        (
            "provider's counts",
            is_implausible
                .then(|| "cannot all be true: left out, or cut to what is possible".into()),
        ),
        ("billed input tokens", tokens(row.usage.input)),
        ("  read from cache", tokens(row.usage.cache_read)),
        ("  written to cache", tokens(row.usage.cache_write)),
        ("cache", cache),
        ("output tokens", tokens(row.usage.output)),
        ("predicted input cost", receipt.predicted_usd_with.map(usd)),
        ("  without cuts", receipt.predicted_usd_without.map(usd)),
        ("billed input cost", receipt.billed_input_usd.map(usd)),
        (
            "billed",
            match receipt.billed_usd {
                Some(billed) => Some(usd(billed)),
                None => row.is_unpriced().then(|| "no known cost".into()),
            },
        ),
        (
            "saved",
            receipt.saved_usd.map(|saved| {
                let verdict = if saved < 0.0 {
                    " (net-negative: the broken cache cost more)"
                } else {
                    ""
                };
                usd(saved) + verdict
            }),
        ),
    ];
    facts
        .into_iter()
        .filter_map(|(name, value)| {
            Some(format!(
                "{:22}{}\n",
                bold(&format!("{name:21}")),
                in_line(&value?)
            ))
        })
        .collect()
}

fn skip_words(reason: &str) -> String {
    let known = serde_json::from_value::<SkipReason>(Value::from(reason));
    known.map_or_else(|_| reason.to_owned(), |known| known.describe().to_owned())
}

fn why_words(reason: &str) -> String {
    let known = serde_json::from_value::<CutReason>(Value::from(reason));
    known.map_or_else(|_| reason.to_owned(), |known| known.describe().to_owned())
}

fn explain(plan: &Value) -> String {
    if let Some(left_out) = plan["left_out"].as_str() {
        return format!("\n{left_out} ({} bytes).\n", plan["bytes"]);
    }
    let mut text = String::new();
    let cuts = plan["cuts"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if !cuts.is_empty() {
        let mut rows = table(&["cut", "who", "strategy", "why", "chars"]);
        for cut in cuts {
            rows.add_row([
                amber_cell(in_line(&format!(
                    "{} {}",
                    word(&cut["action"]),
                    place(cut, "the system prompt")
                ))),
                Cell::new(word(&cut["role"])),
                Cell::new(word(&cut["strategy"])),
                Cell::new(why_words(&word(&cut["why"]))),
                Cell::new(format!(
                    "{} → {}",
                    number(&cut["chars_before"]),
                    number(&cut["chars_after"])
                )),
            ]);
        }
        text += &format!("\n{rows}\n");
    }
    let mut groups: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for left in plan["left"].as_array().into_iter().flatten() {
        let strategy = left["strategy"].as_str().unwrap_or("(engine)").to_owned();
        groups
            .entry((strategy, word(&left["reason"])))
            .or_default()
            .push(place(left, "the request"));
    }
    if !groups.is_empty() {
        let mut rows = table(&["left alone", "strategy", "why", "count"]);
        for ((strategy, reason), places) in groups {
            let mut named = places
                .iter()
                .take(3)
                .cloned()
                .collect::<Vec<_>>()
                .join(", ");
            if places.len() > 3 {
                named += ", …";
            }
            rows.add_row([
                green_cell(named),
                Cell::new(in_line(&strategy)),
                Cell::new(skip_words(&reason)),
                Cell::new(places.len()),
            ]);
        }
        text += &format!("\n{rows}\n");
    }
    if text.is_empty() {
        text = "\nNothing was cut, and nothing was looked at twice.\n".into();
    }
    text
}

fn word(value: &Value) -> String {
    in_line(value.as_str().unwrap_or_default()).into_owned()
}

fn number(value: &Value) -> String {
    value.as_u64().map_or_else(|| "–".into(), count)
}

/// `outside`: what a place outside of the messages is.
fn place(value: &Value, outside: &str) -> String {
    match (value["message"].as_u64(), value["part"].as_u64()) {
        (None, _) => outside.into(),
        (Some(message), None) => format!("[{message}]"),
        (Some(message), Some(part)) => format!("[{message}] part {part}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_edit_is_no_promise_about_the_cache() {
        let row = Row {
            first_edit_at: Some(387),
            ..Row::default()
        };
        let read = "read 31,092: the marker reached an entry at message 12";
        let plan = serde_json::json!({"cache_read": {"summary": read}, "usage_implausible": true});
        let text = facts(&row, Some(&plan));
        assert!(text.contains("cannot all be true"), "{text}");
        assert!(text.contains(read), "{text}");
        assert!(
            text.contains("at byte 387 of the request as it came"),
            "{text}"
        );
        assert!(
            !text.contains("cache kept") && text.contains("no response"),
            "{text}"
        );
    }

    #[test]
    fn a_plan_is_told_in_words() {
        let plan = serde_json::json!({
            "cuts": [{"message": 3, "part": null, "role": "user", "action": "drop-turn", "strategy": "middle-turns",
                      "why": "middle-turn", "chars_before": 1200, "chars_after": 0},
                     {"message": null, "part": null, "role": null, "action": "rewrite", "strategy": "compress",
                      "why": "loose-whitespace", "chars_before": 9, "chars_after": 8}],
            "left": [{"message": null, "part": null, "strategy": null, "reason": "system-stays"}],
        });
        let text = explain(&plan);
        for words in [
            "drop-turn [3]",
            "between the head and the last turns",
            "rewrite the system prompt",
            "the system prompt stays",
            "1,200 → 0",
        ] {
            assert!(text.contains(words), "{words} in {text}");
        }
    }
}
