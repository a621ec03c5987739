//! Summaries by the content they stand for: bounded, and on disk where a folder is configured.
//!
//! **Invariant:** the first answer under a key stays. Proxies that share a folder agree on it, because
//! a file is put there whole and never over another.

use std::collections::HashMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use secateur_core::summary::{Found, Summaries, SummaryKey};
use secateur_ledger::private;

/// What a declined key is written as. No summary is empty.
const DECLINED: &str = "";
/// What an entry costs besides its text.
const ENTRY_BYTES: usize = 128;

/// See the module.
#[derive(Debug)]
pub(crate) struct SummaryCache {
    entries: Mutex<Entries>,
    max_bytes: usize,
    folder: Option<PathBuf>,
    on_disk: AtomicU64,
    written: AtomicU64,
}

#[derive(Debug, Default)]
struct Entries {
    by_key: HashMap<(Arc<str>, SummaryKey), Entry>,
    bytes: usize,
    uses: u64,
}

#[derive(Debug)]
struct Entry {
    found: Found,
    last_use: u64,
}

fn size(found: &Found) -> usize {
    match found {
        Found::Ready(text) => ENTRY_BYTES + text.len(),
        _ => ENTRY_BYTES,
    }
}

impl Entries {
    fn get(&mut self, place: &(Arc<str>, SummaryKey)) -> Option<Found> {
        self.uses += 1;
        let entry = self.by_key.get_mut(place)?;
        entry.last_use = self.uses;
        Some(entry.found.clone())
    }

    /// Keeps an answer, if there is none yet, and gives what is there.
    fn put(&mut self, place: (Arc<str>, SummaryKey), found: Found, max_bytes: usize) -> Found {
        if let Some(first) = self.get(&place) {
            return first;
        }
        self.bytes += size(&found);
        let last_use = self.uses;
        let entry = Entry {
            found: found.clone(),
            last_use,
        };
        self.by_key.insert(place, entry);
        if self.bytes > max_bytes {
            self.evict(max_bytes);
        }
        found
    }

    /// Lets go of what was not used for longest, down to three quarters.
    fn evict(&mut self, max_bytes: usize) {
        let mut by_age: Vec<_> = self
            .by_key
            .iter()
            .map(|(place, entry)| (entry.last_use, place.clone()))
            .collect();
        by_age.sort_unstable_by_key(|(last_use, _)| *last_use);
        for (_, place) in by_age {
            if self.bytes <= max_bytes / 4 * 3 {
                return;
            }
            if let Some(entry) = self.by_key.remove(&place) {
                self.bytes -= size(&entry.found);
            }
        }
    }
}

impl SummaryCache {
    /// A cache of at most so many bytes, in memory and on disk each.
    pub(crate) fn new(max_bytes: usize, folder: Option<PathBuf>) -> Self {
        Self {
            entries: Mutex::default(),
            max_bytes,
            folder,
            on_disk: AtomicU64::new(0),
            written: AtomicU64::new(0),
        }
    }

