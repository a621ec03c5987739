//! A response that is to be compared, collected while it passes.

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, header};
use secateur_core::Dialect;

use crate::outside::Upstream;
use crate::reply::{self, Layout, Reply};

/// Longer answers are not compared.
pub(crate) const MAX_ANSWER_BYTES: usize = 2 << 20;

/// A response as the client gets it. Its frames are shared, not copied.
#[derive(Debug)]
pub struct Answer {
    layout: Layout,
    head: Response<()>,
    chunks: Vec<Bytes>,
    bytes: usize,
}

impl Answer {
    /// `None`: a response with this head is not comparable.
    #[must_use]
    pub fn start(status: StatusCode, headers: &HeaderMap) -> Option<Self> {
        let layout = layout_of(status, headers)?;
        let mut head = Response::new(());
        *head.status_mut() = status;
        *head.headers_mut() = headers.clone();
        Some(Self {
            layout,
            head,
            chunks: Vec::new(),
            bytes: 0,
        })
    }

    /// Takes the next frame of data.
    pub fn add(&mut self, data: &Bytes) {
        self.bytes += data.len();
        if self.bytes > MAX_ANSWER_BYTES {
            self.chunks = Vec::new();
        } else {
            self.chunks.push(data.clone());
        }
    }

    /// Whether it is short enough to be compared.
    pub(crate) fn is_comparable(&self) -> bool {
        self.bytes <= MAX_ANSWER_BYTES
    }

    /// What the model answered.
    pub(crate) fn reply(self, dialect: Dialect, upstream: &dyn Upstream) -> Option<Reply> {
        let whole = Bytes::from(self.chunks.concat());
        read(&self.head.map(|()| whole), self.layout, dialect, upstream)
    }
}

/// What the model answered in a whole response; `None`: there is nothing to compare.
pub(crate) fn reply_of(
    response: &Response<Bytes>,
    dialect: Dialect,
    upstream: &dyn Upstream,
) -> Option<Reply> {
    let layout = layout_of(response.status(), response.headers())?;
    read(response, layout, dialect, upstream)
}

/// How a response is laid out; `None`: it is no answer.
pub(crate) fn layout_of(status: StatusCode, headers: &HeaderMap) -> Option<Layout> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    Layout::of(kind).filter(|_| status == StatusCode::OK)
}

fn read(
    response: &Response<Bytes>,
    layout: Layout,
    dialect: Dialect,
    upstream: &dyn Upstream,
) -> Option<Reply> {
    let decoded = upstream.decode(response, MAX_ANSWER_BYTES * 8)?;
    reply::read(dialect, layout, &decoded)
}
