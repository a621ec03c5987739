//! Whether an open SQLite ledger is still the file at its path. A file that was removed or replaced takes rows as
//! before, and nobody ever finds them.

use std::path::Path;

use crate::error::LedgerError;
use crate::store::Address;

/// The file that a path led to when it was opened; nothing for a database that is no file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenFile(Option<FileId>);

#[cfg(unix)]
type FileId = (u64, u64);
#[cfg(not(unix))]
type FileId = std::convert::Infallible;

#[cfg(unix)]
fn id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// Files in use cannot be removed there.
#[cfg(not(unix))]
fn id(_: &Path) -> Option<FileId> {
    None
}

fn file(address: &Address) -> Option<&Path> {
    match address {
        Address::Sqlite(path) => Some(path),
        Address::Postgres(..) => None,
    }
}

impl OpenFile {
    /// To be asked as soon as it is open.
    pub(crate) fn of(address: &Address) -> Self {
        Self(file(address).and_then(id))
    }

    /// # Errors
    /// It is another file by now, or none.
    pub(crate) fn check(self, address: &Address) -> Result<(), LedgerError> {
        let (Some(opened), Some(path)) = (self.0, file(address)) else {
            return Ok(());
        };
        if id(path) == Some(opened) {
            return Ok(());
        }
        Err(LedgerError::Unreachable(format!(
            "the file {} was removed or replaced while it was in use",
            path.display()
        )))
    }

    /// Whether there was a file, and now there is none at all.
    pub(crate) fn is_gone(self, address: &Address) -> bool {
        self.0.is_some() && file(address).is_some_and(|path| !path.exists())
    }

    /// Takes away what SQLite shared between those who had the removed file open, so that nothing of it is mixed with
    /// the new one.
    pub(crate) fn clear_rest(self, address: &Address) {
        if let Some(path) = file(address).filter(|_| self.is_gone(address)) {
            for ending in ["-shm", "-wal"] {
                let mut name = path.as_os_str().to_owned();
                name.push(ending);
                // Mostly they went with it.
                let _ = std::fs::remove_file(name);
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_again_until_it_is_removed_or_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l.db");
        std::fs::write(&path, "1").unwrap();
        let address = Address::Sqlite(path.clone());
        let open = OpenFile::of(&address);
        std::fs::write(&path, "12").unwrap();
        assert!(open.check(&address).is_ok() && !open.is_gone(&address));
        // Beside it, so that the new one cannot have its place on the disk.
        std::fs::write(folder.path().join("new"), "1").unwrap();
        std::fs::rename(folder.path().join("new"), &path).unwrap();
        assert!(open.check(&address).is_err() && !open.is_gone(&address));
        std::fs::remove_file(&path).unwrap();
        assert!(open.check(&address).is_err() && open.is_gone(&address));
        assert!(OpenFile::default().check(&address).is_ok());
    }
}
