//! What the ledger holds before the first request: a month of history, text that wants to run, and
//! text that was cut.

use std::sync::LazyLock;

use secateur_ledger::moment::{DAY_MS, now};
use secateur_ledger::{
    CapturedCut, CompressRow, Ledger, LedgerError, Millis, ReceiptRow, Retired, Row, Score,
    StackEvent, StackEventKind, StepRow, Switch, UsageRow, id_time,
};

/// Rows are as far in the past from here, whenever they are made.
static START: LazyLock<Millis> = LazyLock::new(now);

const HISTORY_DAYS: i64 = 30;
const ROWS_A_DAY: i64 = 8;

/// Wants to run wherever it is not text.
pub(crate) const EVIL: &str = "\"'><script>window.alive=1;alert(1)</script><img src=x onerror=window.alive=1><svg onload=window.alive=1>{{7*7}}";

/// Looks random and is not.
fn dice(seed: i64, sides: i64) -> i64 {
    let mixed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (mixed >> 33).rem_euclid(sides.max(1))
}

fn past_row(day: i64, turn: i64) -> Row {
    let seed = day * 100 + turn;
    let before = u64::try_from(30_000 + dice(seed, 220_000)).unwrap_or_default();
    let held_out = turn == 0;
    let stack = match (held_out, turn % 3) {
        (true, _) => "",
        (_, 0) => "m3",
        (_, 1) => "m7",
        _ => "m1",
    };
    let kept = match stack {
        "m7" => 40 + dice(seed + 1, 30),
        "m3" => 90 + dice(seed + 1, 8),
        _ => 100,
    };
    let after = before * u64::try_from(kept).unwrap_or(100) / 100;
    let tokens = |chars: u64| chars * 10 / 36;
    let input_usd = tokens(after) as f64 * 3e-6;
    let saved = tokens(before - after);
    let at = *START - day * DAY_MS - turn * 600_000 - 60_000;
    Row {
        id: format!("{}-past-{day:02}-{turn:02}", id_time(at)),
        at,
        workload: "history".into(),
        key: Some("team-a".into()),
        session: Some(format!("s{day}-{}", turn % 4)),
        provider: "anthropic".into(),
        dialect: Some("anthropic-messages".into()),
        model: Some("claude-sonnet-4-5".into()),
        routed_to: (stack == "m1").then(|| "claude-haiku-4-5".into()),
        stack: stack.into(),
        steps: vec![StepRow {
            mechanic: "m7".into(),
            skipped: (stack != "m7").then(|| "not-eligible".into()),
        }],
        failed_open: (seed % 41 == 3).then(|| "over-budget".into()),
        held_out,
        bytes_before: before,
        bytes_after: after,
        chars_before: Some(before),
        chars_after: Some(after),
        compress: (stack == "m3").then_some(CompressRow {
            chars_before: before,
            chars_after: after,
        }),
        first_edit_at: (stack == "m7").then_some(before / 3),
        upstream_status: Some(200),
        status: if seed % 37 == 5 { 529 } else { 200 },
        is_stream: true,
        response_bytes: 4_096,
        added_us: 900,
        upstream_head_us: Some(420_000),
        total_us: 3_200_000,
        usage: UsageRow {
            input: Some(tokens(after)),
            cache_read: Some(tokens(after) / 2),
            cache_write: Some(0),
            output: Some(300),
        },
        receipt: ReceiptRow {
            predicted_tokens_before: Some(tokens(before)),
            predicted_tokens_after: Some(tokens(after)),
            predicted_usd_without: Some(tokens(before) as f64 * 3e-6),
            predicted_usd_with: Some(input_usd * 1.02),
            price_date: Some("2026-11-01".into()),
            billed_usd: Some(input_usd + 0.0045),
            billed_input_usd: Some(input_usd),
            tokens_saved: i64::try_from(saved).ok(),
            saved_usd: Some(if seed % 29 == 7 {
                -0.04
            } else {
                saved as f64 * 1.6e-6
            }),
            ..ReceiptRow::default()
        },
        ended: "complete".into(),
        ..Row::default()
    }
}

fn score(workload: &str, stack: &str, at: Millis, score: f64) -> Score {
    Score {
        id: format!("{workload}-{stack}-{at}"),
        at,
        request: None,
        workload: workload.into(),
        stack: stack.into(),
        scorer: "deterministic".into(),
        score,
    }
}

