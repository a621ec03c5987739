//! Notices that the configuration changed: the file, the files that it names, or SIGHUP.
//!
//! The files are looked at twice a second. Being told by the system would mean to watch their folder, where
//! the ledger's own file is by default: every write to it would be told as well.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Editors write a file in several steps.
const SETTLE: Duration = Duration::from_millis(150);

/// What tells one state of a file from another; `None`: it is not there.
type State = Option<Stamp>;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<std::time::SystemTime>,
    /// A file in another's place, also with the other's time.
    #[cfg(unix)]
    identity: (u64, u64, i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> State {
        let metadata = std::fs::metadata(path).ok()?;
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt;
            let of = &metadata;
            (of.dev(), of.ino(), of.ctime(), of.ctime_nsec())
        };
        Some(Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            identity,
        })
    }
}

/// Looks at files.
#[derive(Debug)]
pub(super) struct Changes {
    files: Arc<[PathBuf]>,
    known: Vec<State>,
}

impl Changes {
    /// Remembers the files as they are now.
    pub(super) fn watch(path: &Path, config: &Config) -> Self {
        let files: BTreeSet<PathBuf> = config
            .files
            .iter()
            .cloned()
            .chain([path.to_owned()])
            .collect();
        Self::of(files.into_iter().collect())
    }

    fn of(files: Arc<[PathBuf]>) -> Self {
        let known = states(&files);
        Self { files, known }
    }

    /// Waits for the next change, and until it has settled. Nothing is lost if nobody waits to the end.
    pub(super) async fn next(&mut self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let mut now = self.look().await;
            if now == self.known {
                continue;
            }
            loop {
                tokio::time::sleep(SETTLE).await;
                let then = std::mem::replace(&mut now, self.look().await);
                if then == now {
                    self.known = now;
                    return;
                }
            }
        }
    }

    /// Off the threads that answer requests: a file may lie on a slow disk.
    async fn look(&self) -> Vec<State> {
        let files = Arc::clone(&self.files);
        let looked = tokio::task::spawn_blocking(move || states(&files)).await;
        looked.unwrap_or_else(|_| self.known.clone())
    }
}

fn states(files: &[PathBuf]) -> Vec<State> {
    files.iter().map(|file| Stamp::of(file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn is_noticed(changes: &mut Changes) -> bool {
        let wait = LOOK_EVERY + SETTLE * 4;
        tokio::time::timeout(wait, changes.next()).await.is_ok()
    }

    #[tokio::test]
    async fn a_file_that_is_written_replaced_or_gone_is_noticed_and_its_neighbours_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secateur.toml");
        std::fs::write(&file, "one").unwrap();
        let mut changes = Changes::of([file.clone()].into());
        std::fs::write(folder.path().join("ledger.db"), "a row").unwrap();
        assert!(!is_noticed(&mut changes).await);
        std::fs::write(&file, "two").unwrap();
        assert!(is_noticed(&mut changes).await);
        let new = folder.path().join("new");
        std::fs::write(&new, "six").unwrap();
        std::fs::rename(&new, &file).unwrap();
        assert!(is_noticed(&mut changes).await);
        std::fs::remove_file(&file).unwrap();
        assert!(is_noticed(&mut changes).await);
        assert!(!is_noticed(&mut changes).await);
    }
}
