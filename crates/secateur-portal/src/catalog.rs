//! What the configuration says of the workloads, as far as pages show it.

use std::sync::Arc;

use secateur_canary::CanaryOptions;
use secateur_core::mechanic::Mechanic;
use secateur_proxy::config::Workload;
use secateur_proxy::{Untouched, UntouchedCount};

/// One mechanic of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MechanicInfo {
    /// Which.
    pub mechanic: Mechanic,
    /// Whether the configuration switches it on.
    pub is_on: bool,
    /// Whether the configuration says what it should do, so that it can be switched on at all.
    pub is_ready: bool,
}

/// One workload.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadInfo {
    /// Its name.
    pub name: String,
    /// Every mechanic, sorted as in stacks.
    pub mechanics: Vec<MechanicInfo>,
    /// By what its scores are judged; `None`: nothing is changed that could be judged.
    pub canary: Option<Arc<CanaryOptions>>,
    /// Share of the sessions that goes unpruned for comparison, in percent.
    pub holdout_pct: f64,
    /// Whether the text that was cut is kept.
    pub captures: bool,
}

impl WorkloadInfo {
    /// The canary's options, where it compares answers.
    #[must_use]
    pub fn sampled_canary(&self) -> Option<&CanaryOptions> {
        let options = self.canary.as_deref();
        options.filter(|options| options.sample_pct > 0.0)
    }

    /// A workload as it is configured.
    #[must_use]
    pub fn of(workload: &Workload) -> Self {
        let policy = workload.policy.as_deref();
        let mechanic = |mechanic: Mechanic| {
            let (is_on, is_ready) = match mechanic {
                Mechanic::M1 => (workload.routes.is_some(), false),
                // Which roles it reaches is its setting: without one there is nothing to switch on.
                Mechanic::M3 => (policy.is_some_and(|policy| policy.m3.is_active()), false),
                Mechanic::M7 => (
                    policy.is_some_and(|policy| policy.m7.enabled),
                    policy.is_some_and(|policy| !policy.m7.strategies.is_empty()),
                ),
                Mechanic::M8 => (workload.schema.is_some(), false),
            };
            MechanicInfo {
                mechanic,
                is_on,
                is_ready: is_on || is_ready,
            }
        };
        Self {
            name: workload.name.to_string(),
            mechanics: Mechanic::ALL.into_iter().map(mechanic).collect(),
            // Scores that clients post are judged by it too, also where nothing is sampled.
            canary: workload
                .has_mechanics()
                .then(|| Arc::clone(&workload.canary.options)),
            holdout_pct: workload.canary.holdout_pct,
            captures: workload.capture.is_some(),
        }
    }
}

/// Tells the workloads as they are configured now; asked on every page that shows them.
pub trait Catalog: Send + Sync + std::fmt::Debug {
    /// All of them, sorted by name.
    fn workloads(&self) -> Vec<WorkloadInfo>;

    /// Requests that passed untouched because of their address, since the proxy started.
    fn untouched(&self) -> Vec<(Untouched, UntouchedCount)> {
        Vec::new()
    }
}

/// Workloads that do not change.
impl Catalog for Vec<WorkloadInfo> {
    fn workloads(&self) -> Vec<WorkloadInfo> {
        self.clone()
    }
}

/// What a mechanic is called on the pages, and what it does.
pub(crate) fn words(mechanic: Mechanic) -> (&'static str, &'static str) {
    match mechanic {
        Mechanic::M1 => (
            "Auto-route",
            "small requests go to a cheaper model; content stays",
        ),
        Mechanic::M3 => ("Compress", "loose white space goes"),
        Mechanic::M7 => ("Prune", "old and repeated context goes"),
        Mechanic::M8 => ("Structured output", "answers follow a schema"),
    }
}
