//! The upstream: reads the whole body and answers at once, with JSON or with forty events.

use std::convert::Infallible;
use std::fmt::Write;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::Outcome;
use crate::process::announce;
use crate::tls;

/// Chunks that go out one by one.
struct Chunks(std::vec::IntoIter<Bytes>);

impl Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.next().map(|chunk| Ok(Frame::data(chunk))))
    }
}

fn json() -> Bytes {
    let text = "word ".repeat(180);
    Bytes::from(format!(
        r#"{{"id":"x","object":"chat.completion","model":"gpt-5","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":100,"completion_tokens":180,"total_tokens":280}}}}"#
    ))
}

fn events() -> Vec<Bytes> {
    let mut events = Vec::new();
    for at in 0..40 {
        let mut event = String::new();
        // Writing to a String cannot fail.
        let _ = write!(
            event,
            "data: {{\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"model\":\"gpt-5\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"word {at}\"}}}}]}}\n\n"
        );
        events.push(Bytes::from(event));
    }
    events.push(Bytes::from_static(
        b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":40}}\n\ndata: [DONE]\n\n",
    ));
    events
}

/// Bytes at either end of a body in which the wish for events is looked for.
const END: usize = 200;

fn asks_for_events(end: &[u8]) -> bool {
    let asks = |text: &[u8]| memchr::memmem::find(end, text).is_some();
    asks(b"\"stream\":true") || asks(b"\"stream\": true")
}

/// Reads a body to its end; whether it asks for events. Clients write the key last; gateways that write the body anew
/// put it near an end too.
async fn read(mut body: Incoming) -> bool {
    let (mut head, mut tail) = (Vec::with_capacity(2 * END), Vec::with_capacity(2 * END));
    // A body that breaks off ends its connection.
    while let Some(Ok(frame)) = body.frame().await {
        let Some(data) = frame.data_ref() else {
            continue;
        };
        head.extend_from_slice(&data[..data.len().min(END.saturating_sub(head.len()))]);
        tail.extend_from_slice(&data[data.len().saturating_sub(END)..]);
        let old = tail.len().saturating_sub(END);
        tail.drain(..old);
    }
    asks_for_events(&head) || asks_for_events(&tail)
}

async fn respond(
    request: Request<Incoming>,
    json: Bytes,
    events: Vec<Bytes>,
) -> Result<Response<Chunks>, Infallible> {
    let is_stream = read(request.into_body()).await;
    let (kind, chunks) = if is_stream {
        ("text/event-stream", events)
    } else {
        ("application/json", vec![json])
    };
    let length = chunks.first().map_or(0, Bytes::len);
    let mut response = Response::new(Chunks(chunks.into_iter()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if !is_stream {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    Ok(response)
}

/// Serves until the process ends; over TLS if there is a file to write the authority's certificate to.
pub(crate) async fn serve(ca_file: Option<String>) -> Outcome<()> {
    let tls = ca_file.map(|file| tls::new_server(file.as_ref()));
    let tls = tls.transpose()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    announce(scheme, listener.local_addr()?)?;
    let (json, events) = (json(), events());
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (json, events, tls) = (json.clone(), events.clone(), tls.clone());
        tokio::spawn(async move {
            match tls {
                None => converse(stream, json, events).await,
                // A client that does not agree on TLS is not served.
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        converse(stream, json, events).await;
                    }
                }
            }
        });
    }
}

async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin, json: Bytes, events: Vec<Bytes>) {
    let service = service_fn(move |request| respond(request, json.clone(), events.clone()));
    // A client that goes away is not an error.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
