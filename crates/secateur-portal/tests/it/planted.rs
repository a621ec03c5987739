//! Text that wants to run, in every field of everything that the ledger holds.

use secateur_ledger::{
    CapturedCut, CompressRow, ReceiptRow, Retired, Row, Score, StackEvent, StackEventKind, StepRow,
    Switch, UsageRow,
};

use crate::stage::Stage;

/// Each field has a number of its own, so that a missing one is noticed.
fn evil(number: u32) -> String {
    format!("\"'><script>alive({number})</script><img src=x onerror=alive({number})>")
}

fn row(workload: &str) -> Row {
    let plan = serde_json::json!({
        "verdict": {"kind": "failed-open", "detail": evil(30)},
        "cuts": [{"message": 1, "role": evil(31), "action": evil(32), "strategy": evil(33), "why": evil(34), "chars_before": 9, "chars_after": 1}],
        "left": [{"strategy": evil(35), "reason": evil(36)}],
        "ignored_keys": [evil(37)],
    });
    Row {
        id: evil(1),
        at: 1_794_805_353_000,
        workload: workload.into(),
        key: Some(evil(2)),
        session: Some(evil(3)),
        provider: evil(4),
        dialect: Some(evil(5)),
        model: Some(evil(6)),
        routed_to: Some(evil(7)),
        stack: evil(8),
        steps: vec![StepRow {
            mechanic: evil(9),
            skipped: Some(evil(10)),
        }],
        failed_open: Some(evil(11)),
        struck_stack: evil(12),
        bypassed: true,
        held_out: true,
        bytes_before: 100,
        bytes_after: 50,
        chars_before: Some(100),
        chars_after: Some(50),
        messages_before: Some(4),
        messages_after: Some(2),
        turns_removed: 2,
        rag_kept: 1,
        rag_dropped: 1,
        compress: Some(CompressRow {
            chars_before: 100,
            chars_after: 50,
        }),
        first_edit_at: Some(10),
        upstream_status: Some(200),
        status: 500,
        is_stream: true,
        response_bytes: 1,
        added_us: 1,
        upstream_head_us: Some(1),
        total_us: 1,
        usage: UsageRow {
            input: Some(10),
            cache_read: Some(5),
            cache_write: Some(1),
            output: Some(1),
        },
        receipt: ReceiptRow {
            predicted_tokens_before: Some(20),
            predicted_tokens_after: Some(10),
            predicted_cache_read: Some(1),
            predicted_cache_write: Some(1),
            tokens_are_exact: true,
            predicted_usd_without: Some(0.2),
            predicted_usd_with: Some(0.1),
            break_even_turns: Some(2.5),
            price_date: Some(evil(13)),
            billed_usd: Some(0.3),
            billed_input_usd: Some(0.1),
            tokens_saved: Some(10),
            saved_usd: Some(-0.1),
        },
        ended: evil(14),
        plan: Some(plan.to_string()),
    }
}

/// Whether a page holds anything that a browser would run or load. Quotes inside attributes are
/// escaped, so that no attribute of ours can be left and none of theirs begun.
fn is_alive(html: &str) -> bool {
    let tags = ["<script", "<img", "<iframe", "<object", "javascript:"];
    tags.iter().any(|tag| html.contains(tag)) || html.contains("\"'>")
}

fn has(html: &str, number: u32) -> bool {
    html.contains(&format!("alive({number})"))
}

#[tokio::test]
async fn planted_script_is_shown_as_text_on_every_page() {
    let name = evil(20);
    let stage = Stage::new(None, &[&name]).await;
    let ledger = &stage.ledger;
    let at = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_millis() as i64;
    ledger.record(Row { at, ..row(&name) });
    ledger.record_score(Score {
        id: evil(40),
        at,
        request: Some(evil(41)),
        workload: name.clone(),
        stack: evil(42),
        scorer: evil(43),
        score: 0.5,
    });
    ledger.flush().await;
    let retired = Retired {
        workload: name.clone(),
        stack: evil(44),
        at,
        reason: evil(45),
    };
    let event = StackEvent {
        at,
        workload: name.clone(),
        stack: evil(44),
        kind: StackEventKind::RolledBack,
        reason: evil(46),
        mean: Some(0.5),
        samples: Some(30),
        by: Some(evil(47)),
    };
    ledger.retire(&retired, &event).await.unwrap();
    let switch = Switch {
        workload: name.clone(),
        mechanic: "m7".into(),
        is_on: false,
        at,
        by: evil(48),
    };
    ledger.set_switch(&switch).await.unwrap();
    let cut = CapturedCut {
        id: evil(49),
        request: evil(1),
        session: Some(evil(50)),
        workload: name.clone(),
        at,
        text: evil(51),
        after: Some(evil(52)),
    };
    ledger.capture(vec![cut]).await.unwrap();

    let encode =
        |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02X}")).collect() };
    let filter = encode(&evil(60));
    // A page, and the fields that must be found on it.
    let pages: [(String, &[u32]); 7] = [
        ("/portal".into(), &[20, 44, 46, 47]),
        ("/portal/audit".into(), &[1, 6, 7, 8, 11, 12, 14, 20]),
        (
            format!(
                "/portal/audit?workload={filter}&stack={filter}&model={filter}&session={filter}"
            ),
            &[60],
        ),
        (
            format!("/portal/audit/{}", encode(&evil(1))),
            &[
                1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 20, 30, 31, 32, 33, 34, 35, 36, 37,
                49, 51, 52,
            ],
        ),
        (
            format!("/optimize/quality/{}", encode(&name)),
            &[8, 20, 42, 44, 45, 46, 47],
        ),
        ("/optimize/quality".into(), &[20]),
        ("/portal/workloads".into(), &[20, 44, 45, 48]),
    ];
    for (path, fields) in &pages {
        let (status, html) = stage.get(path).await;
        assert_eq!(status, 200, "{path}: {html}");
        assert!(!is_alive(&html), "{path}: {html}");
        for field in *fields {
            assert!(has(&html, *field), "{field} is not on {path}");
        }
    }
    assert!(is_alive("<p><script>") && is_alive("<img src=x>") && !is_alive("&lt;script&gt;"));
}

#[test]
fn no_template_calls_a_value_safe() {
    for entry in std::fs::read_dir("templates").unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            !text.replace(' ', "").contains("|safe"),
            "{}",
            path.display()
        );
        assert!(
            !text.contains("<script") && !text.contains(" style="),
            "{}",
            path.display()
        );
    }
}
