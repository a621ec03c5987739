//! The pages that only show.

use std::sync::Arc;

use http::StatusCode;
use secateur_ledger::{CapturedCut, LedgerError, Recalled, Row};

use crate::catalog::WorkloadInfo;
use crate::pages::audit_list::{AuditListPage, ListQuery, PAGE_ROWS};
use crate::pages::audit_row::AuditRowPage;
use crate::pages::quality::{QualityListPage, QualityPage};
use crate::pages::start::StartPage;
use crate::pages::workloads::WorkloadsPage;
use crate::plan::recall_ids;
use crate::portal::Portal;
use crate::refuse::{Made, Refused};
use crate::shell::Section;
use crate::visit::Visit;
use crate::{link, query, reply};

/// Texts shown of one request at most.
const MAX_CAPTURED: usize = 100;

impl Portal {
    pub(crate) async fn show(&self, visit: &Visit, path: &str) -> Made {
        let one = |start: &str| {
            path.strip_prefix(start)
                .filter(|rest| !rest.contains('/'))
                .and_then(link::read_segment)
        };
        match path {
            "/portal" => self.start(visit).await,
            "/portal/audit" => self.audit_list(visit).await,
            "/portal/workloads" => self.workloads(visit).await,
            "/optimize/quality" | "/optimize" => self.quality_list(visit).await,
            "/portal/switch" | "/portal/resume" | "/portal/logout" => Err(Refused::Method),
            _ => {
                if let Some(id) = one("/portal/audit/") {
                    self.audit_row(visit, &id).await
                } else if let Some(name) = one("/optimize/quality/") {
                    self.quality(visit, &name).await
                } else {
                    Err(Refused::NotFound("There is no such page."))
                }
            }
        }
    }

    async fn start(&self, visit: &Visit) -> Made {
        let data = query::start(&self.ledger, visit.now).await?;
        let page = StartPage::of(&data, self.shell(visit, Section::Start));
        Ok(reply::page(StatusCode::OK, &page))
    }

    async fn audit_list(&self, visit: &Visit) -> Made {
        let query = ListQuery::read(visit.query());
        let rows = self
            .ledger
            .rows(&query.filter(), query.after().as_ref(), PAGE_ROWS + 1)
            .await?;
        let workloads = self.known_workloads().await?;
        let mut shell = self.shell(visit, Section::Audit);
        shell.refresh = query.refresh;
        Ok(reply::page(
            StatusCode::OK,
            &AuditListPage::of(query, rows, workloads, shell),
        ))
    }

    async fn audit_row(&self, visit: &Visit, id: &str) -> Made {
        let found = self.ledger.row(id).await?;
        let row = found.ok_or(Refused::NotFound("There is no row with this id. It may not be written yet, or it may have been cleared away with age."))?;
        let captured = self.captured(&row).await;
        let page = AuditRowPage::of(&row, captured, self.shell(visit, Section::Audit));
        Ok(reply::page(StatusCode::OK, &page))
    }

    /// What the row's plan cut, as far as it is kept. A text is kept once, under the request that cut it
    /// first; the plan's ids find it for every later request.
    async fn captured(&self, row: &Row) -> Result<Vec<CapturedCut>, LedgerError> {
        let ids = recall_ids(row.plan.as_deref().unwrap_or_default());
        if ids.is_empty() {
            return self.ledger.captured_of(&row.id).await;
        }
        let mut found = Vec::new();
        for id in ids.into_iter().take(MAX_CAPTURED) {
            if let Recalled::Text {
                text,
                after,
                request,
                at,
            } = self.ledger.recall(&row.workload, &id).await?
            {
                found.push(CapturedCut {
                    id,
                    request,
                    session: row.session.clone(),
                    workload: row.workload.clone(),
                    at,
                    text,
                    after,
                });
            }
        }
        Ok(found)
    }

    async fn quality_list(&self, visit: &Visit) -> Made {
        let workloads = self.known_workloads().await?;
        let link = |name: String| {
            let href = link::quality(&name);
            (name, href)
        };
        let page = QualityListPage {
            shell: self.shell(visit, Section::Quality),
            workloads: workloads.into_iter().map(link).collect(),
        };
        Ok(reply::page(StatusCode::OK, &page))
    }

    async fn quality(&self, visit: &Visit, name: &str) -> Made {
        if !self
            .known_workloads()
            .await?
            .iter()
            .any(|known| known == name)
        {
            return Err(Refused::NotFound(
                "There is no workload of this name, neither in the configuration nor in the ledger.",
            ));
        }
        let catalog = self.catalog.workloads();
        let info = catalog.iter().find(|info| info.name == name);
        let data = query::quality(&self.ledger, name, info, visit.now).await?;
        let controls = Arc::clone(&self.ledger.controls().borrow());
        let page = QualityPage::of(&data, &controls, self.shell(visit, Section::Quality));
        Ok(reply::page(StatusCode::OK, &page))
    }

    async fn workloads(&self, visit: &Visit) -> Made {
        let seen = self.ledger.workloads().await?;
        let controls = Arc::clone(&self.ledger.controls().borrow());
        let shell = self.shell(visit, Section::Workloads);
        let page = WorkloadsPage::of(&self.catalog.workloads(), &seen, &controls, shell);
        Ok(reply::page(StatusCode::OK, &page))
    }

    /// Configured or with rows, sorted.
    async fn known_workloads(&self) -> Result<Vec<String>, LedgerError> {
        let mut names = self.ledger.workloads().await?;
        names.extend(
            self.catalog
                .workloads()
                .into_iter()
                .map(|info: WorkloadInfo| info.name),
        );
        names.sort();
        names.dedup();
        Ok(names)
    }
}
