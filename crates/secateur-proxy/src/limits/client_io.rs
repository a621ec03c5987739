//! A client's socket, which may not keep the proxy waiting for ever when it writes.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::stall_timer::{Pace, StallTimer};

/// A socket whose writes fail once the client takes too little for too long.
#[derive(Debug)]
pub(crate) struct ClientIo {
    socket: TokioIo<TcpStream>,
    writes: StallTimer,
    /// Whether the last write had to wait.
    is_blocked: bool,
}

impl ClientIo {
    /// A client that takes less than this pace is cut off.
    pub(crate) fn new(socket: TcpStream, pace: Pace) -> Self {
        Self {
            socket: TokioIo::new(socket),
            writes: StallTimer::new(pace),
            is_blocked: false,
        }
    }

    fn watch(
        &mut self,
        written: Poll<Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<usize>> {
        match written {
            Poll::Ready(Ok(count)) => {
                // Only what went out after a wait says anything about the client: the rest is the kernel's buffer.
                if std::mem::take(&mut self.is_blocked) {
                    self.writes.moved(count as u64);
                }
                Poll::Ready(Ok(count))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                self.is_blocked = true;
                self.writes.poll_stalled(context).map(|()| {
                    let words = "the client takes its response too slowly";
                    Err(Error::new(ErrorKind::TimedOut, words))
                })
            }
        }
    }
}

impl Read for ClientIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl Write for ClientIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.watch(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        self.watch(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
