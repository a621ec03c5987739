//! Build and CI logs: trouble first, with its surroundings, the command that caused it, and the end.

use super::Layout;
use super::sample::Sample;
use super::trouble::{STRONG, weigh};
use crate::OutputKind;
use crate::escapes::{may_hold_escapes, visible_runs};
use crate::shapes::ByShape;
use crate::timestamp::Prefix;
use crate::traits::{LineReader, Traits};
use crate::units::{Splitting, Unit, split_lines};

/// A text that reports a run, or has lines of a few shapes.
pub(super) fn is_log(sample: &Sample<'_>, splitting: Splitting) -> bool {
    tells_of_a_run(sample, splitting) || is_repetitive(sample)
}

/// Timestamps, escapes or step markers, or a report of how a run ended.
pub(super) fn tells_of_a_run(sample: &Sample<'_>, splitting: Splitting) -> bool {
    if splitting.prefix != Prefix::None
        || splitting.escapes
        || sample.any(|line| line.starts_with("##["))
    {
        return true;
    }
    let reader = LineReader::new();
    let traits: Vec<Traits> = sample
        .lines
        .iter()
        .map(|line| reader.read(line.as_bytes()))
        .collect();
    // Harnesses put the exit code before or after what a command printed.
    if traits.first().is_some_and(|line| line.outcome)
        || traits.last().is_some_and(|line| line.outcome)
    {
        return true;
    }
    let reports = |line: &Traits| line.outcome || line.score >= STRONG;
    !is_text(sample) && traits.iter().any(reports)
}

/// Fewer shapes than half the lines.
fn is_repetitive(sample: &Sample<'_>) -> bool {
    if is_text(sample) {
        return false;
    }
    let reader = LineReader::new();
    let mut shapes: ByShape<u32> = ByShape::default();
    for line in &sample.lines {
        let shape = reader.read(line.as_bytes()).shape;
        *shapes.entry(shape).or_default() += 1;
    }
    shapes.len() * 2 < sample.lines.len()
}

/// Source code, or prose.
fn is_text(sample: &Sample<'_>) -> bool {
    sample.percent(1, is_source) >= 40 || sample.percent(1, is_written) >= 25
}

/// Markdown, or a sentence.
fn is_written(line: &str) -> bool {
    let text = line.trim_start();
    [
        "# ", "## ", "### ", "#### ", "- ", "* ", "**", "```", "| ", "1. ", "2. ", "3. ",
    ]
    .iter()
    .any(|opening| text.starts_with(opening))
        || text.ends_with('.') && text.split_whitespace().nth(7).is_some()
}

/// Ends or begins as lines of program text do.
fn is_source(line: &str) -> bool {
    line.ends_with([';', '{', '}', ',', '(', ')'])
        || line.starts_with([' ', '\t', '}', '/'])
        || line.ends_with(':') && line.starts_with("def ")
}

pub(super) fn read(text: &str, splitting: Splitting) -> Layout {
    let mut units = split_lines(text, splitting);
    let traits = read_traits(text, splitting, &mut units);
    weigh(text, &mut units, &traits);
    Layout::new(OutputKind::Log, splitting, units)
}

