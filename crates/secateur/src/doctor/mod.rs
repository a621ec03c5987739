//! `secateur doctor`: what works, what does not, and what to do about it. Asks no model and spends no token.

mod agents;
mod config;
mod finding;
mod recent;
mod store;
mod upstreams;

use std::path::PathBuf;

use clap::ValueHint;
use secateur_proxy::cli;

use crate::Failure;
use crate::input::{say, write_stdout};
use crate::run::place::Machine;
use finding::{Finding, Grade};

#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// The configuration; without it `secateur.toml` here, else the user's own, else what is built in.
    #[arg(long, value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Leave out what needs a network.
    #[arg(long)]
    offline: bool,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let machine = Machine::here();
    let file = cli::find_config(args.config.clone());
    let (mut all, config) = config::findings(file.as_ref());
    if let Some(config) = &config {
        all.extend(config::proxy(config));
        all.extend(config::keys(config, &machine));
        if !args.offline {
            all.extend(upstreams::findings(config)?);
        }
        all.extend(store::findings(config));
        all.extend(recent::findings(config));
    }
    let listen = config.as_ref().map(|config| config.listen);
    all.extend(agents::findings(&machine, listen));
    if args.json {
        let list: Vec<_> = all.iter().map(Finding::json).collect();
        write_stdout(format!("{:#}\n", serde_json::Value::from(list)).as_bytes())?;
    } else {
        for finding in &all {
            say!("{}", finding.line())?;
        }
        say!("\n{}", verdict(&all))?;
    }
    if all.iter().any(|finding| finding.grade == Grade::Error) {
        return Err(Failure::with_code(1));
    }
    Ok(())
}

fn verdict(all: &[Finding]) -> String {
    let count = |grade: Grade| all.iter().filter(|finding| finding.grade == grade).count() as u64;
    match (count(Grade::Error), count(Grade::Warning)) {
        (0, 0) => "All is well.".to_owned(),
        (0, warnings) => crate::table::counted(warnings, "warning"),
        (errors, warnings) => format!(
            "{}, {}",
            crate::table::counted(errors, "error"),
            crate::table::counted(warnings, "warning")
        ),
    }
}
