//! A workload's policy tables as a text of their own, with every line where it was.
//!
//! The policy reader names the line of what is wrong. It gets the file with all other lines
//! emptied, so that its line numbers are the file's.

/// The text of `[workload.<name>.policy]` and the tables below it. `None` when the tables are not
/// written with headers of their own (dotted keys, inline tables).
pub(super) fn policy_text(text: &str, workload: &str, expected: &toml::Table) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut is_inside = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if let Some(header) = trimmed.strip_prefix('[') {
            match below_policy(header, workload) {
                Some("") => is_inside = true,
                Some(rest) => {
                    is_inside = true;
                    out.push('[');
                    if header.starts_with('[') {
                        out.push('[');
                    }
                    out.push_str(rest);
                }
                None => is_inside = false,
            }
        } else if is_inside {
            out.push_str(line);
        }
        out.push('\n');
    }
    // Multi-line strings and arrays may hold lines that look like headers.
    let is_faithful = out
        .parse::<toml::Table>()
        .is_ok_and(|table| table == *expected);
    is_faithful.then_some(out)
}

/// What a header says below `workload.<name>.policy`, brackets and comment included.
fn below_policy<'h>(header: &'h str, workload: &str) -> Option<&'h str> {
    let header = header.strip_prefix('[').unwrap_or(header);
    let rest = key(header, "workload")?.strip_prefix('.')?;
    let rest = key(rest, workload)?.strip_prefix('.')?;
    let rest = key(rest, "policy")?;
    if rest.starts_with(']') {
        return Some("");
    }
    rest.strip_prefix('.')
}

/// What follows a key that may be quoted.
fn key<'h>(text: &'h str, name: &str) -> Option<&'h str> {
    let text = text.trim_start();
    let rest = match text.strip_prefix('"') {
        Some(quoted) => quoted.strip_prefix(name)?.strip_prefix('"')?,
        None => text.strip_prefix(name)?,
    };
    Some(rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_where_they_were() {
        let text = "listen = \"x\"\n[workload.a]\nbudget_ms = 5\n[workload.a.policy]\npreset = \"p\"\n\n[workload.a.policy.m7] # note\nenabled = true\n[workload.ab.policy.m7]\nenabled = false\n";
        let expected: toml::Table = "preset = \"p\"\n[m7]\nenabled = true\n".parse().unwrap();
        let found = policy_text(text, "a", &expected).unwrap();
        assert_eq!(
            found,
            "\n\n\n\npreset = \"p\"\n\n[m7] # note\nenabled = true\n\n\n"
        );
        assert_eq!(policy_text("x = 1\n", "a", &expected), None);
    }
}
