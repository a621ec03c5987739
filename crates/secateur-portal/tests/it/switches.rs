//! What people change in the pages, and what must not be changed.

use http::{Method, StatusCode};
use secateur_ledger::{Retired, StackEvent, StackEventKind};

use crate::stage::{Stage, place, text};

#[tokio::test]
async fn a_switch_is_in_the_controls_when_the_page_is_back() {
    let stage = Stage::new(None, &["coding"]).await;
    let (cookie, key) = stage.visitor("/portal/workloads").await;
    let post = async |to: &str| {
        let form = format!("form_key={key}&workload=coding&mechanic=m7&to={to}");
        stage
            .send(
                Method::POST,
                "/portal/switch",
                &[("cookie", &cookie)],
                &form,
            )
            .await
    };
    let controls = || stage.ledger.controls().borrow().switch("coding", "m7");
    assert_eq!(controls(), None);
    let off = post("off").await;
    assert_eq!(place(&off), "/portal/workloads#done");
    assert_eq!(controls(), Some(false));
    let (_, html) = stage.get("/portal/workloads").await;
    assert!(
        !html.contains("Switched off."),
        "who did nothing is told nothing"
    );
    assert!(
        html.contains("Switch m7 on") && html.contains("portal, this machine"),
        "{html}"
    );
    post("on").await;
    assert_eq!(controls(), Some(true));
    post("file").await;
    assert_eq!(controls(), None);
    assert_eq!(post("sideways").await.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn forms_without_their_key_or_from_elsewhere_change_nothing() {
    let stage = Stage::new(None, &["coding"]).await;
    let (cookie, key) = stage.visitor("/portal/workloads").await;
    let (other, _) = stage.visitor("/portal/workloads").await;
    let good = format!("form_key={key}&workload=coding&mechanic=m7&to=off");
    let bare = "workload=coding&mechanic=m7&to=off";
    let cases: [(&str, &[(&str, &str)]); 7] = [
        (bare, &[("cookie", &cookie)]),
        (&good, &[]),
        (&good, &[("cookie", &other)]),
        (
            &good,
            &[("cookie", &cookie), ("origin", "http://evil.example")],
        ),
        (&good, &[("cookie", &cookie), ("origin", "null")]),
        (
            &good,
            &[("cookie", &cookie), ("sec-fetch-site", "cross-site")],
        ),
        (&good, &[("cookie", &cookie), ("host", "evil.example")]),
    ];
    for (body, headers) in cases {
        let response = stage
            .send(Method::POST, "/portal/switch", headers, body)
            .await;
        assert_eq!(response.status(), StatusCode::FORBIDDEN, "{headers:?}");
        assert_eq!(
            stage.ledger.controls().borrow().switch("coding", "m7"),
            None
        );
    }
    let own = [
        ("cookie", cookie.as_str()),
        ("origin", "http://127.0.0.1:8787"),
        ("sec-fetch-site", "same-origin"),
    ];
    let response = stage
        .send(Method::POST, "/portal/switch", &own, &good)
        .await;
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn what_the_file_does_not_set_up_cannot_be_switched_on() {
    let stage = Stage::new(None, &["coding"]).await;
    let (cookie, key) = stage.visitor("/portal/workloads").await;
    for (workload, mechanic) in [("coding", "m8"), ("coding", "m9"), ("nobody", "m7")] {
        let form = format!("form_key={key}&workload={workload}&mechanic={mechanic}&to=on");
        let response = stage
            .send(
                Method::POST,
                "/portal/switch",
                &[("cookie", &cookie)],
                &form,
            )
            .await;
        assert_eq!(
            response.status(),
            StatusCode::BAD_REQUEST,
            "{workload} {mechanic}"
        );
    }
}

#[tokio::test]
async fn a_retired_stack_is_resumed_by_a_person() {
    let stage = Stage::new(None, &["coding"]).await;
    let at = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_millis() as i64;
    let reason = "mean 0.91 of 34 scores is under the floor 0.95".to_owned();
    let retired = Retired {
        workload: "coding".into(),
        stack: "m7".into(),
        at,
        reason: reason.clone(),
    };
    let event = StackEvent {
        at,
        workload: "coding".into(),
        stack: "m7".into(),
        kind: StackEventKind::RolledBack,
        reason,
        mean: Some(0.91),
        samples: Some(34),
        by: None,
    };
    assert!(stage.ledger.retire(&retired, &event).await.unwrap());
    let (_, html) = stage.get("/optimize/quality/coding").await;
    assert!(
        html.contains("Rolled back")
            && html.contains("under the floor")
            && html.contains("Resume m7"),
        "{html}"
    );
    let (cookie, key) = stage.visitor("/optimize/quality/coding").await;
    let form = format!("form_key={key}&workload=coding&stack=m7");
    let response = stage
        .send(
            Method::POST,
            "/portal/resume",
            &[("cookie", &cookie)],
            &form,
        )
        .await;
    assert_eq!(place(&response), "/optimize/quality/coding#done");
    let told = crate::stage::cookie(&response).unwrap();
    assert!(!stage.ledger.controls().borrow().is_retired("coding", "m7"));
    let path = "/optimize/quality/coding";
    let cookies = format!("{cookie}; {told}");
    let page = stage
        .send(Method::GET, path, &[("cookie", &cookies)], "")
        .await;
    assert!(text(&page).contains("Resumed. The stack") && !text(&page).contains("Resume m7"));
    let form = format!("form_key={key}&workload=nobody&stack=m7");
    let unknown = stage
        .send(
            Method::POST,
            "/portal/resume",
            &[("cookie", &cookie)],
            &form,
        )
        .await;
    assert_eq!(unknown.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn what_was_done_is_told_once_in_the_card_of_its_workload() {
    let stage = Stage::new(None, &["coding", "other"]).await;
    let (cookie, key) = stage.visitor("/portal/workloads").await;
    let form = format!("form_key={key}&workload=other&mechanic=m7&to=off");
    let headers = [("cookie", cookie.as_str())];
    let response = stage
        .send(Method::POST, "/portal/switch", &headers, &form)
        .await;
    let told = crate::stage::cookie(&response).unwrap();
    let cookies = format!("{cookie}; {told}");
    let page = stage
        .send(
            Method::GET,
            "/portal/workloads",
            &[("cookie", &cookies)],
            "",
        )
        .await;
    let html = text(&page);
    let notice = html.find("id=\"done\"").unwrap();
    assert!(
        html.find("id=\"w-other\"").unwrap() < notice && html.matches("id=\"done\"").count() == 1
    );
    let lines = page.headers().get_all("set-cookie").iter();
    let gone = lines.filter(|line| line.to_str().unwrap().contains("-done=; "));
    assert_eq!(gone.count(), 2, "both paths forget it");
    let forged = stage.get("/portal/workloads?done=resumed").await.1;
    assert!(!forged.contains("role=\"status\""), "{forged}");
}
