//! `secateur run AGENT`: a coding agent through the proxy, set up for this one run. The user's own files stay as they are.

pub(crate) mod agent;
mod base_url;
mod child;
pub(crate) mod claude;
pub(crate) mod codex;
pub(crate) mod gemini;
pub(crate) mod opencode;
mod pi;
pub(crate) mod place;
mod print;
mod proxy;
pub(crate) mod setup;
mod sums;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueHint;

use crate::Failure;
use agent::Agent;
use base_url::Variable;
use place::Machine;
use setup::Setup;

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// The workload.
    #[arg(long, short = 'w', default_value = "agent")]
    workload: String,
    /// The configuration; without it the user's own (`secateur config init --user`), else what is built in. A `secateur.toml` in
    /// this folder counts only if it is named: it could come with somebody else's project.
    #[arg(long, value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Set this variable to the base URL, for any other program. NAME=/PATH appends a path; names with OPENAI in them get /v1.
    #[arg(long = "env", value_name = "NAME", value_parser = base_url::parse_variable)]
    variables: Vec<Variable>,
    /// Show what would be set and run, and do nothing.
    #[arg(long)]
    print: bool,
    /// The agent (claude, codex, opencode, gemini, pi) or another program, and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "AGENT"
    )]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let (name, given) = args
        .command
        .split_first()
        .ok_or_else(|| Failure::bad_usage("name an agent"))?;
    let agent = Agent::of(name);
    if agent == Agent::Other && args.variables.is_empty() {
        return Err(Failure::bad_usage(format!(
            "`{}` is none of {}. For another program name the variable of its base URL: secateur run --env OPENAI_BASE_URL {0} …",
            name.to_string_lossy(),
            Agent::names()
        )));
    }
    let machine = Machine::here();
    let program = machine.find_program(name).ok_or_else(|| {
        let hint = agent
            .how_to_install()
            .map_or(String::new(), |how| format!(". Install it: {how}"));
        Failure::bad_usage(format!(
            "`{}` is not installed{hint}",
            name.to_string_lossy()
        ))
    })?;
    let config = proxy::config(args.config.clone(), &args.workload)?;
    let mut setup = agent.setup(&machine, given)?;
    setup.aim_variables(&args.variables);
    if args.print {
        return print::print(&program, given, &setup, &args.workload);
    }
    // A panic's message would be written over the agent's screen.
    std::panic::set_hook(Box::new(|_| {}));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::bad_input(error.to_string()))?;
    let outcome = runtime.block_on(through_proxy(&program, given, setup, config, args));
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    match outcome? {
        0 => Ok(()),
        code => Err(Failure::with_code(code)),
    }
}

async fn through_proxy(
    program: &std::path::Path,
    given: &[OsString],
    setup: Setup,
    config: proxy::Configured,
    args: &RunArgs,
) -> Result<u8, Failure> {
    for note in &setup.notes {
        anstream::eprintln!("secateur: {note}");
    }
    let sums = Arc::new(sums::Sums::default());
    let proxy = proxy::find_or_start(config, &setup, &args.workload, &sums).await?;
    let base = format!("{}/w/{}", proxy.url, args.workload);
    let files = setup.write_files(&base)?;
    let code = child::run(
        program,
        &setup.command(given, &base, &files),
        &setup.env(&base),
    )
    .await;
    drop(files);
    let (cost, look) = proxy.end(&sums, &args.workload).await;
    anstream::eprintln!("{}", cost.describe(&look));
    code
}
