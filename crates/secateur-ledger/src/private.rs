//! Files and folders that only their owner may read: made so from the start, and narrowed where an earlier version or somebody
//! else made them wider.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

#[cfg(unix)]
const FILE_MODE: u32 = 0o600;
#[cfg(unix)]
const FOLDER_MODE: u32 = 0o700;

/// Files that these options create are the owner's alone.
#[must_use]
pub fn file_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, FILE_MODE);
    options
}

/// Makes a folder, and those above it that are missing. One that is there is narrowed if `is_own` knows every name in it:
/// one that others use too stays as it is.
///
/// # Errors
/// It cannot be made.
pub fn create_folder(path: &Path, is_own: impl Fn(&str) -> bool) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, FOLDER_MODE);
    builder.create(path)?;
    let is_known = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(&is_own))
    };
    if fs::read_dir(path)?.all(is_known) {
        #[cfg(unix)]
        narrow(path, FOLDER_MODE);
    }
    Ok(())
}

/// Makes an empty file where there is none, and narrows one that is there. That one is not opened: closing it would take
/// away the locks that other connections of this process have on it.
pub(crate) fn create_file(path: &Path) {
    // Whoever opens it next is told what is wrong.
    let _ = file_options().create_new(true).write(true).open(path);
    narrow_file(path);
}

/// Takes a file away from everybody but its owner.
pub(crate) fn narrow_file(path: &Path) {
    #[cfg(unix)]
    narrow(path, FILE_MODE);
    #[cfg(not(unix))]
    let _ = path;
}

/// What somebody else owns stays as it is.
#[cfg(unix)]
fn narrow(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    let Ok(found) = fs::metadata(path) else {
        return;
    };
    let wider = found.permissions().mode() & 0o777 & !mode;
    if wider != 0 {
        let narrow = found.permissions().mode() & 0o7777 & !wider;
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(narrow));
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).map_or(0, |found| found.permissions().mode() & 0o7777)
    }

    #[test]
    fn what_is_made_is_private_and_what_is_there_becomes_so() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/b");
        create_folder(&folder, |_| false).unwrap();
        assert_eq!(
            (mode(&folder), mode(&root.path().join("a"))),
            (0o700, 0o700)
        );
        let file = folder.join("f");
        create_file(&file);
        assert_eq!(mode(&file), 0o600);
        fs::write(&file, "kept").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o1755)).unwrap();
        create_file(&file);
        create_folder(&folder, |name| name == "g").unwrap();
        assert_eq!(mode(&folder), 0o1755, "somebody else's files are in it");
        create_folder(&folder, |name| name == "f").unwrap();
        assert_eq!((mode(&file), mode(&folder)), (0o600, 0o1700));
        assert_eq!(fs::read(&file).unwrap(), b"kept");
        // Narrower than asked for is fine.
        fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
        create_file(&file);
        assert_eq!(mode(&file), 0o400);
    }
}
