//! `secateur serve`, `demo` and `config`: arguments in, the proxy's own functions do the rest.

use secateur_proxy::cli::{self, CommandError, DemoOptions, McpOptions, ServeOptions};
use secateur_proxy::config::Secret;

use crate::Failure;
use crate::args::{ConfigCommand, DemoArgs, McpArgs, ServeArgs};
use crate::portal::make_pages;

pub(crate) fn serve(args: &ServeArgs) -> Result<(), Failure> {
    let options = ServeOptions {
        config: args.config.clone(),
        listen: args.listen,
        open: args.open,
        pages: Some(make_pages()),
        ..ServeOptions::default()
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
        ConfigCommand::Init { file, force } => cli::config_init(file, *force, &mut out),
        ConfigCommand::Check { file } => cli::config_check(file, &mut out),
    }
    .map_err(failure)
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
