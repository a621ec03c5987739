//! The tables.

use std::fmt::Write as _;
use std::time::Instant;

use secateur_core::condense::{Budget, condense};

use crate::corpus::{Log, Signal};
use crate::methods::{METHODS, without_colours};

/// Budgets in tokens of four characters.
const BUDGETS: &[usize] = &[800, 3_500, 6_000];

fn recall<'a>(signals: impl Iterator<Item = &'a Signal>, text: &str) -> f64 {
    let found: Vec<bool> = signals.map(|signal| signal.is_in(text)).collect();
    if found.is_empty() {
        return 1.0;
    }
    ratio(found.iter().filter(|found| **found).count(), found.len())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of signals and bytes are small"
)]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / ratio(values.len(), 1)
}

/// Mean recall per method and budget, and ours per log with what is missing.
pub(crate) fn table(logs: &[Log]) -> String {
    let mut out = String::from("# Recall of signals on CI failure logs\n\n");
    let _ = writeln!(
        out,
        "{} logs. Budgets in tokens of four characters. A signal is recalled when its value or an alias \
         (its file, where it has no value) is a substring of the output. Means over logs, critical / all signals. \
         \"colours removed\" first strips colour codes from the output, which helps only the other methods.\n",
        logs.len()
    );
    let _ = writeln!(
        out,
        "| method | 800 | 3,500 | 6,000 |\n| --- | --: | --: | --: |"
    );
    for (name, method) in METHODS {
        for plain in [false, true] {
            let _ = write!(
                out,
                "| {name}{} |",
                if plain { ", colours removed" } else { "" }
            );
            for budget in BUDGETS {
                let outputs: Vec<String> = logs
                    .iter()
                    .map(|log| {
                        let output = method(&log.log, budget * 4);
                        if plain {
                            without_colours(&output)
                        } else {
                            output
                        }
                    })
                    .collect();
                let critical: Vec<f64> = logs
                    .iter()
                    .zip(&outputs)
                    .map(|(log, output)| {
                        recall(
                            log.signals.iter().filter(|signal| signal.is_critical()),
                            output,
                        )
                    })
                    .collect();
                let all: Vec<f64> = logs
                    .iter()
                    .zip(&outputs)
                    .map(|(log, output)| recall(log.signals.iter(), output))
                    .collect();
                let _ = write!(out, " {:.3} / {:.3} |", mean(&critical), mean(&all));
            }
            out.push('\n');
        }
    }
    out.push_str("\n## condense, per log\n\n| log | KB | 800 | 3,500 | 6,000 | critical signals missing at 6,000 |\n| --- | --: | --: | --: | --: | --- |\n");
    for log in logs {
        let _ = write!(out, "| {} | {} |", log.id, log.log.len() / 1000);
        let mut missing = Vec::new();
        for budget in BUDGETS {
            let output = METHODS[METHODS.len() - 1].1(&log.log, budget * 4);
            let critical = recall(
                log.signals.iter().filter(|signal| signal.is_critical()),
                &output,
            );
            let _ = write!(
                out,
                " {critical:.2} / {:.2} |",
                recall(log.signals.iter(), &output)
            );
            missing = log
                .signals
                .iter()
                .filter(|signal| signal.is_critical() && !signal.is_in(&output))
                .collect();
        }
        let names: Vec<String> = missing
            .iter()
            .filter_map(|signal| signal.value.as_deref().or(signal.file.as_deref()))
            .map(|name| format!("`{}`", name.replace('|', "\\|")))
            .collect();
        let _ = writeln!(out, " {} |", names.join(", "));
    }
    out
}

/// Throughput of condense over all logs at the middle budget, best of five.
pub(crate) fn speed(logs: &[Log]) -> String {
    let bytes: usize = logs.iter().map(|log| log.log.len()).sum();
    let budget = Budget::chars(BUDGETS[1] * 4);
    let best = (0..5)
        .map(|_| {
            let start = Instant::now();
            for log in logs {
                std::hint::black_box(condense(std::hint::black_box(&log.log), &budget));
            }
            start.elapsed()
        })
        .min()
        .unwrap_or_default();
    format!(
        "## Speed\n\n{:.1} MB in {:.1} ms: {:.0} MB/s on one core (best of five).\n",
        ratio(bytes, 1_000_000),
        best.as_secs_f64() * 1e3,
        ratio(bytes, 1_000_000) / best.as_secs_f64()
    )
}

/// One log's output (`ID:BUDGET`), for looking at.
pub(crate) fn shown(logs: &[Log], which: &str) -> String {
    let (id, budget) = which.split_once(':').unwrap_or((which, "800"));
    let chars = budget.parse().unwrap_or(800) * 4;
    let mut out = String::new();
    for log in logs.iter().filter(|log| log.id.starts_with(id)) {
        let output = METHODS[METHODS.len() - 1].1(&log.log, chars);
        let _ = writeln!(
            out,
            "===== {} ({} characters)\n{output}\n",
            log.id,
            output.chars().count()
        );
        for signal in &log.signals {
            let name = signal
                .value
                .as_deref()
                .or(signal.file.as_deref())
                .unwrap_or_default();
            let _ = writeln!(
                out,
                "{} {} {name}",
                if signal.is_in(&output) {
                    "ok  "
                } else {
                    "MISS"
                },
                signal.importance
            );
        }
    }
    out
}
