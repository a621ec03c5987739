//! The logs and files to replay, one unit of work at a time, so that memory holds one session per thread.

use std::path::PathBuf;

use secateur_replay::{Found, LogFolders, Record, Records, Source, find_file, find_in};

use crate::failure::Failure;

/// One unit of work.
pub(super) enum Unit {
    /// An agent's log.
    Log(Source),
    /// A session of a file that holds several.
    Record(Record),
    /// A file that cannot be read.
    Broken { name: String, reason: String },
}

/// Which logs and files were chosen.
pub(super) fn find(paths: &[PathBuf], since_ms: Option<i64>) -> Result<Found, Failure> {
    if paths.is_empty() {
        let folders = LogFolders::of(|name| std::env::var_os(name));
        let found = folders.find(since_ms);
        return if found.sources.is_empty() && found.unreadable.is_empty() {
            Err(nothing_found(&folders, &found, since_ms))
        } else {
            Ok(found)
        };
    }
    let mut all = Found::default();
    for path in paths {
        let facts = std::fs::metadata(path).map_err(|error| {
            Failure::bad_input(format!("cannot read {}: {error}", path.display()))
        })?;
        let found = if facts.is_dir() {
            Some(find_in(path, since_ms))
        } else {
            find_file(path, since_ms)
        };
        match found {
            Some(found) => all.append(found),
            None => all.records.push(path.clone()),
        }
    }
    all.sort();
    Ok(all)
}

fn nothing_found(folders: &LogFolders, found: &Found, since_ms: Option<i64>) -> Failure {
    if found.older > 0 && since_ms.is_some() {
        let logs = crate::table::counted(found.older as u64, "older log");
        return Failure::bad_input(format!(
            "no log changed in that time; there are {logs}: try --since all"
        ));
    }
    let places: Vec<String> = folders
        .folders()
        .iter()
        .map(|(agent, folder)| format!("  {}: {}", agent.name(), folder.display()))
        .collect();
    Failure::bad_input(format!(
        "no logs of coding agents found; looked in\n{}\nname a folder or files: secateur replay PATH",
        places.join("\n")
    ))
}

/// The units of work of what was found, in order.
pub(super) struct Feed {
    logs: std::vec::IntoIter<Source>,
    records: std::vec::IntoIter<PathBuf>,
    open: Option<Records>,
}

impl Feed {
    pub(super) fn new(found: &Found) -> Self {
        Self {
            logs: found.sources.clone().into_iter(),
            records: found.records.clone().into_iter(),
            open: None,
        }
    }
}

impl Iterator for Feed {
    type Item = Unit;

    fn next(&mut self) -> Option<Unit> {
        if let Some(source) = self.logs.next() {
            return Some(Unit::Log(source));
        }
        loop {
            if let Some(records) = &mut self.open {
                match records.next() {
                    Some(Ok(record)) => return Some(Unit::Record(record)),
                    Some(Err(error)) => {
                        let unit = broken(records.name().to_owned(), &error);
                        self.open = None;
                        return Some(unit);
                    }
                    None => self.open = None,
                }
            }
            let path = self.records.next()?;
            match Records::open(&path) {
                Ok(records) => self.open = Some(records),
                Err(error) => return Some(broken(path.display().to_string(), &error)),
            }
        }
    }
}

fn broken(name: String, error: &std::io::Error) -> Unit {
    Unit::Broken {
        name,
        reason: format!("cannot read it: {error}"),
    }
}
