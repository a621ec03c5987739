//! How the provider misbehaves for one request, asked for by the header `x-mock-conduct`.

use std::time::Duration;

/// How the provider misbehaves for one request. Written as `key=value` pairs separated by `;`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conduct {
    /// `delay=MS`: wait before the response's head.
    pub delay: Duration,
    /// `gap=MS`: wait between chunks of the body.
    pub gap: Duration,
    /// `chunk=BYTES`: cut the body into chunks of this size, through characters and events.
    pub chunk_bytes: usize,
    /// `reset=BYTES`: break the connection after so much of the body.
    pub reset_after: Option<usize>,
    /// `status=CODE`: answer with this status in the API's error shape.
    pub status: u16,
    /// `redirect=1`: answer 307 with a `location`.
    pub redirect: bool,
    /// `think=1`: begin the answer with a signed thinking block, where the API has them.
    pub think: bool,
}

impl Conduct {
    /// Reads the header's value; what is not understood is left out.
    #[must_use]
    pub fn parse(value: &str) -> Self {
        let mut conduct = Self::default();
        for pair in value.split(';') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, "1"));
            let Ok(value) = value.trim().parse::<u32>() else {
                continue;
            };
            match key.trim() {
                "delay" => conduct.delay = Duration::from_millis(value.into()),
                "gap" => conduct.gap = Duration::from_millis(value.into()),
                "chunk" => conduct.chunk_bytes = value as usize,
                "reset" => conduct.reset_after = Some(value as usize),
                "status" => conduct.status = u16::try_from(value).unwrap_or_default(),
                "redirect" => conduct.redirect = value != 0,
                "think" => conduct.think = value != 0,
                _ => {}
            }
        }
        conduct
    }
}
