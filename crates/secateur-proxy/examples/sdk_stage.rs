//! A proxy in front of the strict provider, for clients that are not written in Rust.
//!
//! Prints one line of JSON with the base URL and stays until its standard input ends; then prints
//! how many requests the provider got and rejected.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use secateur_mock::{Conduct, Mock, MockOptions};
use secateur_proxy::{Config, Proxy, ProxyParts};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Chunks end inside characters and events, as they may on any network.
    let conduct = Conduct {
        chunk_bytes: 11,
        ..Conduct::default()
    };
    let mock = Mock::start(MockOptions {
        conduct,
        ..MockOptions::default()
    })
    .await?;
    let url = mock.url();
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[upstream]\nopenai = \"{url}\"\nanthropic = \"{url}\"\ngemini = \"{url}\"\n[workload.pruned]\npreset = \"tessera\"\nbudget_ms = 5000\n"
    );
    let config = Config::read("stage", &text, Path::new("."), &|_| None)?;
    let proxy = Proxy::start(ProxyParts::new(config)).await?;
    let mut out = std::io::stdout();
    writeln!(out, "{{\"url\": \"{}\"}}", proxy.url())?;
    out.flush()?;
    tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()))
        .await??;
    let (requests, rejected) = (mock.requests(), mock.rejected());
    proxy.shutdown().await;
    writeln!(
        out,
        "{{\"requests\": {requests}, \"rejected\": {rejected}}}"
    )?;
    Ok(())
}
