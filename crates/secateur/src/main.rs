//! The command-line tool: arguments and wiring only.
//!
//! Exit codes: 0 fine, 1 bad input, 2 bad usage; `run` ends with the agent's own.

mod args;
mod audit;
mod canary;
mod check;
mod command_error;
mod command_line;
mod config_file;
mod demo;
mod destination;
mod doctor;
mod failure;
mod input;
mod keys;
mod lists;
mod mcp;
mod plan;
mod policies;
mod portal;
mod prune;
mod rank;
mod receipt;
mod replay;
mod run;
mod running;
mod savings;
mod serve;
mod show;
mod since;
mod table;
mod time;

use std::process::ExitCode;

use clap::Parser;

use command_line::{Args, Command};

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
        Command::Serve(args) => serve::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Mcp(args) => mcp::run(&args),
        Command::Config(command) => config_file::run(&command),
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
