//! Requests that passed untouched because of their address, as the first page reports them.

use secateur_ledger::moment::Moment;
use secateur_proxy::{Untouched, UntouchedCount};

use crate::catalog::WorkloadInfo;
use crate::numbers::thousands;

/// Requests of one address.
pub(crate) struct Line {
    /// `3 requests`.
    pub(crate) count: String,
    /// The workload that there is not; clients choose the name.
    pub(crate) workload: Option<String>,
    /// What the address is, where it names none.
    pub(crate) what: &'static str,
    pub(crate) last: String,
}

/// All of them, and the workloads that change requests.
#[derive(Default)]
pub(crate) struct Astray {
    pub(crate) lines: Vec<Line>,
    pub(crate) pruning: Vec<String>,
}

impl Astray {
    pub(crate) fn of(counts: &[(Untouched, UntouchedCount)], workloads: &[WorkloadInfo]) -> Self {
        let line = |(untouched, count): &(Untouched, UntouchedCount)| {
            let (workload, what) = match untouched {
                Untouched::NoWorkload => (None, "to the bare base URL"),
                Untouched::UnknownWorkload(name) if name.is_empty() => (
                    None,
                    "to other workloads that the configuration does not have",
                ),
                Untouched::UnknownWorkload(name) => (Some(name.clone()), ""),
            };
            let requests = count.requests;
            let noun = if requests == 1 { "request" } else { "requests" };
            Line {
                count: format!("{} {noun}", thousands(requests)),
                workload,
                what,
                last: Moment(count.last).iso(),
            }
        };
        let changes = |info: &&WorkloadInfo| info.mechanics.iter().any(|mechanic| mechanic.is_on);
        let pruning = workloads.iter().filter(changes);
        Self {
            lines: counts.iter().map(line).collect(),
            pruning: pruning.map(|info| info.name.clone()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_a_line() {
        let count = |requests| UntouchedCount { requests, last: 0 };
        let named = Untouched::UnknownWorkload("codng".into());
        let astray = Astray::of(
            &[(Untouched::NoWorkload, count(1)), (named, count(1200))],
            &[],
        );
        let lines: Vec<_> = astray
            .lines
            .iter()
            .map(|line| (line.count.as_str(), line.workload.as_deref(), line.what))
            .collect();
        assert_eq!(
            lines,
            [
                ("1 request", None, "to the bare base URL"),
                ("1,200 requests", Some("codng"), "")
            ]
        );
    }
}