/// Reads every unit's traits, without escapes, and stores its shape.
pub(super) fn read_traits(text: &str, splitting: Splitting, units: &mut [Unit]) -> Vec<Traits> {
    let reader = LineReader::new();
    let bytes = text.as_bytes();
    let mut plain = Vec::new();
    units
        .iter_mut()
        .map(|unit| {
            let span = unit.body_span();
            let line = &bytes[span.clone()];
            let traits = if splitting.escapes && may_hold_escapes(line) {
                plain.clear();
                visible_runs(bytes, span.start, span.end, |from, to| {
                    plain.extend_from_slice(&bytes[from..to]);
                });
                reader.read(plain.trim_ascii_end())
            } else {
                reader.read(line.trim_ascii_end())
            };
            unit.shape = traits.shape;
            traits
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::{Budget, OutputKind, condense};

    /// A long build with one failure in the middle of its routine, and a cleanup after its end.
    fn build_log() -> String {
        let mut lines: Vec<String> = (0..900)
            .map(|n| format!("Downloading crate-{n} v1.{n}.0 (registry)"))
            .collect();
        lines.extend((0..900).map(|n| format!("   Compiling crate-{n} v1.{n}.0")));
        lines.push("##[group]Run cargo build --release".to_owned());
        lines.push("echo \"Failed to build\" && exit 1".to_owned());
        lines.push("##[endgroup]".to_owned());
        lines.push("warning: unused variable `spare`".to_owned());
        lines.push("error[E0425]: cannot find value `missing_name` in this scope".to_owned());
        lines.push("  --> src/engine.rs:41:9".to_owned());
        lines.push("   |".to_owned());
        lines.push("41 |         missing_name + 1".to_owned());
        lines.push("   |         ^^^^^^^^^^^^ not found in this scope".to_owned());
        lines.push(
            "error: could not compile `app` (bin \"app\") due to 1 previous error".to_owned(),
        );
        lines.push("##[error]Process completed with exit code 101.".to_owned());
        lines.extend((0..300).map(|n| format!("Removing cache entry {n}")));
        lines.push("Cleaning up orphan processes".to_owned());
        let stamp = |(n, line): (usize, String)| {
            format!(
                "2026-05-07T02:{:02}:{:02}.1164075Z \u{1b}[36m{line}\u{1b}[0m\n",
                n / 60 % 60,
                n % 60
            )
        };
        lines.into_iter().enumerate().map(stamp).collect()
    }

    #[test]
    fn the_failure_its_place_and_the_exit_code_survive() {
        let text = build_log();
        let condensed = condense(&text, &Budget::chars(1_500)).expect("over budget");
        assert_eq!(condensed.kind, OutputKind::Log);
        let out = condensed.render(&text);
        for needed in [
            "error[E0425]: cannot find value `missing_name` in this scope\n",
            "  --> src/engine.rs:41:9\n",
            "41 |         missing_name + 1\n",
            "error: could not compile `app` (bin \"app\") due to 1 previous error\n",
            "##[error]Process completed with exit code 101.\n",
            "Cleaning up orphan processes\n",
            "Downloading crate-0 v1.0.0 (registry)\n",
        ] {
            assert!(out.contains(needed), "{needed}{out}");
        }
        assert!(
            !out.contains('\u{1b}') && !out.contains("2026-05-07"),
            "{out}"
        );
        assert!(out.starts_with("[Shortened: "), "{out}");
        assert!(
            out.contains("without line timestamps and colour codes"),
            "{out}"
        );
    }

    #[test]
    fn repeats_are_folded_with_a_true_count() {
        let text = build_log();
        let out = condense(&text, &Budget::chars(1_500))
            .expect("over budget")
            .render(&text);
        let kept = out
            .lines()
            .filter(|line| line.starts_with("Removing cache entry"))
            .count();
        let mark = out
            .lines()
            .find(|line| line.contains("like `Removing cache entry"))
            .expect("a folded repeat");
        let count: usize = mark
            .split(" like `")
            .next()
            .and_then(|words| words.rsplit([' ']).next())
            .and_then(|number| number.replace(',', "").parse().ok())
            .expect("a count");
        assert_eq!(kept + count, 300, "{mark}");
    }

    #[test]
    fn a_rewritten_progress_line_is_routine() {
        let bars: String = (0..2_000)
            .map(|n| format!("\rfetching {n}/2000 [=====>    ]"))
            .collect();
        let text = format!("start\n{bars}\nfatal: the remote end hung up\nexit status 128\n");
        let out = condense(&text, &Budget::chars(800))
            .expect("over budget")
            .render(&text);
        assert!(
            out.contains("fatal: the remote end hung up\nexit status 128\n"),
            "{out}"
        );
    }

    #[test]
    fn nothing_is_claimed_about_what_was_not_there() {
        let text: String = (0..2_000)
            .map(|n| format!("step {n} of 2000 done\n"))
            .collect();
        let out = condense(&text, &Budget::chars(800))
            .expect("over budget")
            .render(&text);
        for claim in ["No errors", "no errors", "passed", "success"] {
            assert!(!out.contains(claim), "{out}");
        }
    }
}
