//! A portal, a ledger in a folder of its own, and a visitor that keeps its cookie.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, header};
use http_body_util::Full;
use secateur_core::mechanic::Mechanic;
use secateur_ledger::{Ledger, LedgerOptions};
use secateur_portal::{MechanicInfo, Portal, PortalOptions, PortalToken, WorkloadInfo};

pub(crate) const TOKEN: &str = "sixteen characters and more";
pub(crate) const HOST: &str = "127.0.0.1:8787";

pub(crate) struct Stage {
    pub(crate) ledger: Ledger,
    pub(crate) portal: Portal,
    _folder: tempfile::TempDir,
}

pub(crate) fn workload(name: &str) -> WorkloadInfo {
    let info = |mechanic| MechanicInfo {
        mechanic,
        is_on: mechanic == Mechanic::M7,
        is_ready: matches!(mechanic, Mechanic::M7 | Mechanic::M3),
    };
    WorkloadInfo {
        name: name.into(),
        mechanics: Mechanic::ALL.map(info).into(),
        canary: Some(Arc::default()),
        holdout_pct: 5.0,
        captures: true,
    }
}

impl Stage {
    pub(crate) async fn new(token: Option<&str>, workloads: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("ledger.db").display());
        let mut options = LedgerOptions::new(url, folder.path().join("spool"));
        options.capture_key = Some([1; 32]);
        let ledger = Ledger::open(options).await.unwrap();
        let mut options = PortalOptions::new(HOST.parse().unwrap());
        options.token = token.map(|token| PortalToken::from_text(token).unwrap());
        let catalog: Vec<WorkloadInfo> = workloads.iter().map(|name| workload(name)).collect();
        let portal = Portal::new(ledger.clone(), Arc::new(catalog), options).unwrap();
        Self {
            ledger,
            portal,
            _folder: folder,
        }
    }

    /// Another portal on the same ledger, as a replica or after a restart.
    pub(crate) fn another(&self, token: &str) -> Portal {
        let mut options = PortalOptions::new(HOST.parse().unwrap());
        options.token = Some(PortalToken::from_text(token).unwrap());
        let catalog: Arc<Vec<WorkloadInfo>> = Arc::default();
        Portal::new(self.ledger.clone(), catalog, options).unwrap()
    }

    /// The cookie of somebody who knows the token.
    pub(crate) async fn sign_in(&self) -> String {
        let (guest, key) = self.visitor("/portal/login").await;
        let form = format!("form_key={key}&token={}", TOKEN.replace(' ', "+"));
        let response = self
            .send(Method::POST, "/portal/login", &[("cookie", &guest)], &form)
            .await;
        cookie(&response).unwrap()
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response<Bytes> {
        let mut request = Request::builder().method(method).uri(path);
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header(header::HOST, HOST);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
        self.portal.answer(request.body(body).unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, String) {
        let response = self.send(Method::GET, path, &[], "").await;
        (response.status().as_u16(), text(&response))
    }

    /// A visitor's cookie and form key.
    pub(crate) async fn visitor(&self, path: &str) -> (String, String) {
        let response = self.send(Method::GET, path, &[], "").await;
        let cookie = cookie(&response).unwrap();
        let html = text(&response);
        let key = html.split("name=\"form_key\" value=\"").nth(1).unwrap();
        (cookie, key.split('"').next().unwrap().to_owned())
    }
}

pub(crate) fn text(response: &Response<Bytes>) -> String {
    String::from_utf8(response.body().to_vec()).unwrap()
}

pub(crate) fn cookie(response: &Response<Bytes>) -> Option<String> {
    let line = response
        .headers()
        .get(header::SET_COOKIE)?
        .to_str()
        .unwrap();
    Some(line.split(';').next().unwrap().to_owned())
}

pub(crate) fn place(response: &Response<Bytes>) -> String {
    response.headers()[header::LOCATION]
        .to_str()
        .unwrap()
        .to_owned()
}
