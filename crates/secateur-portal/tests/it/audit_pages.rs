//! From page to page of the audit, and from row to row of a session.

use std::time::Duration;

use http::{Method, StatusCode};
use secateur_ledger::Row;
use secateur_ledger::moment::now;

use crate::stage::{Stage, place, text};

/// Three to a millisecond; every second one of workload `a`.
fn row(number: i64) -> Row {
    let at = now() - 3_600_000;
    let at = at - at % 1_000 + number / 3;
    Row {
        id: format!("{at:011x}{number:016x}"),
        at,
        workload: if number % 2 == 0 { "a" } else { "b" }.into(),
        session: Some("talk".into()),
        status: 200,
        ..Row::default()
    }
}

async fn recorded(rows: Vec<Row>) -> Stage {
    let stage = Stage::new(None, &["a", "b"]).await;
    record(&stage, rows).await;
    stage
}

async fn record(stage: &Stage, rows: Vec<Row>) {
    rows.into_iter().for_each(|row| stage.ledger.record(row));
    stage.ledger.flush().await;
    // What a slow disk sent to the spool is on its way.
    while stage.ledger.stats().spooled > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A page as a browser gets to it.
struct Shown {
    address: String,
    html: String,
}

impl Shown {
    async fn of(stage: &Stage, address: &str) -> Self {
        let mut address = address.to_owned();
        loop {
            let response = stage.send(Method::GET, &address, &[], "").await;
            if response.status() != StatusCode::SEE_OTHER {
                assert_eq!(response.status(), StatusCode::OK, "{address}");
                let html = text(&response);
                return Self { address, html };
            }
            address = place(&response);
        }
    }

    fn ids(&self) -> Vec<&str> {
        let rows = self.html.split("id=\"r-").skip(1);
        rows.filter_map(|rest| rest.split('"').next()).collect()
    }

    /// Where the link of this kind leads.
    fn link(&self, rel: &str) -> Option<String> {
        let start = format!("<a rel=\"{rel}\" href=\"");
        let rest = self.html.split(&start).nth(1)?;
        Some(rest.split('"').next()?.replace("&#38;", "&"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn newer_leads_through_the_pages_that_older_led_through() {
    let stage = recorded((0..347).map(row).collect()).await;
    for (first, rows) in [
        ("/portal/audit", 347_usize),
        ("/portal/audit?workload=a", 174),
        ("/portal/audit?session=talk&since=2026-01-01T00%3A00", 347),
    ] {
        let mut pages = vec![Shown::of(&stage, first).await];
        assert_eq!(pages[0].link("prev"), None);
        while let Some(older) = pages.last().and_then(|page| page.link("next")) {
            pages.push(Shown::of(&stage, &older).await);
        }
        let ids: Vec<&str> = pages.iter().flat_map(Shown::ids).collect();
        assert_eq!((ids.len(), pages.len()), (rows, rows.div_ceil(50)));
        let mut back = Shown::of(&stage, &pages[pages.len() - 1].address).await;
        for page in pages.iter().rev().skip(1) {
            let newer = back.link("prev").unwrap();
            assert!(newer.starts_with(first), "filters stay: {newer}");
            back = Shown::of(&stage, &newer).await;
            assert_eq!(back.ids(), page.ids());
            assert_eq!(back.link("next").is_some(), page.link("next").is_some());
        }
        assert_eq!(back.address, first, "the first page has no place in it");
        assert_eq!(back.link("prev"), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_meanwhile_is_one_page_further() {
    let stage = recorded((0..120).map(row).collect()).await;
    let first = Shown::of(&stage, "/portal/audit").await;
    let second = Shown::of(&stage, &first.link("next").unwrap()).await;
    record(&stage, (120..123).map(row).collect()).await;
    let newer = Shown::of(&stage, &second.link("prev").unwrap()).await;
    assert_eq!(newer.ids(), first.ids());
    assert!(newer.address.contains("before="), "{}", newer.address);
    // Its rows lead back to it.
    let of_row = newer.html.split("<th role=\"rowheader\"").nth(1).unwrap();
    let of_row = of_row
        .split('"')
        .find(|part| part.starts_with("/portal/audit/"));
    let of_row = Shown::of(&stage, of_row.unwrap()).await;
    assert!(of_row.html.contains(&newer.address), "{}", newer.address);
    // Three rows are no page: they are shown with those behind them.
    let newest = Shown::of(&stage, &newer.link("prev").unwrap()).await;
    assert_eq!(newest.address, "/portal/audit");
    assert_eq!(newest.ids()[3..], first.ids()[..47]);
}

/// The later one was looked for among the newest thousand rows of the session.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_leads_to_its_neighbours_in_a_long_session() {
    let rows: Vec<Row> = (0..1_300).map(row).collect();
    let stage = recorded(rows.clone()).await;
    let of_workload: Vec<&Row> = rows.iter().filter(|row| row.workload == "a").collect();
    let address = |row: &Row| format!("/portal/audit/{}", row.id);
    let shown = Shown::of(&stage, &address(of_workload[10])).await;
    assert_eq!(shown.link("prev"), Some(address(of_workload[9])));
    assert_eq!(shown.link("next"), Some(address(of_workload[11])));
    let last = Shown::of(&stage, &address(of_workload[649])).await;
    assert_eq!(last.link("next"), None);
}
