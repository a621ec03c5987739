//! The strict provider as a process of its own, for tests that are not written in Rust.
//!
//! Prints one line of JSON with its URL. A line on its standard input is answered with the bodies that
//! came since the last one, as texts in a JSON array. Ends with its standard input.

use std::error::Error;
use std::io::{BufRead, Write};

use secateur_mock::{Mock, MockOptions};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mock = Mock::start(MockOptions {
        keep_requests: true,
        ..MockOptions::default()
    })
    .await?;
    say(&json!({ "url": mock.url() }))?;
    tokio::task::spawn_blocking(move || -> std::io::Result<()> {
        for line in std::io::stdin().lock().lines() {
            line?;
            let text = |body: &[u8]| String::from_utf8_lossy(body).into_owned();
            let bodies = mock.received().into_iter().map(|one| text(&one.body));
            say(&bodies.collect())?;
        }
        Ok(())
    })
    .await??;
    Ok(())
}

fn say(value: &Value) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{value}")?;
    out.flush()
}
