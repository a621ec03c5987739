//! Who gets in, and what every answer carries.

use http::{Method, StatusCode};
use secateur_ledger::{Ledger, LedgerOptions};
use secateur_portal::{Portal, PortalOptions, PortalToken, WorkloadInfo};
use std::sync::Arc;

use crate::stage::{HOST, Stage, TOKEN, cookie, place, text, workload};

#[tokio::test]
async fn without_a_token_only_loopback_is_served() {
    let stage = Stage::new(None, &[]).await;
    let catalog: Arc<Vec<WorkloadInfo>> = Arc::default();
    let open = |listen: &str| {
        let options = PortalOptions::new(listen.parse().unwrap());
        Portal::new(stage.ledger.clone(), catalog.clone(), options)
    };
    assert!(open("127.0.0.1:8787").is_ok() && open("[::1]:8787").is_ok());
    let error = open("0.0.0.0:8787").unwrap_err().to_string();
    assert!(error.contains("no token"), "{error}");
    let named = stage
        .send(Method::GET, "/portal", &[("host", "evil.example")], "")
        .await;
    assert_eq!(named.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn every_answer_forbids_scripts_framing_and_caching() {
    let stage = Stage::new(None, &["a"]).await;
    for path in [
        "/portal",
        "/portal/audit",
        "/nowhere",
        "/",
        "/portal/workloads",
        "/optimize/quality/a",
    ] {
        let response = stage.send(Method::GET, path, &[], "").await;
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        let policy = header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none';") && policy.contains("frame-ancestors 'none'")
        );
        assert!(
            !policy.contains("script-src") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("cache-control"), "no-store");
    }
}

#[tokio::test]
async fn the_style_sheet_is_there_without_signing_in() {
    let stage = Stage::new(Some(TOKEN), &[]).await;
    let (_, html) = stage.get("/portal/login").await;
    let css = html
        .split("<link rel=\"stylesheet\" href=\"")
        .nth(1)
        .unwrap();
    let css = css.split('"').next().unwrap();
    let response = stage.send(Method::GET, css, &[], "").await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(
        response.headers()["content-type"],
        "text/css; charset=utf-8"
    );
}

#[tokio::test]
async fn with_a_token_pages_lead_to_the_login_and_back() {
    let stage = Stage::new(Some(TOKEN), &["a"]).await;
    let refused = stage
        .send(Method::GET, "/portal/audit?workload=a", &[], "")
        .await;
    assert_eq!(refused.status(), StatusCode::SEE_OTHER);
    assert_eq!(
        place(&refused),
        "/portal/login?next=%2Fportal%2Faudit%3Fworkload%3Da"
    );

    let (guest, key) = stage.visitor("/portal/login").await;
    let sign_in = |token: &str, next: &str| {
        let (token, next) = (token.replace(' ', "+"), next.to_owned());
        format!("form_key={key}&token={token}&name=Ann&next={next}")
    };
    let headers = [("cookie", guest.as_str())];
    let wrong = stage
        .send(Method::POST, "/portal/login", &headers, &sign_in("no", ""))
        .await;
    assert_eq!(wrong.status(), StatusCode::UNAUTHORIZED);
    assert!(cookie(&wrong).is_none());
    let right = stage
        .send(
            Method::POST,
            "/portal/login",
            &headers,
            &sign_in(TOKEN, "/portal/audit"),
        )
        .await;
    assert_eq!(
        (right.status(), place(&right).as_str()),
        (StatusCode::SEE_OTHER, "/portal/audit")
    );
    let member = cookie(&right).unwrap();
    assert_ne!(member, guest);
    let page = stage
        .send(Method::GET, "/portal/audit", &[("cookie", &member)], "")
        .await;
    assert_eq!(page.status(), StatusCode::OK);
    assert!(text(&page).contains("Sign out"));
    // The guest's session was ended by signing in.
    let old = stage
        .send(Method::GET, "/portal/audit", &[("cookie", &guest)], "")
        .await;
    assert_eq!(old.status(), StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_login_leads_to_own_pages_only() {
    let stage = Stage::new(Some(TOKEN), &[]).await;
    let (guest, key) = stage.visitor("/portal/login").await;
    let form = format!(
        "form_key={key}&token={}&next=https://evil.example/",
        TOKEN.replace(' ', "+")
    );
    let response = stage
        .send(Method::POST, "/portal/login", &[("cookie", &guest)], &form)
        .await;
    assert_eq!(place(&response), "/portal");
}

#[tokio::test]
async fn guessing_the_token_is_slowed_down_and_the_right_one_waits_too() {
    let stage = Stage::new(Some(TOKEN), &[]).await;
    let (guest, key) = stage.visitor("/portal/login").await;
    let headers = [("cookie", guest.as_str())];
    for _ in 0..5 {
        let form = format!("form_key={key}&token=guess");
        let response = stage
            .send(Method::POST, "/portal/login", &headers, &form)
            .await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    }
    let form = format!("form_key={key}&token={}", TOKEN.replace(' ', "+"));
    let response = stage
        .send(Method::POST, "/portal/login", &headers, &form)
        .await;
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(response.headers().contains_key("retry-after"));
}

#[tokio::test]
async fn a_ledger_that_does_not_answer_is_said_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        secateur_ledger::LedgerOptions::new("postgres://nobody@127.0.0.1:1/none", folder.path());
    let ledger = secateur_ledger::Ledger::open(options).await.unwrap();
    let catalog: Arc<Vec<WorkloadInfo>> = Arc::default();
    let portal = Portal::new(
        ledger,
        catalog,
        PortalOptions::new("127.0.0.1:8787".parse().unwrap()),
    )
    .unwrap();
    let request = http::Request::builder()
        .uri("/portal/audit")
        .header("host", "localhost");
    let body = http_body_util::Full::new(bytes::Bytes::new());
    let response = portal.answer(request.body(body).unwrap()).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(text(&response).contains("The ledger does not answer"));
}

#[tokio::test]
async fn trouble_of_the_ledger_is_on_every_page_of_those_who_may_see_them() {
    let folder = tempfile::tempdir().unwrap();
    // Nobody listens there.
    let options = LedgerOptions::new("postgres://u@127.0.0.1:1/d", folder.path());
    let ledger = Ledger::open(options).await.unwrap();
    let told = "the database takes no rows";
    let mut stage = Stage::new(None, &["a"]).await;
    assert!(!stage.get("/portal").await.1.contains(told));
    let catalog = || Arc::new(vec![workload("a")]);
    let options = PortalOptions::new(HOST.parse().unwrap());
    stage.portal = Portal::new(ledger.clone(), catalog(), options.clone()).unwrap();
    for path in ["/portal", "/portal/audit", "/portal/workloads"] {
        let (_, page) = stage.get(path).await;
        assert!(
            page.contains(told) && !page.contains("127.0.0.1:1"),
            "{path}: {page}"
        );
    }
    let options = PortalOptions {
        token: PortalToken::from_text(TOKEN).ok(),
        ..options
    };
    stage.portal = Portal::new(ledger, catalog(), options).unwrap();
    assert!(!stage.get("/portal/login").await.1.contains(told));
}
