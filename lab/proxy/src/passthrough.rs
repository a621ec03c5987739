//! The yardstick: hyper in, hyper out, bodies streamed, nothing looked at.

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::Outcome;
use crate::process::announce;

/// Serves until the process ends.
pub(crate) async fn serve(upstream: &str) -> Outcome<()> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    announce(listener.local_addr()?)?;
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client = Client::builder(TokioExecutor::new()).build(connector);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (client, upstream) = (client.clone(), upstream.to_owned());
        tokio::spawn(async move {
            let service = service_fn(move |mut request: http::Request<hyper::body::Incoming>| {
                let (client, upstream) = (client.clone(), upstream.clone());
                async move {
                    let path = request
                        .uri()
                        .path_and_query()
                        .map_or("/", |path| path.as_str());
                    if let Ok(uri) = format!("{upstream}{path}").parse() {
                        *request.uri_mut() = uri;
                    }
                    request.headers_mut().remove(http::header::HOST);
                    client.request(request).await
                }
            });
            // A client that goes away is not an error.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}
