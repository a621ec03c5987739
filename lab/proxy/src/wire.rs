//! One client connection. It shares the cores with what is measured, so it does next to nothing: the request is
//! written out beforehand and sent in one go, and of the response only the end is looked for.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::Outcome;
use crate::answer::Answer;
use crate::tls;

/// One kind of request.
#[derive(Clone, Debug)]
pub(crate) struct Shot {
    path: &'static str,
    body: Bytes,
}

impl Shot {
    /// A body for a path.
    pub(crate) fn new(path: &'static str, body: Bytes) -> Self {
        Self { path, body }
    }

    /// The same through a server, written out.
    pub(crate) fn through(&self, base: &str, headers: &[(&'static str, String)]) -> Aimed {
        let rest = base.trim_start_matches("http://");
        let rest = rest.trim_start_matches("https://");
        let (host, prefix) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let mut head = format!(
            "POST {prefix}{} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
             authorization: Bearer sk-lab\r\ncontent-length: {}\r\n",
            self.path,
            self.body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        Aimed {
            host: host.to_owned(),
            bytes: Bytes::from([head.as_bytes(), &self.body].concat()),
            tls: None,
        }
    }
}

/// A request to a server, as it goes over the wire.
#[derive(Clone, Debug)]
pub(crate) struct Aimed {
    host: String,
    bytes: Bytes,
    tls: Option<Arc<ClientConfig>>,
}

impl Aimed {
    /// The same to a server behind TLS. Closed loops alone speak it.
    pub(crate) fn over_tls(self, tls: Option<Arc<ClientConfig>>) -> Self {
        Self { tls, ..self }
    }

    async fn connect(&self) -> Outcome<Box<dyn Duplex>> {
        let stream = tokio::net::TcpStream::connect(&self.host).await?;
        stream.set_nodelay(true)?;
        Ok(match &self.tls {
            None => Box::new(stream),
            Some(tls) => Box::new(tls::connect(tls, stream).await?),
        })
    }

    /// Whether it is answered well.
    pub(crate) async fn is_answered(&self) -> bool {
        let mut wire = Wire::new(self);
        let answered = tokio::time::timeout(Duration::from_secs(5), wire.fire()).await;
        matches!(answered, Ok(Ok(())))
    }
}

/// Read at once.
const ROOM: usize = 16 << 10;

/// TCP, or TLS over it.
trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

/// A connection for closed loops: many of them on one thread.
pub(crate) struct Wire {
    aimed: Aimed,
    stream: Option<Box<dyn Duplex>>,
    room: Vec<u8>,
}

impl Wire {
    pub(crate) fn new(aimed: &Aimed) -> Self {
        Self {
            aimed: aimed.clone(),
            stream: None,
            room: vec![0; ROOM],
        }
    }

    /// One request and its whole response. A connection that broke is made anew for the next one.
    pub(crate) async fn fire(&mut self) -> Outcome<()> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.aimed.connect().await?,
        };
        stream.write_all(&self.aimed.bytes).await?;
        stream.flush().await?;
        let mut answer = Answer::new();
        while !answer.is_done() {
            let read = stream.read(&mut self.room).await?;
            if read == 0 {
                return Err("the connection ended".into());
            }
            answer.feed(&self.room[..read])?;
        }
        self.stream = Some(stream);
        match answer.is_success() {
            true => Ok(()),
            false => Err("the status is no success".into()),
        }
    }
}

/// A connection with a thread of its own: it starts when it should, to some microseconds.
pub(crate) struct ThreadWire {
    aimed: Aimed,
    stream: Option<std::net::TcpStream>,
    room: Vec<u8>,
}

impl ThreadWire {
    pub(crate) fn new(aimed: &Aimed) -> Self {
        Self {
            aimed: aimed.clone(),
            stream: None,
            room: vec![0; ROOM],
        }
    }

    /// See [`Wire::fire`].
    pub(crate) fn fire(&mut self) -> Outcome<()> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = std::net::TcpStream::connect(&self.aimed.host)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(Duration::from_secs(20)))?;
                stream
            }
        };
        stream.write_all(&self.aimed.bytes)?;
        let mut answer = Answer::new();
        while !answer.is_done() {
            let read = stream.read(&mut self.room)?;
            if read == 0 {
                return Err("the connection ended".into());
            }
            answer.feed(&self.room[..read])?;
        }
        self.stream = Some(stream);
        match answer.is_success() {
            true => Ok(()),
            false => Err("the status is no success".into()),
        }
    }
}
