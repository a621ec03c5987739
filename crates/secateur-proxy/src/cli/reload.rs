//! Notices that the configuration changed: the file, the files that it names, or SIGHUP.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use crate::config::Config;

/// Editors write a file in several steps.
const SETTLE: Duration = Duration::from_millis(150);

/// Watches files. Folders are watched, because editors put a new file in the old one's place.
pub(super) struct Changes {
    receiver: mpsc::Receiver<()>,
    _watcher: Option<RecommendedWatcher>,
}

impl Changes {
    /// Starts watching; where the system cannot, only SIGHUP reloads.
    pub(super) fn watch(path: &Path, config: &Config) -> Self {
        let (sender, receiver) = mpsc::channel(1);
        let files: BTreeSet<PathBuf> = config
            .files
            .iter()
            .cloned()
            .chain([path.to_owned()])
            .map(|path| absolute(&path))
            .collect();
        let folders: BTreeSet<PathBuf> = files
            .iter()
            .filter_map(|file| file.parent().map(Path::to_owned))
            .collect();
        let handler = move |event: notify::Result<Event>| {
            let Ok(event) = event else { return };
            // Reading the file is an event too.
            let is_change = matches!(
                event.kind,
                EventKind::Modify(_) | EventKind::Create(_) | EventKind::Remove(_)
            );
            if is_change
                && event
                    .paths
                    .iter()
                    .any(|path| files.contains(&absolute(path)))
            {
                // One waiting notice is enough.
                let _ = sender.try_send(());
            }
        };
        let watcher = notify::recommended_watcher(handler)
            .ok()
            .and_then(|mut watcher| {
                let watched = folders
                    .iter()
                    .map(|folder| watcher.watch(folder, RecursiveMode::NonRecursive));
                watched.collect::<notify::Result<Vec<()>>>().ok()?;
                Some(watcher)
            });
        Self {
            receiver,
            _watcher: watcher,
        }
    }

    /// Waits for the next change, and until it has settled.
    pub(super) async fn next(&mut self) {
        if self.receiver.recv().await.is_none() {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(SETTLE).await;
            if self.receiver.try_recv().is_err() {
                return;
            }
        }
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
