//! A fixed number of requests, for whoever counts what they cost (see `lab/proxy/count`).

use crate::Outcome;
use crate::bodies::chat;
use crate::load::Closed;
use crate::measure::PATH;
use crate::wire::Shot;

const CONNECTIONS: usize = 16;

/// `fire <base> <requests> <bytes of the body> <json or events>`
pub(crate) async fn fire(mut args: impl Iterator<Item = String>) -> Outcome<()> {
    let mut next = |what: &str| args.next().ok_or_else(|| format!("{what} is missing"));
    let (base, requests): (String, usize) = (next("base")?, next("requests")?.parse()?);
    let (size, is_stream) = (next("bytes")?.parse()?, next("kind")? == "events");
    let aimed = Shot::new(PATH, chat(size, is_stream)).through(&base, &[]);
    match Closed::new(&aimed, CONNECTIONS).all(requests).await {
        0 => Ok(()),
        failed => Err(format!("{failed} requests failed").into()),
    }
}
