//! The quality page says what the canary says.

use secateur_canary::STACK_OF_ORIGINALS;
use secateur_ledger::moment::now;
use secateur_ledger::{Purpose, Retired, Score, Spending, StackEvent, StackEventKind};

use crate::stage::Stage;

fn scores(stage: &Stage, stack: &str, count: i64, score: f64, at: i64) {
    for n in 0..count {
        stage.ledger.record_score(Score {
            id: format!("{stack} {at} {n}"),
            at: at + n,
            request: None,
            workload: "coding".into(),
            stack: stack.into(),
            scorer: "deterministic".into(),
            score,
        });
    }
}

/// The lines of the table of stacks, once there is one: on a busy machine scores go by way of the spool.
async fn lines(stage: &Stage) -> Vec<String> {
    for _ in 0..100 {
        stage.ledger.flush().await;
        let (_, html) = stage.get("/optimize/quality/coding").await;
        let (_, behind) = html.split_once("id=\"stacks\"").unwrap();
        if let Some((table, _)) = behind.split_once("</table>") {
            let rows = table.split("<tr>");
            let rows = rows.filter(|row| row.contains("scope=\"row\""));
            return rows.map(str::to_owned).collect();
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    Vec::new()
}

/// The line of a stack.
async fn line(stage: &Stage, chip: &str) -> String {
    let mut lines = lines(stage).await;
    lines.retain(|line| line.contains(chip));
    lines.pop().unwrap_or_default()
}

#[tokio::test]
async fn the_scores_that_count_are_those_that_the_canary_judges() {
    let stage = Stage::new(None, &["coding"]).await;
    let start = now() - 60_000;
    scores(&stage, "m7", 31, 0.0, start);
    scores(&stage, "m3", 3, 1.0, start);
    scores(&stage, STACK_OF_ORIGINALS, 31, 1.0, start);
    let m7 = line(&stage, ">m7<").await;
    assert!(
        m7.contains("under the floor") && m7.contains("0.000"),
        "{m7}"
    );
    let m3 = line(&stage, ">m3<").await;
    assert!(m3.contains("3 of 30 scores, no verdict yet"), "{m3}");
    assert!(!m3.contains("badge good"), "{m3}");
    let (_, html) = stage.get("/optimize/quality/coding").await;
    assert!(html.contains("original against itself (noise)"), "{html}");
    assert_eq!(lines(&stage).await.len(), 2);

    let at = now() - 30_000;
    let retired = Retired {
        workload: "coding".into(),
        stack: "m7".into(),
        at,
        reason: "bad".into(),
    };
    let event = StackEvent {
        at,
        workload: "coding".into(),
        stack: "m7".into(),
        kind: StackEventKind::RolledBack,
        reason: "bad".into(),
        mean: Some(0.0),
        samples: Some(31),
        by: None,
    };
    stage.ledger.retire(&retired, &event).await.unwrap();
    let m7 = line(&stage, ">m7<").await;
    assert!(m7.contains("switched off"), "{m7}");
    stage
        .ledger
        .resume("coding", "m7", "ada", now())
        .await
        .unwrap();
    let m7 = line(&stage, ">m7<").await;
    assert!(m7.contains("no verdict") && !m7.contains("0.000"), "{m7}");
}

#[tokio::test]
async fn what_comparing_cost_is_a_figure_of_its_own() {
    let stage = Stage::new(None, &["coding"]).await;
    for (n, usd) in [(1, 0.75), (2, 0.5)] {
        stage.ledger.record_spending(Spending {
            id: format!("call {n}"),
            at: now(),
            purpose: Purpose::Shadow,
            request: format!("request {n}"),
            workload: "coding".into(),
            stack: "m7".into(),
            model: None,
            key: None,
            usd: Some(usd),
        });
    }
    stage.ledger.flush().await;
    let (_, html) = stage.get("/optimize/quality/coding").await;
    assert!(
        html.contains("Comparing answers and summaries cost $1.25 in 2 calls."),
        "{html}"
    );
    let (_, html) = stage.get("/portal").await;
    assert!(html.contains("$1.25 spent on own calls"), "{html}");
}
