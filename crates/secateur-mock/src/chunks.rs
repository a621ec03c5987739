//! A response body with a pace of its own.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame as BodyFrame};
use tokio::sync::mpsc;

use crate::conduct::Conduct;
use crate::shared::Shared;

/// A body that is sent in chunks, at its own pace, and may break off.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    whole: Option<Bytes>,
    paced: Option<mpsc::Receiver<Result<Bytes, std::io::Error>>>,
    open: Option<Arc<Shared>>,
}

impl Chunks {
    pub(crate) fn start(body: Bytes, conduct: Conduct, shared: &Arc<Shared>) -> Self {
        shared.open_streams.fetch_add(1, Ordering::Relaxed);
        let open = Some(Arc::clone(shared));
        if conduct.chunk_bytes == 0 && conduct.gap.is_zero() && conduct.reset_after.is_none() {
            return Self {
                whole: Some(body),
                paced: None,
                open,
            };
        }
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(async move {
            let size = if conduct.chunk_bytes == 0 {
                64
            } else {
                conduct.chunk_bytes
            };
            let mut sent = 0;
            for chunk in body.chunks(size) {
                if conduct.reset_after.is_some_and(|limit| sent >= limit) {
                    let _ = sender
                        .send(Err(std::io::Error::other("reset on request")))
                        .await;
                    return;
                }
                sent += chunk.len();
                if sender
                    .send(Ok(Bytes::copy_from_slice(chunk)))
                    .await
                    .is_err()
                {
                    return;
                }
                tokio::time::sleep(conduct.gap).await;
            }
        });
        Self {
            whole: None,
            paced: Some(receiver),
            open,
        }
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        if let Some(shared) = &self.open {
            shared.open_streams.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Body for Chunks {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyFrame<Bytes>, std::io::Error>>> {
        if let Some(body) = self.whole.take() {
            return Poll::Ready((!body.is_empty()).then_some(Ok(BodyFrame::data(body))));
        }
        match &mut self.paced {
            Some(receiver) => receiver
                .poll_recv(context)
                .map(|next| next.map(|next| next.map(BodyFrame::data))),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.paced.is_none() && self.whole.as_ref().is_none_or(Bytes::is_empty)
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match (&self.whole, &self.paced) {
            (Some(body), _) => hyper::body::SizeHint::with_exact(body.len() as u64),
            (None, None) => hyper::body::SizeHint::with_exact(0),
            _ => hyper::body::SizeHint::default(),
        }
    }
}
