//! `secateur serve`, `demo` and `config`: arguments in, the proxy's own functions do the rest.

use secateur_proxy::cli::{self, CommandError, DemoOptions, ServeOptions};

use crate::Failure;
use crate::args::{ConfigCommand, DemoArgs, ServeArgs};

pub(crate) fn serve(args: &ServeArgs) -> Result<(), Failure> {
    let options = ServeOptions {
        config: args.config.clone(),
        listen: args.listen,
        open: args.open,
        ..ServeOptions::default()
    };
    cli::serve(options).map_err(failure)
}

pub(crate) fn demo(args: &DemoArgs) -> Result<(), Failure> {
    let options = DemoOptions {
        keep: args.keep,
        preset: args.preset.clone(),
    };
    cli::demo(&options, &mut std::io::stdout().lock()).map_err(failure)
}

pub(crate) fn config(command: &ConfigCommand) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match command {
        ConfigCommand::Init { file, force } => cli::config_init(file, *force, &mut out),
        ConfigCommand::Check { file } => cli::config_check(file, &mut out),
    }
    .map_err(failure)
}

fn failure(error: CommandError) -> Failure {
    match error {
        CommandError::Config(_) | CommandError::Exists(_) => Failure::bad_usage(error.to_string()),
        other => Failure::bad_input(other.to_string()),
    }
}
