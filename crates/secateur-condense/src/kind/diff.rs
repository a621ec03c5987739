//! Diffs: every file and hunk header, then whole hunks, small ones and first ones of each file first.
//!
//! A hunk that is cut says so: the mark inside it counts its lines.

use super::Layout;
use super::sample::Sample;
use crate::OutputKind;
use crate::units::{Splitting, Unit, split_lines};

/// Files whose changes follow from other changes.
const GENERATED: &[&str] = &[
    ".lock",
    "-lock.json",
    "-lock.yaml",
    ".min.js",
    ".min.css",
    ".map",
    ".svg",
    ".snap",
    "go.sum",
];

pub(super) fn is_diff(sample: &Sample<'_>) -> bool {
    let hunks = sample.any(|line| line.starts_with("@@ -"));
    let files = sample.any(|line| line.starts_with("diff --git ") || line.starts_with("--- "));
    // A log may quote a diff: most lines must belong to one.
    hunks
        && files
        && sample.percent(4, |line| {
            line.starts_with(['+', '-', ' ', '@', '\t']) || is_file_header(line)
        }) >= 90
}

fn is_file_header(line: &str) -> bool {
    [
        "diff --git ",
        "diff -",
        "--- ",
        "+++ ",
        "rename ",
        "copy ",
        "similarity ",
        "new file",
        "deleted file",
        "Binary ",
        "Index: ",
        "old mode",
        "new mode",
        "index ",
    ]
    .iter()
    .any(|opening| line.starts_with(opening))
}

pub(super) fn read(text: &str, splitting: Splitting) -> Layout {
    let mut units = split_lines(text, splitting);
    let line = |unit: &Unit| text[unit.body_span()].trim_end();
    let mut generated = false;
    let mut hunk_in_file = 0;
    let mut in_hunk = false;
    let mut files = 0;
    let mut hunks = 0;
    let mut at = 0;
    while at < units.len() {
        let words = line(&units[at]);
        if words.starts_with("@@ ") {
            hunk_in_file += 1;
            hunks += 1;
            in_hunk = true;
            let end = (at + 1..units.len())
                .find(|&next| {
                    let words = line(&units[next]);
                    words.starts_with("@@ ")
                        || words.starts_with("diff ")
                        || words.starts_with("Index: ")
                })
                .unwrap_or(units.len());
            let rank = hunk_rank(hunk_in_file, end - at, generated);
            units[at].rank(if generated { 300 } else { 4_000 });
            for unit in &mut units[at + 1..end] {
                unit.rank(rank);
            }
            at = end;
            continue;
        }
        if words.starts_with("diff ")
            || words.starts_with("Index: ")
            || (words.starts_with("--- ") && in_hunk)
        {
            hunk_in_file = 0;
            in_hunk = false;
            files += 1;
            generated = GENERATED.iter().any(|ending| words.ends_with(ending));
        }
        let rank = if is_file_header(words) && !words.starts_with("index ") {
            8_000
        } else {
            600
        };
        units[at].rank(rank);
        at += 1;
    }
    let mut layout = Layout::new(OutputKind::Diff, splitting, units);
    layout.about =
        format!(" diff of {files} file(s) and {hunks} hunk(s), no longer a patch that applies");
    layout
}

fn hunk_rank(nth: u32, lines: usize, generated: bool) -> u32 {
    let size = u32::try_from(lines / 20).unwrap_or(u32::MAX).min(20);
    let rank = 2_000 / (2 + nth + size);
    if generated { rank / 20 + 1 } else { rank }
}

#[cfg(test)]
mod tests {
    use crate::{Budget, OutputKind, condense};

    fn patch(files: usize, hunks: usize, lines: usize) -> String {
        let mut text = String::new();
        for file in 0..files {
            text += &format!(
                "diff --git a/src/f{file}.rs b/src/f{file}.rs\nindex 11{file}..22{file} 100644\n--- a/src/f{file}.rs\n+++ b/src/f{file}.rs\n"
            );
            for hunk in 0..hunks {
                text += &format!("@@ -{hunk}0,{lines} +{hunk}0,{lines} @@ fn f{hunk}()\n");
                for line in 0..lines {
                    text += &format!(
                        "{}    let value_{line} = compute({file}, {hunk});\n",
                        ['+', '-', ' '][line % 3]
                    );
                }
            }
        }
        text
    }

    #[test]
    fn every_file_and_hunk_header_stays() {
        let text = patch(6, 3, 40);
        let condensed = condense(&text, &Budget::chars(4_000)).expect("over budget");
        assert_eq!(condensed.kind, OutputKind::Diff);
        let out = condensed.render(&text);
        for header in text.lines().filter(|line| {
            line.starts_with("diff ") || line.starts_with("@@") || line.starts_with("+++")
        }) {
            assert!(out.contains(header), "{header}");
        }
        assert!(
            out.starts_with("[Shortened diff of 6 file(s) and 18 hunk(s)"),
            "{out}"
        );
    }

    #[test]
    fn a_cut_inside_a_hunk_is_marked_in_its_place() {
        let text = patch(1, 1, 400);
        let out = condense(&text, &Budget::chars(2_000))
            .expect("over budget")
            .render(&text);
        let mark = out
            .lines()
            .position(|line| line.starts_with("[… ") && line.contains("of the diff"))
            .expect("a mark");
        assert!(
            out.lines()
                .position(|line| line.starts_with("@@"))
                .expect("the hunk")
                < mark
        );
    }

    #[test]
    fn a_lock_file_gives_way_to_code() {
        let lock = patch(1, 4, 100).replace("f0.rs", "Cargo.lock");
        let text = lock + &patch(1, 1, 20).replace("compute", "chosen");
        let out = condense(&text, &Budget::chars(3_000))
            .expect("over budget")
            .render(&text);
        assert_eq!(out.matches("chosen").count(), 20);
    }
}
