//! Recall of the signals that a reader needs, on real CI failure logs cut to a budget.
//!
//! `cargo run --release -p lab-logs -- [FILE] [--write] [--show ID:BUDGET]`

mod corpus;
mod methods;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

const DEFAULT_DATA: &str = "../shared/data/logs/ci-logs.jsonl.gz";
const RESULTS: &str = "lab/logs/RESULTS.md";

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command that prints a table"
)]
fn main() -> ExitCode {
    let mut data = PathBuf::from(DEFAULT_DATA);
    let mut write = false;
    let mut show = None;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--write" => write = true,
            "--show" => show = args.next(),
            _ => data = PathBuf::from(arg),
        }
    }
    if !data.exists() {
        println!("{} is absent: nothing was measured", data.display());
        return ExitCode::SUCCESS;
    }
    let logs = match corpus::read(&data) {
        Ok(logs) => logs,
        Err(reason) => {
            eprintln!("cannot read {}: {reason}", data.display());
            return ExitCode::FAILURE;
        }
    };
    if let Some(show) = show {
        print!("{}", report::shown(&logs, &show));
        return ExitCode::SUCCESS;
    }
    let results = format!("{}\n{}", report::table(&logs), report::speed(&logs));
    println!("{results}");
    if write && let Err(reason) = std::fs::write(RESULTS, results) {
        eprintln!("cannot write {RESULTS}: {reason}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
