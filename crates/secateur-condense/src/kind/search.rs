//! Search results (`path:12:text`): every file is named before any file is shown at length.

use std::collections::HashMap;

use super::Layout;
use super::sample::Sample;
use crate::OutputKind;
use crate::units::{Splitting, split_lines};

pub(super) fn is_search_result(sample: &Sample<'_>) -> bool {
    sample.percent(4, |line| line == "--" || path_of(line).is_some()) >= 85
        // Compilers also begin lines with a place; they say what is wrong there.
        && sample.percent(4, |line| line.contains(": error") || line.contains(": warning")) < 10
}

/// The path before `:12:` or, in context lines, `-12-`.
fn path_of(line: &str) -> Option<&str> {
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len().min(300) {
        if matches!(bytes[at], b':' | b'-') && at > 0 {
            let digits = bytes[at + 1..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            if digits > 0
                && bytes.get(at + 1 + digits) == Some(&bytes[at])
                && looks_like_path(&line[..at])
            {
                return Some(&line[..at]);
            }
        }
        at += 1;
    }
    // `grep` without line numbers.
    let (path, _) = line.split_once(':')?;
    (looks_like_path(path) && path.contains('/')).then_some(path)
}

fn looks_like_path(path: &str) -> bool {
    !path.starts_with(char::is_whitespace)
        && path.len() < 260
        && (path.contains(['/', '\\']) || path.contains('.'))
        && !path.contains("://")
        && !path.contains(['(', '"', '<', '{'])
}

pub(super) fn read(text: &str, splitting: Splitting) -> Layout {
    let mut units = split_lines(text, splitting);
    let mut matches: HashMap<&str, u32> = HashMap::new();
    let mut files = 0;
    for unit in &mut units {
        let line = &text[unit.body_span()];
        let Some(path) = path_of(line) else {
            unit.rank(1);
            continue;
        };
        let seen = matches.entry(path).or_default();
        *seen += 1;
        files += u32::from(*seen == 1);
        unit.rank(8_000 / (*seen * *seen).min(8_000));
    }
    let mut layout = Layout::new(OutputKind::SearchResult, splitting, units);
    layout.about = format!(" search result in {files} file(s)");
    layout
}

#[cfg(test)]
mod tests {
    use crate::{Budget, OutputKind, condense};

    #[test]
    fn every_file_is_named_even_after_a_busy_one() {
        let mut text: String = (1..400)
            .map(|line| format!("src/busy.rs:{line}:    let needle = {line};\n"))
            .collect();
        for file in 0..20 {
            text += &format!("src/quiet{file}.rs:7:    use needle;\n");
        }
        let condensed = condense(&text, &Budget::chars(2_000)).expect("over budget");
        assert_eq!(condensed.kind, OutputKind::SearchResult);
        let out = condensed.render(&text);
        for file in 0..20 {
            assert!(out.contains(&format!("src/quiet{file}.rs:7:")), "{file}");
        }
        assert!(out.contains("src/busy.rs:1:"));
        assert!(out.contains("search result in 21 file(s)"));
    }
}
