//! What a response says about its tokens, read on the side in constant memory.
//!
//! Bytes go through a [`Sieve`] that follows the JSON grammar just far enough to find the few members
//! that count, at the places where the four dialects put them. Characters, lines and events may be
//! split over chunks anywhere.

mod counts;
mod price;
mod sieve;

use std::io::Write;

pub use counts::Usage;
use sieve::{Found, Sieve};

use crate::wire::encoding::{Encoding, SideDecoder};

/// How a response body is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// One JSON value (an array of them for Gemini without SSE).
    Json,
    /// Server-sent events.
    Events,
}

impl Layout {
    fn of(content_type: &str) -> Option<Self> {
        const KINDS: [(&str, Layout); 2] = [
            ("application/json", Layout::Json),
            ("text/event-stream", Layout::Events),
        ];
        let is = |kind: &str| {
            KINDS
                .iter()
                .find(|(name, _)| kind.eq_ignore_ascii_case(name))
        };
        // Most say nothing else.
        let found = is(content_type).or_else(|| is(content_type.split(';').next()?.trim()));
        found.map(|(_, layout)| *layout)
    }
}

/// Reads usage from a response.
pub(crate) struct UsageReader {
    decoder: SideDecoder<Reading>,
    is_lost: bool,
}

impl UsageReader {
    /// `None` where the response is of a kind that says nothing, or cannot be read.
    pub(crate) fn new(content_type: Option<&str>, encoding: Encoding) -> Option<Self> {
        let layout = Layout::of(content_type?)?;
        let decoder = SideDecoder::new(encoding, Reading::new(layout))?;
        Some(Self {
            decoder,
            is_lost: false,
        })
    }

    pub(crate) fn feed(&mut self, chunk: &[u8]) {
        if !self.is_lost {
            self.is_lost = !self.decoder.feed(chunk);
        }
    }

    /// What was found up to now.
    pub(crate) fn usage(&mut self) -> Option<Usage> {
        let reading = self.decoder.sink();
        (!reading.usage.is_empty()).then(|| reading.usage.clone().plausible())
    }
}

/// Where in an event stream the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// So many bytes of `data:` were seen at the start of a line.
    Field(usize),
    /// In the value of a data line.
    Data,
    /// In a line of another field.
    Skip,
}

struct Reading {
    layout: Layout,
    place: Place,
    sieve: Sieve,
    usage: Usage,
}

impl Reading {
    fn new(layout: Layout) -> Self {
        Self {
            layout,
            place: Place::Field(0),
            sieve: Sieve::default(),
            usage: Usage::default(),
        }
    }

    fn sift(&mut self, bytes: &[u8]) {
        let usage = &mut self.usage;
        self.sieve.feed(bytes, &mut |found| match found {
            Found::Usage(json) => usage.merge(json),
            Found::Model(name) => usage.model = Some(name.to_owned()),
        });
    }

    fn events(&mut self, mut bytes: &[u8]) {
        const FIELD: &[u8] = b"data:";
        while let Some(&byte) = bytes.first() {
            match self.place {
                Place::Field(seen) => {
                    bytes = &bytes[1..];
                    self.place = match byte {
                        b'\n' | b'\r' => Place::Field(0),
                        _ if FIELD.get(seen) == Some(&byte) && seen + 1 == FIELD.len() => {
                            self.sieve = Sieve::default();
                            Place::Data
                        }
                        _ if FIELD.get(seen) == Some(&byte) => Place::Field(seen + 1),
                        _ => Place::Skip,
                    };
                }
                Place::Data | Place::Skip => {
                    let end = memchr::memchr2(b'\n', b'\r', bytes);
                    let (line, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
                    if self.place == Place::Data {
                        self.sift(line);
                    }
                    if end.is_some() {
                        self.place = Place::Field(0);
                    }
                    bytes = rest;
                }
            }
        }
    }
}

impl Write for Reading {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.layout {
            Layout::Json => self.sift(bytes),
            Layout::Events => self.events(bytes),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
