//! Keeps what was cut, for workloads that ask for it.
//!
//! Off the request's path. Bodies that wait are bounded in bytes. One that finds no room is left out: the next request of
//! its conversation carries the same cuts again.
//!
//! **Invariant:** a text is kept as long as its conversation goes on, because every request that cuts it
//! again renews it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use secateur_core::Dialect;
use secateur_core::Request;
use secateur_core::recall::{RecallId, Removed, removed};
use secateur_core::report::Report;
use secateur_ledger::moment::now;
use secateur_ledger::{CapturedCut, Ledger};
use tokio::sync::Semaphore;

use crate::surface::Surfaces;

/// Bodies that are worked on at a time.
const AT_ONCE: usize = 8;
/// Room for bodies that are worked on or wait, in units of [`UNIT_BYTES`]: 64 MiB.
const ROOM: u32 = 1024;
/// What a body takes at least.
const UNIT_BYTES: usize = 64 << 10;

/// A text is not written again before this has passed.
const RENEW_AFTER: Duration = Duration::from_secs(900);

/// Texts that are remembered as written.
const REMEMBERED: usize = 50_000;

type Key = (Arc<str>, RecallId);

/// See the module.
#[derive(Debug)]
pub(crate) struct Capture {
    ledger: Ledger,
    written: Mutex<HashMap<Key, Instant>>,
    room: Arc<Semaphore>,
    at_once: Arc<Semaphore>,
    surfaces: Arc<Surfaces>,
}

/// What goes into one transaction: as many texts as come to so many bytes. Decisions wait behind it.
const PORTION_BYTES: usize = 4 << 20;

fn in_portions(texts: Vec<Removed>) -> Vec<Vec<Removed>> {
    let mut portions: Vec<Vec<Removed>> = Vec::new();
    let mut bytes = usize::MAX;
    for text in texts {
        if bytes >= PORTION_BYTES {
            portions.push(Vec::new());
            bytes = 0;
        }
        bytes += text.text.len() + text.after.as_ref().map_or(0, String::len);
        if let Some(portion) = portions.last_mut() {
            portion.push(text);
        }
    }
    portions
}

/// A request in which something was cut.
#[derive(Clone, Debug)]
pub(crate) struct CutRequest {
    pub(crate) id: String,
    pub(crate) session: Option<String>,
    pub(crate) workload: Arc<str>,
    pub(crate) body: Bytes,
    pub(crate) dialect: Dialect,
    pub(crate) report: Arc<Report>,
}

impl Capture {
    pub(crate) fn new(ledger: Ledger, surfaces: Arc<Surfaces>) -> Self {
        Self {
            ledger,
            written: Mutex::default(),
            room: Arc::new(Semaphore::new(ROOM as usize)),
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
            surfaces,
        }
    }

    /// Keeps what was cut. Returns at once.
    pub(crate) fn keep(self: &Arc<Self>, cut: CutRequest) {
        let units = u32::try_from(cut.body.len().div_ceil(UNIT_BYTES)).unwrap_or(ROOM);
        let room = Arc::clone(&self.room).try_acquire_many_owned(units.clamp(1, ROOM));
        let Ok(room) = room else {
            self.count(&cut.workload, "busy", 1);
            return;
        };
        let capture = Arc::clone(self);
        tokio::spawn(async move {
            let _room = room;
            // The semaphore is never closed.
            let _turn = capture.at_once.acquire().await;
            let finder = Arc::clone(&capture);
            let looked = tokio::task::spawn_blocking(move || {
                let (new, known) = finder.find(&cut);
                (cut, new, known)
            });
            if let Ok((cut, mut new, known)) = looked.await {
                new.extend(capture.gone(&cut.workload, known).await);
                capture.write(&cut, new).await;
            }
        });
    }

    /// The texts of a request that were not written lately, and those that were.
    fn find(&self, cut: &CutRequest) -> (Vec<Removed>, Vec<Removed>) {
        let request = Request {
            dialect: Some(cut.dialect),
            ..Request::default()
        };
        let texts = removed(&cut.body, &request, &cut.report.plan).unwrap_or_default();
        let now = Instant::now();
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.len() > REMEMBERED {
            written.retain(|_, at| now.duration_since(*at) < RENEW_AFTER);
            if written.len() > REMEMBERED {
                // Too many in a short time. The ledger takes a text again that it has.
                written.clear();
            }
        }
        texts.into_iter().partition(|text| {
            let last = written.get(&(Arc::clone(&cut.workload), text.id));
            last.is_none_or(|at| now.duration_since(*at) >= RENEW_AFTER)
        })
    }

    /// Those of the texts that the workload's limits took since they were written, here or by another replica.
    async fn gone(&self, workload: &str, mut texts: Vec<Removed>) -> Vec<Removed> {
        if texts.is_empty() {
            return texts;
        }
        let ids = texts.iter().map(|text| text.id.to_string()).collect();
        match self.ledger.still_captured(workload, ids).await {
            Ok(kept) => {
                let kept: HashSet<String> = kept.into_iter().collect();
                texts.retain(|text| !kept.contains(&text.id.to_string()));
            }
            // It takes nothing either.
            Err(_) => texts.clear(),
        }
        texts
    }

    async fn write(&self, cut: &CutRequest, texts: Vec<Removed>) {
        for texts in in_portions(texts) {
            let ids: Vec<RecallId> = texts.iter().map(|text| text.id).collect();
            let captured = |text: Removed| CapturedCut {
                id: text.id.to_string(),
                request: cut.id.clone(),
                session: cut.session.clone(),
                workload: cut.workload.to_string(),
                at: now(),
                text: text.text,
                after: text.after,
            };
            let texts = texts.into_iter().map(captured).collect();
            let is_kept = self.ledger.capture(texts).await.is_ok();
            let result = if is_kept { "kept" } else { "failed" };
            self.count(&cut.workload, result, ids.len());
            if is_kept {
                let at = Instant::now();
                let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
                written.extend(
                    ids.into_iter()
                        .map(|id| ((Arc::clone(&cut.workload), id), at)),
                );
            }
        }
    }

    fn count(&self, workload: &str, result: &str, texts: usize) {
        let metrics = &self.surfaces.metrics;
        metrics.captured_texts(workload, result, texts as u64);
    }
}
