//! `secateur serve`, `demo` and `config`: arguments in, the proxy's own functions do the rest.

use std::sync::Arc;

use secateur_proxy::cli::{self, CommandError, DemoOptions, McpOptions, ServeOptions};
use secateur_proxy::config::{LogFormat, Secret};

use crate::Failure;
use crate::args::{ConfigCommand, DemoArgs, LogArg, McpArgs, ServeArgs};
use crate::portal::make_pages;
use crate::start_page;

pub(crate) fn serve(args: &ServeArgs) -> Result<(), Failure> {
    let options = ServeOptions {
        config: args.config.clone(),
        listen: args.listen,
        log: args.log.map(|log| match log {
            LogArg::Json => LogFormat::Json,
            LogArg::Pretty => LogFormat::Pretty,
            LogArg::Off => LogFormat::Off,
        }),
        open: args.open,
        pages: Some(make_pages()),
        announce: Some(Arc::new(start_page::announce)),
    };
    cli::serve(options).map_err(failure)
}

pub(crate) fn demo(args: &DemoArgs) -> Result<(), Failure> {
    let options = DemoOptions {
        keep: args.keep,
        preset: args.preset.clone(),
        pages: Some(make_pages()),
    };
    cli::demo(&options, &mut std::io::stdout().lock()).map_err(failure)
}

pub(crate) fn mcp(args: &McpArgs) -> Result<(), Failure> {
    let key = match &args.key_env {
        None => None,
        Some(variable) => match std::env::var(variable) {
            Ok(key) => Some(Secret::new(&key)),
            Err(_) => {
                let words = format!("the environment variable `{variable}` is not set");
                return Err(Failure::bad_usage(words));
            }
        },
    };
    let options = McpOptions {
        url: args.url.clone(),
        workload: args.workload.clone(),
        key,
    };
    cli::mcp(
        &options,
        std::io::stdin().lock(),
        &mut std::io::stdout().lock(),
    )
    .map_err(failure)
}

pub(crate) fn config(command: &ConfigCommand) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match command {
        ConfigCommand::Init { file, user, force } => {
            let file = match user {
                true => cli::user_config().ok_or_else(no_home)?,
                false => file.clone(),
            };
            cli::config_init(&file, *force, &mut out)
        }
        ConfigCommand::Check { file } => cli::config_check(file, &mut out),
    }
    .map_err(failure)
}

fn no_home() -> Failure {
    Failure::bad_usage("the environment names no home folder: set HOME or XDG_CONFIG_HOME")
}

pub(crate) fn failure(error: CommandError) -> Failure {
    match error {
        CommandError::Io(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            Failure::quiet_end()
        }
        CommandError::Io(error) => Failure::bad_input(format!("input or output failed: {error}")),
        CommandError::Config(_) | CommandError::Exists(_) => Failure::bad_usage(error.to_string()),
        other => Failure::bad_input(other.to_string()),
    }
}
