//! What all requests share, and what those of one connection share.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use secateur_canary::Canary;
use secateur_ledger::Ledger;

use crate::access::RateLimits;
use crate::capture::Capture;
use crate::config::LiveConfig;
use crate::conversations::Conversations;
use crate::limits::{ByteBudget, Slots};
use crate::pages::Pages;
use crate::pipeline::Engine;
use crate::summary::Summarizer;
use crate::surface::Surfaces;
use crate::upstream::UpstreamClient;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: LiveConfig,
    pub(crate) client: UpstreamClient,
    pub(crate) surfaces: Arc<Surfaces>,
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) canary: Arc<Canary>,
    pub(crate) conversations: Conversations,
    pub(crate) ledger: Option<Ledger>,
    pub(crate) capture: Option<Arc<Capture>>,
    pub(crate) slots: Slots,
    pub(crate) byte_budget: Arc<ByteBudget>,
    pub(crate) summarizer: Arc<Summarizer>,
    pub(crate) limits: RateLimits,
    pub(crate) pages: Option<Arc<dyn Pages>>,
    pub(crate) no_pages: String,
    pub(crate) is_draining: AtomicBool,
    /// Requests that end now were cut off because the proxy stops.
    pub(crate) is_cutting_off: AtomicBool,
}

/// What all requests share, in the hands of one connection. Its requests count themselves here, where no other thread
/// counts at the same time.
#[derive(Clone, Debug)]
pub(crate) struct Held(Arc<OfConnection>);

#[derive(Debug)]
struct OfConnection {
    shared: Arc<Shared>,
    had_request: AtomicBool,
}

impl Held {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self(Arc::new(OfConnection {
            shared,
            had_request: AtomicBool::new(false),
        }))
    }

    /// The head of a request is there.
    pub(crate) fn has_request(&self) {
        self.0.had_request.store(true, Ordering::Relaxed);
    }

    /// Whether there was any request yet.
    pub(crate) fn had_request(&self) -> bool {
        self.0.had_request.load(Ordering::Relaxed)
    }
}

impl Deref for Held {
    type Target = Arc<Shared>;

    fn deref(&self) -> &Arc<Shared> {
        &self.0.shared
    }
}
