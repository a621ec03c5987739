//! The pages that only show.

use std::sync::Arc;

use http::StatusCode;
use secateur_ledger::moment::Moment;
use secateur_ledger::{After, CapturedCut, Filter, GroupBy, LedgerError, Recalled, Row};

use crate::catalog::WorkloadInfo;
use crate::pages::astray::Astray;
use crate::pages::audit_list::{AuditListPage, ListData};
use crate::pages::audit_row::{Around, AuditRowPage};
use crate::pages::kept_text::KeptTexts;
use crate::pages::list_query::{ListQuery, Page, Seen};
use crate::pages::quality::{DAYS, QualityPage};
use crate::pages::quality_list::QualityListPage;
use crate::pages::start::StartPage;
use crate::pages::workloads::WorkloadsPage;
use crate::plan::PlanView;
use crate::portal::{Portal, allowed};
use crate::refused::{Made, Refused};
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
            "/portal/switch" | "/portal/resume" | "/portal/logout" => {
                Err(Refused::Method(allowed(path)))
            }
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
        let astray = Astray::of(&self.catalog.untouched(), &self.catalog.workloads());
        let page = StartPage::of(&data, astray, self.shell(visit, Section::Start));
        Ok(reply::page(StatusCode::OK, &page))
    }

    async fn audit_list(&self, visit: &Visit) -> Made {
        let mut query = ListQuery::read(visit.query());
        if query.is_wordy && query.problems.is_empty() {
            return Ok(reply::see_other(&query.href(&query.page, query.refresh)));
        }
        let seen = Seen {
            stacks: self.ledger.seen(GroupBy::Stack).await?,
            models: self.ledger.seen(GroupBy::Model).await?,
        };
        let hints = query.settle(&seen);
        let filter = query.filter();
        let page = query::audit_page(&self.ledger, &filter, &query.page).await?;
        let Some((rows, has_older)) = page else {
            return Ok(reply::see_other(&query.href(&Page::First, None)));
        };
        let data = ListData {
            rows,
            has_older,
            workloads: self.known_workloads().await?,
            seen,
            totals: if filter.has_sums_at_hand() {
                Some(query::all(&self.ledger, &filter).await?)
            } else {
                None
            },
        };
        let mut shell = self.shell(visit, Section::Audit);
        shell.refresh = query.refresh;
        let page = AuditListPage::of(query, hints, data, shell);
        Ok(reply::page(StatusCode::OK, &page))
    }

    async fn audit_row(&self, visit: &Visit, id: &str) -> Made {
        let found = self.ledger.row(id).await?;
        let row = found.ok_or(Refused::NotFound("There is no row with this id. It may not be written yet, or it may have been cleared away with age."))?;
        let captured = self.captured(&row).await;
        let (earlier, later) = self.neighbours(&row).await?;
        let around = Around {
            earlier,
            later,
            captures: self
                .catalog
                .workloads()
                .iter()
                .any(|info| info.name == row.workload && info.captures),
        };
        let list = ListQuery::read(visit.query());
        let shell = self.shell(visit, Section::Audit);
        let page = AuditRowPage::of(&row, captured, around, &list, shell);
        Ok(reply::page(StatusCode::OK, &page))
    }

    /// The ids of the requests before and after a row in its session.
    async fn neighbours(&self, row: &Row) -> Result<(Option<String>, Option<String>), LedgerError> {
        let Some(session) = &row.session else {
            return Ok((None, None));
        };
        let of_session = Filter {
            session: Some(session.clone()),
            workload: Some(row.workload.clone()),
            ..Filter::default()
        };
        let here = After::from(row);
        let earlier = self.ledger.rows(&of_session, Some(&here), 1).await?;
        let later = self.ledger.rows_before(&of_session, &here, 1).await?;
        let id = |rows: Vec<Row>| rows.into_iter().next().map(|row| row.id);
        Ok((id(earlier), id(later)))
    }

    /// What the row's plan cut, as far as it is kept. A text is kept once, under the request that cut it
    /// first; the plan's ids find it for every later request.
    async fn captured(&self, row: &Row) -> Result<KeptTexts, LedgerError> {
        let plan = row.plan.as_deref().and_then(PlanView::read);
        let cuts = plan.map_or(Vec::new(), |plan| plan.texts());
        let mut kept = KeptTexts {
            left_out: cuts.len().saturating_sub(MAX_CAPTURED),
            ..KeptTexts::default()
        };
        if cuts.is_empty() {
            let found = self.ledger.captured_of(&row.id).await?;
            kept.texts = found.into_iter().map(|text| (None, text)).collect();
            return Ok(kept);
        }
        for cut in cuts.into_iter().take(MAX_CAPTURED) {
            match self.ledger.recall(&row.workload, &cut.id).await? {
                Recalled::Text {
                    text,
                    after,
                    request,
                    at,
                } => {
                    let text = CapturedCut {
                        id: cut.id.clone(),
                        request,
                        session: row.session.clone(),
                        workload: row.workload.clone(),
                        at,
                        text,
                        after,
                    };
                    kept.texts.push((Some(cut), text));
                }
                Recalled::Expired { at } => kept.expired = kept.expired.max(Some(Moment(at))),
                Recalled::Unknown => {}
            }
        }
        Ok(kept)
    }

    async fn quality_list(&self, visit: &Visit) -> Made {
        let workloads = self.known_workloads().await?;
        let briefs = query::briefs(&self.ledger, workloads, visit.now).await?;
        let controls = Arc::clone(&self.ledger.controls().borrow());
        let shell = self.shell(visit, Section::Quality);
        let page = QualityListPage::of(&briefs, DAYS, &controls, shell);
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
    pub(crate) async fn known_workloads(&self) -> Result<Vec<String>, LedgerError> {
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
