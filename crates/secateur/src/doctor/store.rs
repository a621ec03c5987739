//! The ledger, and room on its disk.

use std::path::Path;

use secateur_ledger::{Filter, GroupBy, Ledger, LedgerError};
use secateur_proxy::Config;

use super::finding::Finding;
use crate::audit::answer;
use crate::table::counted;

const MB: u64 = 1 << 20;
/// Less is a warning.
const LITTLE_ROOM: u64 = 1024 * MB;
/// Less is an error: rows are lost soon.
const NO_ROOM: u64 = 100 * MB;

pub(super) fn findings(config: &Config) -> Vec<Finding> {
    let Some(ledger) = &config.ledger else {
        let todo = "[ledger] enabled = true";
        return vec![Finding::warning(
            "ledger",
            "off: no savings, no audit, no portal",
            todo,
        )];
    };
    let url = ledger.url.reveal();
    let mut all = vec![rows(url)];
    if let Some(file) = url.strip_prefix("sqlite:") {
        all.extend(disk(Path::new(file)));
    }
    all
}

fn rows(url: &str) -> Finding {
    let file = url.strip_prefix("sqlite:");
    // The address of a server may hold a password.
    let place = file.unwrap_or("PostgreSQL");
    if file.is_some_and(|file| !Path::new(file).exists()) {
        return Finding::ok(
            "ledger",
            format!("{place}: not there yet; the first request makes it"),
        );
    }
    let opened = crate::audit::wait(Ledger::open_for_reading(url, None));
    let ledger = match opened {
        Ok(Ok(ledger)) => ledger,
        Ok(Err(error)) => {
            let todo = match &error {
                LedgerError::OlderSchema { .. } => "move it aside as the message says",
                _ => "check [ledger] in the configuration, and who may read the file",
            };
            return Finding::error("ledger", format!("{place}: {error}"), todo);
        }
        Err(error) => return Finding::error("ledger", error.message, ""),
    };
    match answer(ledger.totals(&Filter::default(), GroupBy::All)) {
        Ok(totals) => {
            let requests = totals.first().map_or(0, |totals| totals.requests);
            Finding::ok(
                "ledger",
                format!("{place}: {}", counted(requests, "request")),
            )
        }
        Err(error) => Finding::error(
            "ledger",
            error.message,
            "restore the file from a backup, or move it away",
        ),
    }
}

#[cfg(unix)]
fn disk(file: &Path) -> Option<Finding> {
    let there = file.ancestors().skip(1).find(|folder| folder.exists())?;
    let stats = rustix::fs::statvfs(there).ok()?;
    Some(room(there, stats.f_bavail.saturating_mul(stats.f_frsize)))
}

#[cfg(not(unix))]
fn disk(_: &Path) -> Option<Finding> {
    None
}

#[cfg(unix)]
fn room(folder: &Path, free: u64) -> Finding {
    let words = format!("{} MB free at {}", free / MB, folder.display());
    let todo = "make room, or keep fewer days: [ledger] keep_days";
    if free < NO_ROOM {
        Finding::error("disk", words, todo)
    } else if free < LITTLE_ROOM {
        Finding::warning("disk", words, todo)
    } else {
        Finding::ok("disk", words)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::doctor::finding::Grade;

    #[test]
    fn little_room_is_a_warning_and_none_an_error() {
        let grade = |free| room(Path::new("/"), free).grade;
        assert_eq!(grade(10 * MB), Grade::Error);
        assert_eq!(grade(500 * MB), Grade::Warning);
        assert_eq!(grade(5000 * MB), Grade::Ok);
    }

    #[test]
    fn a_ledger_that_is_not_there_yet_is_fine_and_one_that_is_none_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("l.db");
        let url = format!("sqlite:{}", file.display());
        assert_eq!(rows(&url).grade, Grade::Ok);
        std::fs::write(
            &file,
            "not a database, but a text that is long enough to be read as one".repeat(99),
        )
        .unwrap();
        assert_eq!(rows(&url).grade, Grade::Error);
    }
}
