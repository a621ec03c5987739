//! The tables.

use std::fmt::Write as _;
use std::time::Instant;

use secateur_condense::{Budget, condense};

use crate::corpus::{Log, Signal};
use crate::methods::{METHODS, keyword_grep, without_colours};

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

/// How an output is scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    AsIs,
    Plain,
    PlainNontrivial,
}

impl Variant {
    fn label(self) -> &'static str {
        match self {
            Self::AsIs => "",
            Self::Plain => ", colours removed",
            Self::PlainNontrivial => ", colours removed, values of 4+ characters only",
        }
    }
}

/// Mean recall per method and budget, and ours per log with what is missing.
pub(crate) fn table(logs: &[Log]) -> String {
    let mut out = String::from(
        "# Recall of signals on CI failure logs\n\n\
         - **Question:** of the signals that a failure log holds, how many are left after condensing it to a budget?\n\
         - **Command:** `cargo run --release -p lab-logs -- --write [FILE]` (the default file is outside the repository)\n\
         - **Machine, date:** recall does not depend on the machine, speed is of one core; measured when this page was last committed\n\
         - **Reading:** compare the rows of one budget; nothing is held out, as said below the table.\n\n",
    );
    let _ = writeln!(
        out,
        "{} logs. Budgets in tokens of four characters. A signal is recalled when its value or an alias \
         (its file, where it has no value) is a substring of the output. Means over logs, critical / all signals. \
         \"colours removed\" first strips colour codes from the output, which helps only the other methods; \
         \"values of 4+ characters only\" also leaves out signals such as the exit code `1`, which almost any text contains.\n",
        logs.len()
    );
    let _ = writeln!(
        out,
        "| method | 800 | 3,500 | 6,000 |\n| --- | --: | --: | --: |"
    );
    for (name, method) in METHODS {
        for variant in [Variant::AsIs, Variant::Plain, Variant::PlainNontrivial] {
            let _ = write!(out, "| {name}{} |", variant.label());
            for budget in BUDGETS {
                let cells: Vec<(f64, f64)> = logs
                    .iter()
                    .map(|log| {
                        let output = method(&log.log, budget * 4);
                        let output = if variant == Variant::AsIs {
                            output
                        } else {
                            without_colours(&output)
                        };
                        let counted = |signal: &&Signal| {
                            variant != Variant::PlainNontrivial || !signal.is_trivial()
                        };
                        let signals: Vec<&Signal> = log.signals.iter().filter(counted).collect();
                        let critical = signals
                            .iter()
                            .copied()
                            .filter(|signal| signal.is_critical());
                        (
                            recall(critical, &output),
                            recall(signals.iter().copied(), &output),
                        )
                    })
                    .collect();
                let critical: Vec<f64> = cells.iter().map(|cell| cell.0).collect();
                let all: Vec<f64> = cells.iter().map(|cell| cell.1).collect();
                let _ = write!(out, " {:.3} / {:.3} |", mean(&critical), mean(&all));
            }
            out.push('\n');
        }
    }
    out.push_str("\nThe rules of condense were written while reading its output on these same logs, so none of these figures is held out. \
         One constant (characters added to each line's cost) was compared at 24, 40 and 60, with critical recall at 800 of 0.831, 0.831 and 0.817. \
         The mean does not hang on a single log: with any one left out it stays within");
    for budget in BUDGETS {
        let values: Vec<f64> = logs
            .iter()
            .map(|log| {
                let output = METHODS[METHODS.len() - 1].1(&log.log, budget * 4);
                recall(
                    log.signals.iter().filter(|signal| signal.is_critical()),
                    &output,
                )
            })
            .collect();
        let (low, high) = leave_one_out(&values);
        let _ = write!(out, " {low:.3}–{high:.3} at {budget};");
    }
    out.push_str(" that is a spread, not a validation.\n");
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

/// Throughput of condense over all logs at the middle budget, beside the keyword grep in the same run.
pub(crate) fn speed(logs: &[Log]) -> String {
    let bytes: usize = logs.iter().map(|log| log.log.len()).sum();
    let budget = Budget::chars(BUDGETS[1] * 4);
    let ours = best_seconds(logs, |text| {
        std::hint::black_box(condense(text, &budget));
    });
    let grep = best_seconds(logs, |text| {
        std::hint::black_box(keyword_grep(text, BUDGETS[1] * 4));
    });
    let rate = |seconds: f64| ratio(bytes, 1_000_000) / seconds;
    format!(
        "## Speed\n\n{:.1} MB, one core, best of {ROUNDS} rounds: condense {:.0} MB/s, the keyword grep in the same run {:.0} MB/s. \
         On a busy machine only their ratio ({:.1}) means something.\n",
        ratio(bytes, 1_000_000),
        rate(ours),
        rate(grep),
        grep / ours
    )
}

const ROUNDS: usize = 15;

fn best_seconds(logs: &[Log], run: impl Fn(&str)) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        for log in logs {
            run(std::hint::black_box(&log.log));
        }
        start.elapsed().as_secs_f64()
    });
    rounds.fold(f64::INFINITY, f64::min)
}

/// The lowest and highest mean of critical recall when one log is left out.
fn leave_one_out(values: &[f64]) -> (f64, f64) {
    let sum: f64 = values.iter().sum();
    let without = values
        .iter()
        .map(|value| (sum - value) / ratio(values.len() - 1, 1));
    without.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| {
        (low.min(mean), high.max(mean))
    })
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