    /// Makes the folder, and takes away what is too much in it.
    ///
    /// # Errors
    /// The folder cannot be made or read. Summaries are kept in memory until it can.
    pub(crate) fn prepare(&self) -> std::io::Result<()> {
        match &self.folder {
            Some(folder) => {
                private::create_folder(folder, is_own_file).and_then(|()| self.trim(folder))
            }
            None => Ok(()),
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known in memory.
    pub(super) fn known(&self, place: &(Arc<str>, SummaryKey)) -> Option<Found> {
        self.entries().get(place)
    }

    fn find(&self, place: (Arc<str>, SummaryKey)) -> Found {
        if let Some(found) = self.entries().get(&place) {
            return found;
        }
        let on_disk = self
            .folder
            .as_deref()
            .and_then(|folder| read(&folder.join(file_name(&place))));
        match on_disk {
            Some(found) => self.entries().put(place, found, self.max_bytes),
            None => Found::Missing,
        }
    }

    /// Settles what is known under a key, unless it is settled, and gives what is known.
    pub(crate) async fn settle(
        self: &Arc<Self>,
        workload: &Arc<str>,
        key: SummaryKey,
        found: Found,
    ) -> Found {
        let place = (Arc::clone(workload), key);
        if self.folder.is_none() {
            return self.entries().put(place, found, self.max_bytes);
        }
        let (this, fallback) = (Arc::clone(self), found.clone());
        let settled = tokio::task::spawn_blocking(move || this.settle_on_disk(place, found)).await;
        settled.unwrap_or(fallback)
    }

    fn settle_on_disk(&self, place: (Arc<str>, SummaryKey), found: Found) -> Found {
        if let Some(first) = self.entries().get(&place) {
            return first;
        }
        let first = match self.folder.as_deref() {
            // A disk that cannot be written costs the next restart its summaries and nothing else.
            Some(folder) => self.write(folder, &place, &found).unwrap_or(found),
            None => found,
        };
        self.entries().put(place, first, self.max_bytes)
    }

    /// Puts a file in place unless there is one, and gives what stands there.
    fn write(
        &self,
        folder: &Path,
        place: &(Arc<str>, SummaryKey),
        found: &Found,
    ) -> std::io::Result<Found> {
        let text = match found {
            Found::Ready(text) => text,
            _ => DECLINED,
        };
        if !folder.is_dir() {
            private::create_folder(folder, is_own_file)?;
        }
        let path = folder.join(file_name(place));
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let draft = folder.join(format!("{}.{number}.draft", std::process::id()));
        // Summaries tell of prompts: they are for the proxy's own user.
        let mut file = private::file_options()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&draft)?;
        file.write_all(text.as_bytes())?;
        drop(file);
        // A link fails where a rename would replace.
        let linked = std::fs::hard_link(&draft, &path);
        // A draft that stays is taken away by the next trim.
        let _ = std::fs::remove_file(&draft);
        match linked {
            Ok(()) => {
                let written = self.on_disk.fetch_add(text.len() as u64, Ordering::Relaxed);
                if written + text.len() as u64 > self.max_bytes as u64 {
                    self.trim(folder)?;
                }
                Ok(found.clone())
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                read(&path).ok_or_else(|| ErrorKind::NotFound.into())
            }
            Err(error) => Err(error),
        }
    }

    /// Takes the oldest files away, down to three quarters, and drafts of proxies that died.
    fn trim(&self, folder: &Path) -> std::io::Result<()> {
        let mut files = Vec::new();
        for file in std::fs::read_dir(folder)? {
            let file = file?;
            let (path, about) = (file.path(), file.metadata()?);
            let modified = about.modified()?;
            if path.extension().is_some_and(|end| end == "draft") {
                let is_old = modified.elapsed().is_ok_and(|age| age.as_secs() > 60);
                if is_old {
                    let _ = std::fs::remove_file(path);
                }
            } else if path.extension().is_some_and(|end| end == "summary") {
                files.push((modified, about.len(), path));
            }
        }
        let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        if total > self.max_bytes as u64 {
            files.sort_unstable();
            for (_, bytes, path) in files {
                if total <= self.max_bytes as u64 / 4 * 3 {
                    break;
                }
                if std::fs::remove_file(path).is_ok() {
                    total -= bytes;
                }
            }
        }
        self.on_disk.store(total, Ordering::Relaxed);
        Ok(())
    }
}

/// A workload's name has no separators.
fn file_name((workload, key): &(Arc<str>, SummaryKey)) -> String {
    format!("{key}.{workload}.summary")
}

/// Whether a file is one that this module writes.
fn is_own_file(name: &str) -> bool {
    name.ends_with(".summary") || name.ends_with(".draft")
}

fn read(path: &Path) -> Option<Found> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(match text.as_str() {
        DECLINED => Found::Declined,
        text => Found::Ready(text.into()),
    })
}

/// The summaries of one workload.
#[derive(Clone, Debug)]
pub(crate) struct Scoped {
    cache: Arc<SummaryCache>,
    workload: Arc<str>,
}

impl Scoped {
    pub(crate) fn new(cache: &Arc<SummaryCache>, workload: &Arc<str>) -> Self {
        Self {
            cache: Arc::clone(cache),
            workload: Arc::clone(workload),
        }
    }
}

impl Summaries for Scoped {
    fn find(&self, key: &SummaryKey) -> Found {
        self.cache.find((Arc::clone(&self.workload), *key))
    }
}

#[cfg(test)]
mod tests;
