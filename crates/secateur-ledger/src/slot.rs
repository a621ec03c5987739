//! One process's own folder in the spool folder. Several processes may share a spool folder: each takes
//! the first slot that is free, holds its lock while it lives, and looks after what the dead left behind.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::private;

const MAX_SLOTS: usize = 256;
const ENDING: &str = "spool";
/// What names of slots begin with.
pub(crate) const SLOT: &str = "slot-";

#[derive(Debug)]
pub(crate) struct Slot {
    root: PathBuf,
    pub(crate) folder: PathBuf,
    /// Unlocked by the system when the process ends, however it ends.
    _lock: File,
}

impl Slot {
    pub(crate) fn take(root: &Path) -> io::Result<Self> {
        for number in 0..MAX_SLOTS {
            let folder = root.join(format!("{SLOT}{number}"));
            private::create_folder(&folder, |_| true)?;
            if let Some(lock) = lock(&folder)? {
                return Ok(Self {
                    root: root.to_owned(),
                    folder,
                    _lock: lock,
                });
            }
        }
        Err(io::Error::other(format!(
            "all {MAX_SLOTS} slots are in use"
        )))
    }

    /// Moves the segments of processes that are gone into this slot; where they are now.
    pub(crate) fn adopt(&self) -> io::Result<Vec<PathBuf>> {
        let mut adopted = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let folder = entry?.path();
            if folder == self.folder || !folder.is_dir() || segments(&folder)?.is_empty() {
                continue;
            }
            let Some(_lock) = lock(&folder)? else {
                continue;
            };
            for segment in segments(&folder)? {
                if let Some(name) = segment.file_name() {
                    // Slots differ in name, so the names of segments cannot clash once they carry it.
                    let from = folder.file_name().unwrap_or_default().to_string_lossy();
                    let name = format!(
                        "{}-of-{from}.{ENDING}",
                        Path::new(name)
                            .file_stem()
                            .unwrap_or_default()
                            .to_string_lossy()
                    );
                    let own = self.folder.join(name);
                    fs::rename(&segment, &own)?;
                    private::narrow_file(&own);
                    adopted.push(own);
                }
            }
        }
        Ok(adopted)
    }
}

fn lock(folder: &Path) -> io::Result<Option<File>> {
    let path = folder.join("lock");
    let file = private::file_options()
        .create(true)
        .append(true)
        .open(&path)?;
    private::narrow_file(&path);
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Oldest first: names begin with the time.
pub(crate) fn segments(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == ENDING) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// A name that sorts after all earlier ones of this slot.
pub(crate) fn segment_name(folder: &Path, now: i64, count: u64) -> PathBuf {
    folder.join(format!(
        "{now:015}-{count:06}-{}.{ENDING}",
        std::process::id()
    ))
}
