//! Directory listings (`ls -l`, `find`, `tree`): every directory shows some of its entries.

use std::collections::HashMap;

use super::Layout;
use super::sample::Sample;
use crate::OutputKind;
use crate::units::{Splitting, split_lines};

pub(super) fn is_listing(sample: &Sample<'_>) -> bool {
    sample.percent(8, |line| {
        is_long_entry(line)
            || is_tree_entry(line)
            || is_bare_path(line)
            || is_directory_heading(line)
    }) >= 85
}

/// `drwxr-xr-x 2 root root 4096 …`
fn is_long_entry(line: &str) -> bool {
    let mode = line.trim_start().as_bytes();
    mode.len() > 10
        && matches!(mode[0], b'-' | b'd' | b'l' | b'c' | b'b' | b'p' | b's')
        && mode[1..10]
            .iter()
            .all(|byte| matches!(byte, b'r' | b'w' | b'x' | b'-' | b's' | b'S' | b't' | b'T'))
        || line.starts_with("total ")
}

fn is_tree_entry(line: &str) -> bool {
    line.contains("├── ") || line.contains("└── ") || line.contains("|-- ") || line.contains("`-- ")
}

/// One path and nothing else.
fn is_bare_path(line: &str) -> bool {
    let path = line.trim();
    !path.contains(char::is_whitespace)
        && (path.contains('/') || path.contains('.'))
        && !path.contains(['(', ')', '{', '}', ';', ',', '=', '"', '<', '>', ':'])
        && !path
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
}

fn is_directory_heading(line: &str) -> bool {
    line.strip_suffix(':')
        .is_some_and(|path| path.contains('/') && !path.contains(' ') && path.len() < 400)
}

pub(super) fn read(text: &str, splitting: Splitting) -> Layout {
    let mut units = split_lines(text, splitting);
    let mut seen: HashMap<String, u32> = HashMap::new();
    let mut heading = String::new();
    let mut entries = 0;
    let last = units.len().saturating_sub(3);
    for (index, unit) in units.iter_mut().enumerate() {
        let line = text[unit.body_span()].trim_end();
        if line.is_empty() {
            continue;
        }
        if is_directory_heading(line) {
            heading = line.to_owned();
            unit.rank(6_000);
            continue;
        }
        entries += 1;
        let directory = directory_of(line, &heading);
        let depth = u32::try_from(directory.matches(['/', '\u{1}']).count())
            .unwrap_or(u32::MAX)
            .min(12);
        let nth = seen.entry(directory).or_default();
        *nth += 1;
        let is_directory =
            line.trim_start().starts_with('d') && is_long_entry(line) || line.ends_with('/');
        let mut rank = 6_000 / (*nth + depth);
        if is_directory || index >= last {
            rank += 2_000 / (1 + depth);
        }
        unit.rank(rank.max(1));
    }
    let mut layout = Layout::new(OutputKind::Listing, splitting, units);
    layout.about = format!(" listing of {entries} entries in {} place(s)", seen.len());
    layout
}

/// What an entry is listed under: its path's parent, its tree branch's depth, or the last heading.
fn directory_of(line: &str, heading: &str) -> String {
    if is_tree_entry(line) {
        let depth = line
            .find(|c: char| c.is_alphanumeric() || c == '.')
            .unwrap_or(0)
            / 6;
        return "\u{1}".repeat(depth.min(12));
    }
    if is_long_entry(line) {
        return heading.to_owned();
    }
    let path = line.trim().trim_end_matches('/');
    path.rfind('/')
        .map_or_else(|| heading.to_owned(), |end| path[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use crate::{Budget, OutputKind, condense};

    #[test]
    fn each_directory_of_a_find_keeps_an_entry() {
        let mut text = String::new();
        for directory in 0..15 {
            for file in 0..60 {
                text += &format!("./src/part{directory}/file_{file}.rs\n");
            }
        }
        let condensed = condense(&text, &Budget::chars(2_000)).expect("over budget");
        assert_eq!(condensed.kind, OutputKind::Listing);
        let out = condensed.render(&text);
        for directory in 0..15 {
            assert!(
                out.contains(&format!("./src/part{directory}/file_0.rs")),
                "{directory}"
            );
        }
        assert!(out.contains("listing of 900 entries"));
    }

    #[test]
    fn long_listings_and_trees_are_listings_too() {
        let long: String = (0..200)
            .map(|n| format!("-rw-r--r-- 1 root root {n} Nov 16 01:48 file{n}.txt\n"))
            .collect();
        let tree: String = (0..200).map(|n| format!("│   ├── file{n}.txt\n")).collect();
        for text in [long, tree] {
            assert_eq!(
                condense(&text, &Budget::chars(1_000))
                    .expect("over budget")
                    .kind,
                OutputKind::Listing
            );
        }
    }
}
