//! Writes what no run of a proxy brings about within a test: a month of history, and text that wants to
//! run in every field. `plant_ledger FOLDER` makes `FOLDER/ledger.db` and prints one line of JSON with
//! what is in it.

mod plant;

use std::error::Error;
use std::io::Write;
use std::path::Path;

use secateur_ledger::{Ledger, LedgerOptions};
use serde_json::json;

/// The key that captured text is kept under, as the configuration wants it.
const KEY: [u8; 32] = [7; 32];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("where to?")?;
    let folder = Path::new(&folder);
    let url = format!("sqlite:{}", folder.join("ledger.db").display());
    let mut options = LedgerOptions::new(url, folder.join("planting"));
    options.capture_key = Some(KEY);
    let ledger = Ledger::open(options).await?;
    let history = plant::history(&ledger).await?;
    plant::evil(&ledger).await?;
    let captured = plant::captured(&ledger).await?;
    ledger.close().await;
    let key: String = KEY.iter().map(|byte| format!("{byte:02x}")).collect();
    let facts = json!({
        "history": history, "captured": captured, "key": key,
        "evil": plant::EVIL, "evil_row": plant::EVIL,
    });
    writeln!(std::io::stdout(), "{facts}")?;
    Ok(())
}
