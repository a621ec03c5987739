//! The workloads: what is configured, what people switched, what the canary switched off.

use askama::Template;
use secateur_core::mechanic::Mechanic;
use secateur_ledger::moment::Moment;
use secateur_ledger::{Controls, Retired, Switch};

use crate::catalog::{MechanicInfo, WorkloadInfo, words};
use crate::chip::Chip;
use crate::link;
use crate::numbers::percent;
use crate::shell::Shell;

pub(crate) struct MechanicLine {
    id: &'static str,
    chip: Chip,
    name: &'static str,
    about: &'static str,
    configured: &'static str,
    /// Who switched it, and when.
    switched: Option<(String, Moment, String)>,
    /// Why the canary keeps it off.
    retired: Option<(Moment, String)>,
    is_effective: bool,
    is_ready: bool,
    /// Whether the switch differs from what there is now.
    is_wanted: bool,
}

pub(crate) struct OffStack {
    pub(crate) chips: Vec<Chip>,
    pub(crate) stack: String,
    pub(crate) since: Moment,
    pub(crate) reason: String,
}

pub(crate) struct WorkloadCard {
    name: String,
    anchor: String,
    href: String,
    audit: String,
    /// What else the file says of it, a sentence each.
    about: Vec<String>,
    /// Those that there is something to say of.
    mechanics: Vec<MechanicLine>,
    /// Those that the file does not set up, and nobody switched.
    unset: Vec<MechanicLine>,
    off: Vec<OffStack>,
}

#[derive(Template)]
#[template(path = "workloads.html")]
pub(crate) struct WorkloadsPage {
    shell: Shell,
    cards: Vec<WorkloadCard>,
}

/// Whether a retired stack of one mechanic keeps it off.
fn retired_alone<'c>(
    controls: &'c Controls,
    workload: &str,
    mechanic: Mechanic,
) -> Option<&'c Retired> {
    controls
        .retired
        .iter()
        .find(|retired| retired.workload == workload && retired.stack == mechanic.name())
}

fn line(controls: &Controls, workload: &str, info: &MechanicInfo) -> MechanicLine {
    let of =
        |switch: &&Switch| switch.workload == workload && switch.mechanic == info.mechanic.name();
    let switch = controls.switches.iter().find(of);
    let retired = retired_alone(controls, workload, info.mechanic);
    let is_wanted = switch.map_or(info.is_on, |switch| switch.is_on);
    let (name, about) = words(info.mechanic);
    MechanicLine {
        id: info.mechanic.name(),
        chip: Chip::of(info.mechanic.name()),
        name,
        about,
        configured: match (info.is_on, info.is_ready) {
            (true, _) => "on",
            (false, true) => "off",
            (false, false) => "not set up",
        },
        switched: switch.map(|switch| {
            let state = if switch.is_on { "on" } else { "off" };
            (state.to_owned(), Moment(switch.at), switch.by.clone())
        }),
        retired: retired.map(|retired| (Moment(retired.at), retired.reason.clone())),
        is_effective: is_wanted && info.is_ready && retired.is_none(),
        is_ready: info.is_ready,
        is_wanted,
    }
}

pub(crate) fn off_stacks(controls: &Controls, workload: &str) -> Vec<OffStack> {
    let of = |retired: &&Retired| retired.workload == workload;
    let off = |retired: &Retired| OffStack {
        chips: Chip::all(&retired.stack),
        stack: retired.stack.clone(),
        since: Moment(retired.at),
        reason: retired.reason.clone(),
    };
    controls.retired.iter().filter(of).map(off).collect()
}

/// What the file says of a workload besides its mechanics.
fn about(info: &WorkloadInfo, is_configured: bool) -> Vec<String> {
    let gone = (!is_configured).then(|| "No longer in the configuration file.".to_owned());
    let canary = match info.sampled_canary() {
        Some(options) => format!(
            "The canary compares {} of the changed requests; floor {:.2}.",
            percent(options.sample_pct / 100.0),
            options.floor
        ),
        None => "The canary compares no answers.".to_owned(),
    };
    let holdout = (info.holdout_pct > 0.0).then(|| {
        format!(
            "{} of the sessions held out.",
            percent(info.holdout_pct / 100.0)
        )
    });
    let captures = info
        .captures
        .then(|| "Text that is cut is kept.".to_owned());
    [gone, Some(canary), holdout, captures]
        .into_iter()
        .flatten()
        .collect()
}

impl WorkloadsPage {
    /// `seen`: workloads that have rows; those that are no longer configured are shown without switches.
    pub(crate) fn of(
        catalog: &[WorkloadInfo],
        seen: &[String],
        controls: &Controls,
        shell: Shell,
    ) -> Self {
        let card = |info: &WorkloadInfo, is_configured: bool| {
            let lines = info
                .mechanics
                .iter()
                .map(|mechanic| line(controls, &info.name, mechanic));
            let (mechanics, unset) = lines.partition(|line: &MechanicLine| {
                line.is_ready || line.switched.is_some() || line.retired.is_some()
            });
            WorkloadCard {
                name: info.name.clone(),
                anchor: format!("w-{}", link::segment(&info.name)),
                href: link::quality(&info.name),
                audit: link::audit(&[("workload", &info.name)]),
                about: about(info, is_configured),
                mechanics,
                unset,
                off: off_stacks(controls, &info.name),
            }
        };
        let mut cards: Vec<WorkloadCard> = catalog.iter().map(|info| card(info, true)).collect();
        let is_gone = |name: &&String| catalog.iter().all(|info| info.name != **name);
        cards.extend(seen.iter().filter(is_gone).map(|name| {
            let info = WorkloadInfo {
                name: name.clone(),
                mechanics: Vec::new(),
                canary: None,
                holdout_pct: 0.0,
                captures: false,
            };
            card(&info, false)
        }));
        Self { shell, cards }
    }
}
