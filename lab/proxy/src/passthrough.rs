//! The yardstick: hyper in, hyper out, bodies streamed, nothing looked at.

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::Outcome;
use crate::process::announce;
use crate::tls;

/// Serves until the process ends; trusts this authority if the upstream is behind TLS.
pub(crate) async fn serve(upstream: &str, ca_file: Option<String>) -> Outcome<()> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let builder = Client::builder(TokioExecutor::new());
    let Some(ca_file) = ca_file else {
        return relay(upstream, builder.build(connector)).await;
    };
    connector.enforce_http(false);
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls::trusting(ca_file.as_ref())?)
        .https_only()
        .enable_http1()
        .wrap_connector(connector);
    relay(upstream, builder.build(connector)).await
}

async fn relay<C>(upstream: &str, client: Client<C, Incoming>) -> Outcome<()>
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    announce("http", listener.local_addr()?)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (client, upstream) = (client.clone(), upstream.to_owned());
        tokio::spawn(async move {
            let service = service_fn(move |mut request: http::Request<Incoming>| {
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
