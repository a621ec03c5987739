//! Recorded exchanges and real sessions. They are not part of the project: `SECATEUR_DATA` names their folder,
//! `../shared/data` beside the workspace is the default.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it leaves out"
)]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use serde_json::Value;

pub(crate) fn folder() -> PathBuf {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    std::env::var_os("SECATEUR_DATA").map_or_else(|| default.into(), PathBuf::from)
}

/// The rows of a compressed file of JSON lines, or `None` with a message.
pub(crate) fn rows(file: &str) -> Option<impl Iterator<Item = Value>> {
    let path = folder().join(file);
    let Ok(file) = File::open(&path) else {
        println!(
            "skipped: {} does not exist (set SECATEUR_DATA)",
            path.display()
        );
        return None;
    };
    let lines = BufReader::new(flate2::read::GzDecoder::new(file)).lines();
    Some(lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()))
}
