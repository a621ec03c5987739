//! Notices that the configuration changed (the file, the files that it names, or SIGHUP) and takes it over.
//!
//! The files are checked twice a second. Notifications of the system would need a watch on their folder, where
//! the ledger's own file is by default: every write to it would be reported too.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::command_error::CommandError;
use secateur_proxy::Log;
use secateur_proxy::Proxy;
use secateur_proxy::config::Config;

/// How often the files are checked.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Files are written in several steps. One that stays the same for so long is taken to be done.
const SETTLE: Duration = Duration::from_millis(150);

/// How often files are given time to settle.
const MAX_LOOKS: usize = 20;

/// Distinguishes two states of a file; `None`: it does not exist.
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

/// Watches files.
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

    /// Waits for the next change. Nothing is lost if nobody waits to the end.
    pub(super) async fn next(&mut self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let now = self.read_states().await;
            if now != self.known {
                self.known = now;
                return;
            }
        }
    }

    /// Reads the files between two checks at which they are the same. `None`: they went on changing, and the next
    /// check will find a change.
    async fn read_settled<T>(&mut self, read: impl Fn() -> T) -> Option<T> {
        let mut then = self.read_states().await;
        for _ in 0..MAX_LOOKS {
            tokio::time::sleep(SETTLE).await;
            let now = self.read_states().await;
            if now == then {
                let found = read();
                then = self.read_states().await;
                if now == then {
                    self.known = now;
                    return Some(found);
                }
            } else {
                then = now;
            }
        }
        None
    }

    /// The files of a new configuration. What was known of some of them was known before they were read.
    fn followed_by(&self, path: &Path, config: &Config) -> Self {
        let mut next = Self::watch(path, config);
        for (file, known) in next.files.iter().zip(&mut next.known) {
            if let Some(at) = self.files.iter().position(|earlier| earlier == file) {
                known.clone_from(&self.known[at]);
            }
        }
        next
    }

    /// Off the threads that answer requests: a file may be on a slow disk.
    async fn read_states(&self) -> Vec<State> {
        let files = Arc::clone(&self.files);
        let states = tokio::task::spawn_blocking(move || states(&files)).await;
        states.unwrap_or_else(|_| self.known.clone())
    }
}

fn states(files: &[PathBuf]) -> Vec<State> {
    files.iter().map(|file| Stamp::of(file)).collect()
}

/// Takes the files over as they are once they have settled, or says why not.
pub(super) async fn reload(
    proxy: &Proxy,
    read: impl Fn() -> Result<Config, CommandError>,
    path: &Path,
    log: &Log,
    changes: &mut Option<Changes>,
) {
    let watched = changes.get_or_insert_with(|| Changes::watch(path, &proxy.config()));
    let refused = |reason: String| {
        log.line("error", "config_refused", &[("reason", reason.into())]);
    };
    let config = match watched.read_settled(read).await {
        Some(Ok(config)) => config,
        Some(Err(error)) => {
            proxy.refused_reload();
            return refused(match error {
                CommandError::Config(error) => error.brief(),
                error => error.to_string(),
            });
        }
        None => {
            proxy.refused_reload();
            let words = "the file goes on changing: it is read once it stays the same";
            return refused(format!("{}: {words}", path.display()));
        }
    };
    let next = watched.followed_by(path, &config);
    match proxy.reload(config) {
        Ok(ignored) => {
            *watched = next;
            log.line("info", "config_reloaded", &[]);
            if !ignored.is_empty() {
                let settings = ignored.join(", ").into();
                let until = "until a restart".into();
                log.line(
                    "warn",
                    "config_ignored",
                    &[("settings", settings), ("stays", until)],
                );
            }
        }
        Err(error) => refused(format!("{}: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn is_noticed(changes: &mut Changes) -> bool {
        let wait = LOOK_EVERY * 2;
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

    #[tokio::test]
    async fn a_file_is_read_between_two_looks_at_which_it_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secateur.toml");
        std::fs::write(&file, "0").unwrap();
        let mut changes = Changes::of([file.clone()].into());
        let reads = std::cell::Cell::new(0);
        // It changes under the first two reads.
        let read = || {
            let text = std::fs::read_to_string(&file).unwrap();
            reads.set(reads.get() + 1);
            if reads.get() < 3 {
                std::fs::write(&file, "x".repeat(reads.get())).unwrap();
            }
            text
        };
        assert_eq!(changes.read_settled(read).await.as_deref(), Some("xx"));
        // It changes under all of them.
        let always = || {
            reads.set(reads.get() + 1);
            std::fs::write(&file, "x".repeat(reads.get())).unwrap();
        };
        assert_eq!(changes.read_settled(always).await, None);
        assert!(reads.get() <= 3 + MAX_LOOKS);
        assert!(is_noticed(&mut changes).await);
    }
}
