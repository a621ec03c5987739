//! The configuration file: found, read, written, checked.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::args::ConfigCommand;
use crate::command_error::CommandError;
use crate::failure::Failure;
use secateur_proxy::config::folders::config_folder;
use secateur_proxy::config::{BUILT_IN, CONFIG_NAME, Config, ConfigError, TEMPLATE};

/// The configuration that is used without a file.
///
/// # Errors
/// Never, while the built-in text is valid.
pub(crate) fn built_in_config() -> Result<Config, CommandError> {
    Ok(Config::read("built-in", BUILT_IN, Path::new("."), &env)?)
}

/// Reads a configuration file. The environment gives the credentials that it names.
///
/// # Errors
/// The file cannot be read, or is not valid.
pub(crate) fn load_config(path: &Path) -> Result<Config, CommandError> {
    load(path, Config::read)
}

/// The ledger of the named configuration, or of the usual one where it exists, or the one that is kept without any.
///
/// # Errors
/// The file cannot be read, or does not say where its ledger is.
pub(crate) fn ledger_url(named: Option<PathBuf>) -> Result<String, CommandError> {
    let url = match find_config(named) {
        Some(path) => load(&path, Config::read_ledger_url)?,
        None => Config::read_ledger_url("built-in", BUILT_IN, Path::new(""), &env)?,
    };
    Ok(url.reveal().to_owned())
}

type Read<T> = fn(&str, &str, &Path, &dyn Fn(&str) -> Option<String>) -> Result<T, ConfigError>;

fn load<T>(path: &Path, read: Read<T>) -> Result<T, CommandError> {
    let text = std::fs::read_to_string(path).map_err(|source| CommandError::File {
        path: path.to_owned(),
        source,
    })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    Ok(read(&path.display().to_string(), &text, folder, &env)?)
}

/// Writes a commented configuration file.
///
/// # Errors
/// The file is there already (unless `force`), or cannot be written.
fn config_init(path: &Path, force: bool, out: &mut dyn Write) -> Result<(), CommandError> {
    if path.exists() && !force {
        return Err(CommandError::Exists(path.to_owned()));
    }
    let written = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => std::fs::create_dir_all(folder),
        _ => Ok(()),
    }
    .and_then(|()| std::fs::write(path, TEMPLATE));
    written.map_err(|source| CommandError::File {
        path: path.to_owned(),
        source,
    })?;
    let is_found = path == Path::new(CONFIG_NAME) || user_config().as_deref() == Some(path);
    let option = if is_found {
        String::new()
    } else {
        format!(" --config {}", path.display())
    };
    writeln!(
        out,
        "Wrote {}: workload `agent` with preset `steady`. Next: secateur serve{option}",
        path.display()
    )?;
    Ok(())
}

/// Checks a configuration file and says what it means.
///
/// # Errors
/// The file cannot be read, or is not valid.
fn config_check(path: &Path, out: &mut dyn Write) -> Result<(), CommandError> {
    let config = load_config(path)?;
    for workload in config.workloads.values() {
        if let Some(program) = workload.canary.options.scorer.missing_program() {
            return Err(CommandError::NoScorer {
                workload: workload.name.to_string(),
                program: program.to_owned(),
            });
        }
    }
    writeln!(out, "{} is valid.", path.display())?;
    writeln!(out, "listens on   http://{}", config.listen)?;
    for workload in config.workloads.values() {
        writeln!(
            out,
            "workload     {:<12} {}",
            workload.name,
            workload.describe()
        )?;
    }
    for key in &config.keys {
        let workload = &key.workload.name;
        writeln!(out, "key          {:<12} workload {workload}", key.name)?;
    }
    if !config.is_loopback() && config.keys.is_empty() {
        writeln!(
            out,
            "warning: other machines reach this address and there are no keys: `serve` wants --open"
        )?;
    }
    let portal = config.portal.as_ref().filter(|_| config.ledger.is_some());
    if !config.is_loopback() && portal.is_some_and(|portal| portal.token.is_none()) {
        writeln!(
            out,
            "warning: other machines reach this address and the portal has no token: it stays off"
        )?;
    }
    Ok(())
}

/// The user's own configuration file, whether or not it exists.
pub(crate) fn user_config() -> Option<PathBuf> {
    Some(config_folder(&env)?.join(CONFIG_NAME))
}

/// The named file, else `secateur.toml` in this folder, else the user's own, where they exist.
pub(crate) fn find_config(named: Option<PathBuf>) -> Option<PathBuf> {
    let exists = |path: &PathBuf| path.exists();
    let here = || Some(PathBuf::from(CONFIG_NAME)).filter(exists);
    named.or_else(here).or_else(|| user_config().filter(exists))
}

fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

pub(crate) fn run(command: &ConfigCommand) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let no_home =
        || Failure::bad_usage("the environment names no home folder: set HOME or XDG_CONFIG_HOME");
    match command {
        ConfigCommand::Init { file, user, force } => {
            let file = match user {
                true => user_config().ok_or_else(no_home)?,
                false => file.clone(),
            };
            config_init(&file, *force, &mut out)?;
        }
        ConfigCommand::Check { file } => config_check(file, &mut out)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("secateur-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    #[cfg(unix)]
    fn a_scorer_that_is_not_there_is_found_out_and_looked_for_beside_the_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(CONFIG_NAME);
        let text = "[workload.a.canary]\nscorer = { command = [\"./judge\"] }\n";
        std::fs::write(&path, text).unwrap();
        let error = config_check(&path, &mut Vec::new()).unwrap_err();
        let judge = folder.path().join("judge");
        assert!(
            error.to_string().contains(&*judge.to_string_lossy()),
            "{error}"
        );
        std::fs::write(&judge, "#!/bin/sh\necho 1\n").unwrap();
        std::fs::set_permissions(&judge, std::fs::Permissions::from_mode(0o755)).unwrap();
        config_check(&path, &mut Vec::new()).unwrap();
    }

    #[test]
    fn a_written_file_checks_and_is_not_overwritten() {
        let folder = folder("init");
        let path = folder.join(CONFIG_NAME);
        let _ = std::fs::remove_file(&path);
        config_init(&path, false, &mut Vec::new()).unwrap();
        assert!(matches!(
            config_init(&path, false, &mut Vec::new()),
            Err(CommandError::Exists(_))
        ));
        config_init(&path, true, &mut Vec::new()).unwrap();
        let mut out = Vec::new();
        config_check(&path, &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(
            out.contains("is valid") && out.contains("agent        prunes ("),
            "{out}"
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_check_says_what_each_workload_does() {
        let folder = folder("check");
        let path = folder.join("c.toml");
        let text = "listen = \"0.0.0.0:1\"\n[workload.white]\n[workload.white.policy.m3]\ncompress_system_enabled = true\n\
                    [workload.none]\n";
        std::fs::write(&path, text).unwrap();
        let mut out = Vec::new();
        config_check(&path, &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        for line in [
            "workload     white        compresses white space\n",
            "workload     none         passes through\n",
            "the portal has no token: it stays off\n",
        ] {
            assert!(out.contains(line), "{line} in {out}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_that_a_configuration_names_are_found_beside_it_and_remembered() {
        let folder = folder("beside");
        std::fs::write(folder.join("p.toml"), "preset = \"tessera\"\n").unwrap();
        std::fs::write(
            folder.join("c.toml"),
            "[workload.a]\npolicy_file = \"p.toml\"\n",
        )
        .unwrap();
        let config = load_config(&folder.join("c.toml")).unwrap();
        assert_eq!(config.files, [folder.join("p.toml")]);
        assert!(config.workloads["a"].policy.is_some());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
