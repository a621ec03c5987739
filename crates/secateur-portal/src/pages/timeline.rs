//! Entries of the breach timeline.

use secateur_ledger::moment::Moment;
use secateur_ledger::{StackEvent, StackEventKind};

use crate::chip::Chip;
use crate::link;

/// One entry.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) at: Moment,
    pub(crate) workload: String,
    pub(crate) quality: String,
    pub(crate) chips: Vec<Chip>,
    /// The class of its colour.
    pub(crate) tone: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) reason: String,
    /// Mean and number of scores, where the reason does not tell them.
    pub(crate) figures: Option<String>,
    pub(crate) by: Option<String>,
}

impl Entry {
    pub(crate) fn of(event: &StackEvent) -> Self {
        let (tone, kind) = match event.kind {
            StackEventKind::RolledBack => ("bad", "Rolled back"),
            StackEventKind::Resumed => ("good", "Resumed"),
            StackEventKind::Warning => ("warn", "Warning"),
        };
        let figures = event.mean.map(|mean| match event.samples {
            Some(samples) => format!("mean {mean:.3} of {samples} scores"),
            None => format!("mean {mean:.3}"),
        });
        let figures = figures.filter(|figures| !event.reason.contains(figures.as_str()));
        Self {
            at: Moment(event.at),
            workload: event.workload.clone(),
            quality: link::quality(&event.workload),
            chips: Chip::all(&event.stack),
            tone,
            kind,
            reason: event.reason.clone(),
            figures,
            by: event.by.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_a_reason_are_told_once() {
        let entry = |reason: &str| {
            Entry::of(&StackEvent {
                at: 0,
                workload: "w".into(),
                stack: "m7".into(),
                kind: StackEventKind::RolledBack,
                reason: reason.into(),
                mean: Some(0.5),
                samples: Some(30),
                by: None,
            })
            .figures
        };
        let told = "mean 0.500 of 30 scores";
        assert_eq!(entry(&format!("{told} is under the floor 0.950")), None);
        assert_eq!(entry("by hand").as_deref(), Some(told));
    }
}