fn rolled_back(workload: &str, stack: &str, at: Millis, mean: f64) -> (Retired, StackEvent) {
    let reason = format!("mean {mean:.2} of 34 scores is under the floor 0.95");
    let retired = Retired {
        workload: workload.into(),
        stack: stack.into(),
        at,
        reason: reason.clone(),
    };
    let event = StackEvent {
        at,
        workload: workload.into(),
        stack: stack.into(),
        kind: StackEventKind::RolledBack,
        reason,
        mean: Some(mean),
        samples: Some(34),
        by: None,
    };
    (retired, event)
}

/// A month of rows and scores; how many rows.
pub(crate) async fn history(ledger: &Ledger) -> Result<i64, LedgerError> {
    for day in 0..HISTORY_DAYS {
        for turn in 0..ROWS_A_DAY {
            ledger.record(past_row(day, turn));
        }
        for sample in 0..5 {
            let at = now() - day * DAY_MS - sample * 60_000;
            let dip = if (9..=11).contains(&day) { 0.07 } else { 0.0 };
            let noise = dice(day * 7 + sample, 30) as f64 / 1000.0;
            ledger.record_score(score("history", "m7", at, 0.99 - noise - dip));
            ledger.record_score(score("history", "m3", at + 1, 1.0 - noise / 3.0));
        }
    }
    let (retired, event) = rolled_back("history", "m7", now() - 9 * DAY_MS, 0.91);
    ledger.retire(&retired, &event).await?;
    ledger
        .resume("history", "m7", "Ada", now() - 8 * DAY_MS)
        .await?;
    ledger
        .warn(&StackEvent {
            kind: StackEventKind::Warning,
            reason: "cache reads fell from 71 % to 38 % after the change".into(),
            at: now() - 3 * DAY_MS,
            mean: None,
            samples: None,
            ..event
        })
        .await?;
    Ok(HISTORY_DAYS * ROWS_A_DAY)
}

/// Every text of every kind of entry wants to run.
pub(crate) async fn evil(ledger: &Ledger) -> Result<(), LedgerError> {
    let text = || EVIL.to_owned();
    let plan = serde_json::json!({
        "verdict": {"kind": "failed-open", "detail": EVIL},
        "cuts": [{"message": 1, "role": EVIL, "action": EVIL, "strategy": EVIL, "why": EVIL, "chars_before": 9, "chars_after": 1}],
        "left": [{"strategy": EVIL, "reason": EVIL}],
        "ignored_keys": [EVIL],
    });
    ledger.record(Row {
        id: text(),
        at: now() - 1000,
        workload: text(),
        key: Some(text()),
        session: Some(text()),
        provider: text(),
        dialect: Some(text()),
        model: Some(text()),
        routed_to: Some(text()),
        stack: text(),
        steps: vec![StepRow {
            mechanic: text(),
            skipped: Some(text()),
        }],
        failed_open: Some(text()),
        struck_stack: text(),
        ended: text(),
        chars_before: Some(10),
        chars_after: Some(5),
        receipt: ReceiptRow {
            price_date: Some(text()),
            ..ReceiptRow::default()
        },
        plan: Some(plan.to_string()),
        ..Row::default()
    });
    ledger.record_score(Score {
        id: text(),
        at: now(),
        request: Some(text()),
        workload: text(),
        stack: text(),
        scorer: text(),
        score: 0.5,
    });
    let (mut retired, mut event) = rolled_back(EVIL, EVIL, now(), 0.5);
    retired.reason = text();
    event.reason = text();
    event.by = Some(text());
    ledger.retire(&retired, &event).await?;
    // A switch and a retired stack of a workload that the pages give a card with switches.
    ledger
        .set_switch(&Switch {
            workload: "history".into(),
            mechanic: "m3".into(),
            is_on: true,
            at: now(),
            by: text(),
        })
        .await?;
    let cut = CapturedCut {
        id: text(),
        request: text(),
        session: Some(text()),
        workload: text(),
        at: now(),
        text: text(),
        after: Some(text()),
    };
    ledger.capture(vec![cut]).await
}

/// A row with text that was cut; its id.
pub(crate) async fn captured(ledger: &Ledger) -> Result<String, LedgerError> {
    let id = past_row(1, 1).id;
    ledger
        .capture(vec![CapturedCut {
            id: "cut-7f3a".into(),
            request: id.clone(),
            session: None,
            workload: "history".into(),
            at: now() - DAY_MS,
            text: "the text that was cut\n    let order = region.check(7);\n".into(),
            after: Some("[cut]".into()),
        }])
        .await?;
    Ok(id)
}
