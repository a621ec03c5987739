//! What all connections of the mock share: how it is set up, and what has come in.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::StatusCode;

use crate::answer::Recordings;
use crate::cache::{PromptCache, Usage};
use crate::conduct::Conduct;
use crate::request::Received;
use crate::script::{Progress, Script};

/// A response that a test prescribes.
#[derive(Clone, Debug)]
pub struct Scripted {
    /// Status.
    pub status: u16,
    /// Headers.
    pub headers: Vec<(&'static str, String)>,
    /// Body.
    pub body: Bytes,
}

type Prescribe = Arc<dyn Fn(&Received) -> Option<Scripted> + Send + Sync>;

/// What became of one request.
#[derive(Debug)]
pub struct Exchange<'x> {
    /// The request.
    pub received: &'x Received,
    /// Status of the response.
    pub status: u16,
    /// Which rule it broke.
    pub rejection: Option<&'x str>,
    /// Its tokens, and what its input costs in tokens at the price of plain input; only for
    /// requests that a model answered.
    pub usage: Option<(Usage, f64)>,
    /// How far the scripted session is.
    pub progress: Option<Progress>,
}

impl<'x> Exchange<'x> {
    /// A request that no rule was broken by and no model answered.
    pub(crate) fn passed(received: &'x Received, status: StatusCode) -> Self {
        Self {
            received,
            status: status.as_u16(),
            rejection: None,
            usage: None,
            progress: None,
        }
    }
}

type Observe = Arc<dyn Fn(&Exchange<'_>) + Send + Sync>;

/// How a mock is set up.
#[derive(Clone, Default)]
pub struct MockOptions {
    /// Keep every request, for [`Mock::received`](crate::Mock::received). Default false.
    pub keep_requests: bool,
    /// Prescribes responses; `None` from it lets the mock answer. Default none.
    pub script: Option<Prescribe>,
    /// Leads a coding agent through a session. Default none: answers are composed.
    pub session: Option<Script>,
    /// Is called for every request, before its response. Default none.
    pub observe: Option<Observe>,
    /// How the mock behaves where a request does not say. Default well.
    pub conduct: Conduct,
}

impl std::fmt::Debug for MockOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MockOptions")
            .field("keep_requests", &self.keep_requests)
            .field("conduct", &self.conduct)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) received: Vec<Received>,
    pub(crate) recordings: Recordings,
    pub(crate) cache: PromptCache,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: MockOptions,
    pub(crate) state: Mutex<State>,
    pub(crate) requests: AtomicUsize,
    pub(crate) rejected: AtomicUsize,
    pub(crate) open_streams: AtomicUsize,
}

impl Shared {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn observe(&self, exchange: &Exchange<'_>) {
        if let Some(observe) = &self.options.observe {
            observe(exchange);
        }
    }
}
