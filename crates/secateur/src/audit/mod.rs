//! `secateur audit`: what the ledger knows, in the terminal.

pub(crate) mod args;
mod by_prefix;
mod columns;
mod export;
mod outcome;
mod parquet;
pub(crate) mod place;
mod show;
mod stats;
mod tail;

use std::future::Future;

use secateur_ledger::{Ledger, LedgerError};

use crate::failure::Failure;
use args::{AuditCommand, LedgerArgs};

/// Opens a ledger for questions.
pub(crate) fn open(place: &LedgerArgs) -> Result<Ledger, Failure> {
    let url = place::url(place)?;
    wait(Ledger::open_for_reading(&url, None))?.map_err(|error| match error {
        LedgerError::File { .. } => Failure::bad_usage(format!(
            "{error}. Name the ledger with --ledger, or the proxy's configuration with --config"
        )),
        other => explain(&other),
    })
}

pub(crate) fn run(command: &AuditCommand) -> Result<(), Failure> {
    let (place, work): (&LedgerArgs, Work<'_>) = match command {
        AuditCommand::Tail(args) => (
            &args.place,
            Box::new(move |ledger: &Ledger| tail::run(ledger, args)),
        ),
        AuditCommand::Show(args) => (
            &args.place,
            Box::new(move |ledger: &Ledger| show::run(ledger, args)),
        ),
        AuditCommand::Export(args) => (
            &args.place,
            Box::new(move |ledger: &Ledger| export::run(ledger, args)),
        ),
        AuditCommand::Stats(args) => (
            &args.place,
            Box::new(move |ledger: &Ledger| stats::run(ledger, args)),
        ),
    };
    work(&open(place)?)
}

type Work<'a> = Box<dyn FnOnce(&Ledger) -> Result<(), Failure> + 'a>;

/// The ledger works on threads of its own; this one only waits.
pub(crate) fn wait<T>(answer: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .map_err(|error| Failure::bad_input(error.to_string()))?;
    Ok(runtime.block_on(answer))
}

/// Waits for an answer of the ledger.
pub(crate) fn answer<T>(asked: impl Future<Output = Result<T, LedgerError>>) -> Result<T, Failure> {
    wait(asked)?.map_err(|error| explain(&error))
}

fn explain(error: &LedgerError) -> Failure {
    match error {
        LedgerError::Url { .. } | LedgerError::Parameter { .. } => {
            Failure::bad_usage(error.to_string())
        }
        other => Failure::bad_input(other.to_string()),
    }
}
