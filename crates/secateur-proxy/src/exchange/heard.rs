//! The response that the client gets.

use bytes::Bytes;
use http::response::Parts;
use http::{StatusCode, header};
use secateur_canary::Answer;

use crate::audit::Ended;
use crate::refusal::Refusal;
use crate::usage::{Usage, UsageReader};
use crate::wire::encoding::Encoding;

/// The response that the client got, and how it ended.
pub(crate) struct Heard {
    pub(super) status: u16,
    pub(super) ended: Ended,
    pub(super) is_stream: bool,
    pub(super) bytes: u64,
    pub(super) usage: Option<Usage>,
    /// The whole answer, where it is to be compared.
    pub(super) answer: Option<Box<Answer>>,
}

impl Heard {
    /// The proxy answered itself.
    pub(crate) fn refused(refusal: &Refusal) -> Self {
        Self {
            status: refusal.status().as_u16(),
            ended: Ended::Refused(refusal.name()),
            is_stream: false,
            bytes: 0,
            usage: None,
            answer: None,
        }
    }
}

/// A response while it passes. Becomes [`Heard`] when it ends.
pub(crate) struct Hearing {
    status: StatusCode,
    is_stream: bool,
    bytes: u64,
    reader: Option<UsageReader>,
    answer: Option<Box<Answer>>,
}

impl Hearing {
    /// Starts with the head of a response, of which usage and a comparable answer are read where that is wanted.
    pub(crate) fn start(head: &Parts, reads_usage: bool, is_compared: bool) -> Self {
        let headers = &head.headers;
        let kind = headers
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        let reader = reads_usage.then(|| UsageReader::new(kind, Encoding::of(headers)));
        let answer = is_compared.then(|| Answer::start(head.status, headers));
        Self {
            status: head.status,
            is_stream: kind.is_some_and(|kind| kind.starts_with("text/event-stream")),
            bytes: 0,
            reader: reader.flatten(),
            answer: answer.flatten().map(Box::new),
        }
    }

    /// Takes the next frame of data.
    pub(crate) fn add(&mut self, data: &Bytes) {
        self.bytes += data.len() as u64;
        if let Some(answer) = &mut self.answer {
            answer.add(data);
        }
        if let Some(reader) = &mut self.reader {
            reader.feed(data);
        }
    }

    /// Bytes up to now.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The response ended.
    pub(crate) fn end(&mut self, ended: Ended) -> Heard {
        Heard {
            status: self.status.as_u16(),
            ended,
            is_stream: self.is_stream,
            bytes: self.bytes,
            usage: self.reader.as_mut().and_then(UsageReader::usage),
            answer: self.answer.take().filter(|_| ended == Ended::Complete),
        }
    }
}
