//! Where things are on this machine: variables, the home folder, programs, files of the agents.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Gives variables by name.
type Variables = Box<dyn Fn(&str) -> Option<String>>;

/// The environment as the agents see it.
pub(crate) struct Machine {
    env: Variables,
    /// The folder that the agent is started in.
    pub(crate) folder: PathBuf,
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Machine {
    /// This machine.
    pub(crate) fn here() -> Self {
        Self {
            env: Box::new(|name| std::env::var(name).ok()),
            folder: std::env::current_dir().unwrap_or_default(),
        }
    }

    /// A machine with these variables, for tests.
    #[cfg(test)]
    pub(crate) fn with(folder: &Path, variables: &[(&str, &str)]) -> Self {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let variables: std::collections::BTreeMap<_, _> = variables.iter().map(own).collect();
        Self {
            env: Box::new(move |name| variables.get(name).cloned()),
            folder: folder.to_owned(),
        }
    }

    /// A variable that is set and not empty.
    pub(crate) fn var(&self, name: &str) -> Option<String> {
        (self.env)(name).filter(|value| !value.is_empty())
    }

    /// Whether a variable says yes.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.var(name).is_some_and(|value| is_yes(&value))
    }

    /// A file below the home folder.
    pub(crate) fn at_home(&self, path: &str) -> Option<PathBuf> {
        let home = self.var("HOME").or_else(|| self.var("USERPROFILE"))?;
        Some(Path::new(&home).join(path))
    }

    /// The folder that a variable names, else one below the home folder.
    pub(crate) fn folder_of(&self, variable: &str, at_home: &str) -> Option<PathBuf> {
        match self.var(variable) {
            Some(folder) => Some(PathBuf::from(folder)),
            None => self.at_home(at_home),
        }
    }

    /// A program by its path, or by its name in the folders of `PATH`.
    pub(crate) fn find_program(&self, name: &OsStr) -> Option<PathBuf> {
        let path = Path::new(name);
        if path.components().count() > 1 {
            return is_program(path).then(|| path.to_owned());
        }
        let folders = self.var("PATH")?;
        let endings: &[&str] = if cfg!(windows) {
            &[".exe", ".cmd", ""]
        } else {
            &[""]
        };
        std::env::split_paths(&folders).find_map(|folder| {
            endings.iter().find_map(|ending| {
                let mut file = name.to_owned();
                file.push(ending);
                let file = folder.join(file);
                is_program(&file).then_some(file)
            })
        })
    }
}

/// What agents take for yes in a variable.
pub(crate) fn is_yes(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "1" | "true" | "yes" | "on"
    )
}

fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    let may_run = |metadata: &std::fs::Metadata| {
        std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0
    };
    #[cfg(not(unix))]
    let may_run = |_: &std::fs::Metadata| true;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && may_run(&metadata))
}

/// A JSON file, where it is there and can be read.
pub(crate) fn read_json(path: Option<PathBuf>) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(path?).ok()?).ok()
}

/// A TOML file, where it is there and can be read.
pub(crate) fn read_toml(path: Option<PathBuf>) -> Option<toml::Table> {
    std::fs::read_to_string(path?).ok()?.parse().ok()
}
