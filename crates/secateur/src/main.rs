//! The command-line tool: arguments and wiring only.
//!
//! Exit codes: 0 fine, 1 bad input, 2 bad usage; `run` ends with the agent's own.

mod args;
mod audit;
mod canary;
mod check;
mod destination;
mod doctor;
mod input;
mod keys;
mod lists;
mod plan;
mod policies;
mod portal;
mod proxy;
mod prune;
mod rank;
mod receipt;
mod replay;
mod run;
mod running;
mod savings;
mod show;
mod start_page;
mod table;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

/// A proxy frees on one thread what it allocated on another, bodies among small things, which is hard on the
/// system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Prune(args) => prune::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Savings(args) => savings::run(&args),
        Command::Serve(args) => proxy::serve(&args),
        Command::Demo(args) => proxy::demo(&args),
        Command::Mcp(args) => proxy::mcp(&args),
        Command::Config(command) => proxy::config(&command),
        Command::Keys(command) => keys::run(&command),
        Command::Audit(command) => audit::run(&command),
        Command::Canary(command) => canary::run(&command),
        Command::Rank(args) => rank::run(&args),
        Command::Dialects { json } => lists::dialects(json),
        Command::Strategies { id, json } => lists::strategies(id.as_deref(), json),
        Command::Presets { name, json } => lists::presets(name.as_deref(), json),
        Command::Policy(command) => policies::run(&command),
        Command::Completions { shell } => lists::completions(shell),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.message.is_empty() {
                anstream::eprintln!("{}: {}", table::red("secateur"), failure.message);
            }
            ExitCode::from(failure.code)
        }
    }
}

/// Why a command ends early.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// Exit code 1: the input is at fault.
    pub(crate) fn bad_input(message: impl Into<String>) -> Self {
        Self {
            code: 1,
            message: message.into(),
        }
    }

    /// Exit code 0, without a word: whoever read the output has seen enough.
    pub(crate) fn quiet_end() -> Self {
        Self {
            code: 0,
            message: String::new(),
        }
    }

    /// Ends with this code, without a word: all was said already.
    pub(crate) fn with_code(code: u8) -> Self {
        Self {
            code,
            message: String::new(),
        }
    }

    /// Exit code 2: the command line, or a file that it names, is at fault.
    pub(crate) fn bad_usage(message: impl Into<String>) -> Self {
        Self {
            code: 2,
            message: message.into(),
        }
    }
}
