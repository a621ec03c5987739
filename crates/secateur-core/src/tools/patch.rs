//! The files that a patch in codex's own form changes.

const HEADERS: [&str; 3] = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];

/// The file that a patch changes, if it is one.
pub(crate) fn only_file(patch: &str) -> Option<&str> {
    if !patch.trim_start().starts_with("*** Begin Patch") {
        return None;
    }
    let mut files = patch.lines().filter_map(file_of);
    let first = files.next()?;
    files.all(|file| file == first).then_some(first)
}

/// The file that a header names.
fn file_of(line: &str) -> Option<&str> {
    let file = HEADERS.iter().find_map(|header| line.strip_prefix(header));
    file.map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_is_named_and_several_are_not() {
        let patch = |files: &[&str]| {
            let hunks: String = files
                .iter()
                .map(|file| format!("*** Update File: {file}\n@@\n-a\n+b\n"))
                .collect();
            format!("*** Begin Patch\n{hunks}*** End Patch")
        };
        assert_eq!(only_file(&patch(&["src/a.rs"])), Some("src/a.rs"));
        assert_eq!(only_file(&patch(&["a", "a"])), Some("a"));
        assert_eq!(only_file(&patch(&["a", "b"])), None);
        assert_eq!(only_file(&patch(&[])), None);
        assert_eq!(only_file("*** Update File: a"), None);
    }
}
