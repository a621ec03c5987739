//! A fixed number of requests, for whoever counts what they cost (see `lab/proxy/count`).

use crate::Outcome;
use crate::bodies::chat;
use crate::load::{Shot, all};
use crate::report::PATH;

const CONNECTIONS: usize = 16;

/// `fire <base> <requests> <bytes of the body> <json or events>`
pub(crate) async fn fire(mut args: impl Iterator<Item = String>) -> Outcome<()> {
    let mut next = |what: &str| args.next().ok_or_else(|| format!("{what} is missing"));
    let (base, requests): (String, usize) = (next("base")?, next("requests")?.parse()?);
    let (size, is_stream) = (next("bytes")?.parse()?, next("kind")? == "events");
    let shot = Shot::new(PATH, chat(size, is_stream)).through(&base, &[]);
    match all(&shot, CONNECTIONS, requests).await {
        0 => Ok(()),
        failed => Err(format!("{failed} requests failed").into()),
    }
}
