//! `secateur keys create`: a client key, shown once; the configuration gets its hash.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueHint};
use secateur_core::policy::did_you_mean;
use secateur_proxy::config::CONFIG_NAME;

use crate::config_file;
use secateur_proxy::config::Provider;
use secateur_proxy::hash_key;

use crate::failure::Failure;
use crate::input::{read_text, say, write_file};

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a client key: it is shown once, and its hash is added to the configuration.
    #[command(after_help = "\
A running proxy takes the changed file over by itself. Clients send the key where they send their provider's.

Examples:
  secateur keys create team-a --workload agent --credential anthropic=ANTHROPIC_API_KEY
  secateur keys create ci --workload agent --dry-run")]
    Create(CreateArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct CreateArgs {
    /// What the key is called in logs and the audit.
    name: String,
    /// The workload that its requests belong to.
    #[arg(long, short = 'w')]
    workload: String,
    /// Send the credential in this environment variable in the key's place: PROVIDER=VARIABLE. May be repeated.
    #[arg(long = "credential", value_name = "PROVIDER=VARIABLE", value_parser = parse_credential)]
    credentials: Vec<(Provider, String)>,
    /// Requests in a minute; 0 is no limit.
    #[arg(long, default_value_t = 0)]
    requests_per_minute: u32,
    /// The configuration; without it `secateur.toml` here, else the user's own.
    #[arg(long, value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Print the lines for the configuration, and write nothing.
    #[arg(long)]
    dry_run: bool,
}

fn parse_credential(text: &str) -> Result<(Provider, String), String> {
    let (provider, variable) = text
        .split_once('=')
        .ok_or("write it like anthropic=ANTHROPIC_API_KEY")?;
    let known = Provider::ALL
        .into_iter()
        .find(|known| known.name() == provider);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    match known {
        None => {
            let names = Provider::ALL.map(Provider::name);
            Err(format!(
                "no provider `{provider}`: {}",
                did_you_mean(provider, names.into_iter())
            ))
        }
        // Whoever writes the key itself here would have it in a file.
        Some(_) if variable.is_empty() || !variable.bytes().all(is_name) => Err(
            "name the environment variable that holds the credential, not the credential"
                .to_owned(),
        ),
        Some(provider) => Ok((provider, variable.to_owned())),
    }
}

pub(crate) fn run(command: &KeysCommand) -> Result<(), Failure> {
    let KeysCommand::Create(args) = command;
    create(args)
}

fn create(args: &CreateArgs) -> Result<(), Failure> {
    let key = fresh_key()?;
    let lines = lines(args, &hash_key(&key));
    if args.dry_run {
        say!("key   {key}\n\n{lines}")?;
        return Ok(());
    }
    let file = config_file::find_config(args.config.clone()).ok_or_else(|| {
        Failure::bad_usage(format!(
            "there is no configuration yet: write one with `secateur config init`, or name it with --config ({CONFIG_NAME})"
        ))
    })?;
    add(&file, args, &lines)?;
    say!(
        "key   {key}\n\nIt is not shown again. {} has its hash.",
        file.display()
    )
}

/// Adds the lines at the end of a file, if they make a valid configuration.
fn add(file: &Path, args: &CreateArgs, lines: &str) -> Result<(), Failure> {
    let text = read_text(file)?;
    let config = config_file::load_config(file)?;
    if config.keys.iter().any(|key| *key.name == *args.name) {
        let words = format!("{} has a key `{}` already", file.display(), args.name);
        return Err(Failure::bad_usage(words));
    }
    let workload = &args.workload;
    if !config.workloads.contains_key(workload) {
        let known = config.workloads.keys().map(String::as_str);
        let meant = did_you_mean(workload, known);
        let words = format!("{} has no workload `{workload}`: {meant}", file.display());
        return Err(Failure::bad_usage(words));
    }
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let new = format!("{text}{gap}\n{lines}");
    if new.parse::<toml::Table>().is_err() {
        let words = format!(
            "{} writes its keys in a way that cannot be added to; add this by hand:\n\n{lines}",
            file.display()
        );
        return Err(Failure::bad_usage(words));
    }
    write_file(file, new.as_bytes())
}

fn lines(args: &CreateArgs, sha256: &str) -> String {
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let mut lines = format!(
        "[[key]]\nname = {}\nsha256 = \"{sha256}\"\nworkload = {}\n",
        quoted(&args.name),
        quoted(&args.workload)
    );
    // Writing to a String cannot fail.
    if !args.credentials.is_empty() {
        let one = |(provider, variable): &(Provider, String)| {
            format!("{} = \"{variable}\"", provider.name())
        };
        let all: Vec<String> = args.credentials.iter().map(one).collect();
        let _ = writeln!(lines, "credential_env = {{ {} }}", all.join(", "));
    }
    if args.requests_per_minute > 0 {
        let _ = writeln!(lines, "requests_per_minute = {}", args.requests_per_minute);
    }
    lines
}

/// 32 random bytes.
fn fresh_key() -> Result<String, Failure> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        Failure::bad_input(format!("the machine gives no random bytes: {error}"))
    })?;
    Ok(format!("sk-secateur-{}", hex::encode(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(file: &Path, name: &str, workload: &str) -> CreateArgs {
        CreateArgs {
            name: name.into(),
            workload: workload.into(),
            credentials: Vec::new(),
            requests_per_minute: 0,
            config: Some(file.to_owned()),
            dry_run: false,
        }
    }

    #[test]
    fn a_key_is_added_after_what_is_there_and_names_are_checked() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.toml");
        let text = "# mine\n[workload.agent]\npreset = \"steady\"";
        std::fs::write(&file, text).unwrap();
        create(&args(&file, "team \"a\"", "agent")).unwrap();
        create(&args(&file, "b", "agent")).unwrap();
        let written = std::fs::read_to_string(&file).unwrap();
        assert!(written.starts_with(text), "{written}");
        let config = config_file::load_config(&file).unwrap();
        let names: Vec<&str> = config.keys.iter().map(|key| &*key.name).collect();
        assert_eq!(names, ["team \"a\"", "b"]);
        assert_ne!(config.keys[0].sha256, config.keys[1].sha256);
        let again = create(&args(&file, "b", "agent")).unwrap_err();
        assert!(again.message.contains("already"), "{}", again.message);
        let typo = create(&args(&file, "c", "agnet")).unwrap_err();
        assert!(
            typo.message.contains("did you mean `agent`?"),
            "{}",
            typo.message
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), written);
    }

    /// A configuration with a key that belongs to no workload is refused, and so was the file that this command wrote.
    #[test]
    fn a_key_without_a_workload_is_not_made() {
        use clap::Parser;
        let parse = |given: &[&str]| crate::command_line::Args::try_parse_from(given);
        assert!(parse(&["secateur", "keys", "create", "a"]).is_err());
        assert!(parse(&["secateur", "keys", "create", "a", "-w", "agent"]).is_ok());
    }

    #[test]
    #[cfg(unix)]
    fn the_file_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.toml");
        std::fs::write(&file, "[workload.agent]\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        create(&args(&file, "a", "agent")).unwrap();
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn credentials_are_named_by_their_variable() {
        assert!(parse_credential("anthropic=ANTHROPIC_API_KEY").is_ok());
        assert!(parse_credential("anthropic=sk-ant-123").is_err());
        let error = parse_credential("antropic=X").unwrap_err();
        assert!(error.contains("did you mean `anthropic`?"), "{error}");
    }
}
