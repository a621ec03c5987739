//! Asks a proxy on this machine what it does.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A proxy on this machine answers at once; another program may never.
const PATIENCE: Duration = Duration::from_millis(1000);
/// Its answer is small.
const MAX_BYTES: u64 = 1 << 20;

/// What the proxy at this address says of itself; `None`: nothing listens there, or it is not ours.
pub(crate) fn status(listen: SocketAddr) -> Option<Value> {
    let body = get(listen, "/secateur/status")?;
    let status: Value = serde_json::from_str(&body).ok()?;
    status["secateur"].is_string().then_some(status)
}

/// The body of a response with status 200.
fn get(listen: SocketAddr, path: &str) -> Option<String> {
    let mut address = listen;
    if address.ip().is_unspecified() {
        address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    // HTTP/1.0: the response ends with the connection, and is not chunked.
    let request = format!("GET {path} HTTP/1.0\r\nhost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut response = Vec::new();
    stream.take(MAX_BYTES).read_to_end(&mut response).ok()?;
    let response = String::from_utf8(response).ok()?;
    let (head, body) = response.split_once("\r\n\r\n")?;
    let is_ok = head.split(' ').nth(1) == Some("200");
    is_ok.then(|| body.to_owned())
}
