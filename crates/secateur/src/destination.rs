//! Files that results are written to.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Writes a file that is either the old one or complete: never half of it. What is there and is no file (a device, a
/// pipe) is written to directly.
pub(crate) fn write_whole<T>(
    path: &Path,
    write: impl FnOnce(File) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let failed =
        |error: io::Error| Failure::bad_input(format!("cannot write {}: {error}", path.display()));
    let Some(file) = replaced(path) else {
        return write(File::create(path).map_err(failed)?);
    };
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".part-{}", std::process::id()));
    let part = file.with_file_name(name);
    let written = File::create(&part)
        .and_then(|made| keep_permissions(&file, &part).map(|()| made))
        .map_err(failed)
        .and_then(write)
        .and_then(|value| fs::rename(&part, &file).map_err(failed).map(|()| value));
    if written.is_err() {
        // The original stays as it was; what is left of the attempt helps nobody.
        let _ = fs::remove_file(&part);
    }
    written
}

/// A file in another's place is for the same people.
fn keep_permissions(old: &Path, new: &Path) -> io::Result<()> {
    match fs::metadata(old) {
        Ok(metadata) => fs::set_permissions(new, metadata.permissions()),
        Err(_) => Ok(()),
    }
}

/// The file that is replaced; links lead to it and stay. `None`: there is something that cannot be replaced.
fn replaced(path: &Path) -> Option<PathBuf> {
    match fs::canonicalize(path) {
        Ok(found) => found.is_file().then_some(found),
        // A link that leads nowhere yet, or to something without a name of its own.
        Err(_) if path.is_symlink() => None,
        Err(_) => Some(path.to_owned()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::Write;

    fn write(path: &Path, text: &str) -> Result<(), Failure> {
        write_whole(path, |mut file| {
            file.write_all(text.as_bytes())
                .map_err(|error| Failure::bad_input(error.to_string()))
        })
    }

    #[test]
    fn links_stay_and_what_they_lead_to_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "old").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("later"), at("dangling")).unwrap();
        write(&at("link"), "new").unwrap();
        write(&at("dangling"), "made").unwrap();
        assert!(at("link").is_symlink() && at("dangling").is_symlink());
        assert_eq!(fs::read_to_string(at("file")).unwrap(), "new");
        assert_eq!(fs::read_to_string(at("later")).unwrap(), "made");
    }

    #[test]
    fn devices_are_written_to_and_an_attempt_that_fails_leaves_nothing() {
        write(Path::new("/dev/null"), "gone").unwrap();
        assert!(!Path::new("/dev/null").is_file());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "old").unwrap();
        let failed: Result<(), Failure> =
            write_whole(&file, |_| Err(Failure::bad_input("no more")));
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        assert!(write(folder.path(), "a folder").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
