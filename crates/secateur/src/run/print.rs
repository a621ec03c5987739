//! `secateur run --print`: what would be set, as a command line to read.

use std::ffi::OsString;
use std::path::Path;

use super::setup::Setup;
use crate::Failure;
use crate::input::say;

/// Shows the setup with the workload's usual base URL.
pub(super) fn print(
    program: &Path,
    given: &[OsString],
    setup: &Setup,
    workload: &str,
) -> Result<(), Failure> {
    let base = format!("http://127.0.0.1:PORT/w/{workload}");
    for note in &setup.notes {
        say!("# {note}")?;
    }
    for (provider, upstream) in &setup.upstreams {
        say!(
            "# the proxy sends requests for {} to {upstream}",
            provider.name()
        )?;
    }
    for ((_, text), file) in setup.files.iter().zip(setup.shown_files()) {
        say!("# {} (temporary):", file.display())?;
        for line in text.fill(&base, "").lines() {
            say!("#   {line}")?;
        }
    }
    for (name, text) in &setup.variables {
        say!("{name}={} \\", quoted(&text.fill(&base, "")))?;
    }
    let own = setup
        .arguments
        .iter()
        .map(|text| text.fill(&base, "TEMPORARY"));
    let given = given
        .iter()
        .map(|argument| argument.to_string_lossy().into_owned());
    let words: Vec<String> = own.chain(given).map(|word| quoted(&word)).collect();
    say!(
        "{} {}",
        quoted(&program.display().to_string()),
        words.join(" ")
    )
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell_where_they_need_it() {
        assert_eq!(quoted("http://127.0.0.1:1/w/a"), "http://127.0.0.1:1/w/a");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
