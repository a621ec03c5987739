//! The platform's folders for what a user configures and for what the program keeps.
//!
//! Linux and other Unix systems follow the XDG base directories; macOS and Windows have their own.

use std::path::PathBuf;

/// Our own folder inside the platform's.
const NAME: &str = "secateur";

/// Gives the environment's variables.
pub type Env<'e> = &'e dyn Fn(&str) -> Option<String>;

/// Where the ledger and its spool are, if the configuration does not say otherwise. `None`: the environment names no
/// home folder.
#[must_use]
pub fn data_folder(env: Env<'_>) -> Option<PathBuf> {
    folder(env, "XDG_DATA_HOME", "LOCALAPPDATA", ".local/share")
}

/// Where the user's own configuration is.
#[must_use]
pub fn config_folder(env: Env<'_>) -> Option<PathBuf> {
    folder(env, "XDG_CONFIG_HOME", "APPDATA", ".config")
}

fn folder(env: Env<'_>, xdg: &str, windows: &str, below_home: &str) -> Option<PathBuf> {
    // The specification says that a relative path is to be ignored.
    let absolute = |name: &str| {
        env(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let below_home = if cfg!(target_os = "macos") {
        "Library/Application Support"
    } else {
        below_home
    };
    let of_platform = || {
        if cfg!(windows) {
            absolute(windows)
        } else {
            absolute("HOME").map(|home| home.join(below_home))
        }
    };
    Some(absolute(xdg).or_else(of_platform)?.join(NAME))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_the_folders_and_relative_ones_do_not_count() {
        let all = |name: &str| match name {
            "XDG_DATA_HOME" => Some("/data".to_owned()),
            "XDG_CONFIG_HOME" => Some("relative".to_owned()),
            "HOME" => Some("/home/ada".to_owned()),
            _ => None,
        };
        assert_eq!(data_folder(&all), Some("/data/secateur".into()));
        let config = Some("/home/ada/.config/secateur".into());
        assert_eq!(config_folder(&all), config);
        assert_eq!(data_folder(&|_| None), None);
        let home = |name: &str| (name == "HOME").then(|| "/home/ada".to_owned());
        let data = Some("/home/ada/.local/share/secateur".into());
        assert_eq!(data_folder(&home), data);
    }
}
