//! The load: closed loops for throughput, a fixed rate for latency.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::task::JoinSet;

use crate::Outcome;

/// One kind of request.
#[derive(Clone, Debug)]
pub(crate) struct Shot {
    url: String,
    body: Bytes,
    headers: Vec<(&'static str, String)>,
}

impl Shot {
    /// A body for a path.
    pub(crate) fn new(path: &str, body: Bytes) -> Self {
        Self {
            url: path.to_owned(),
            body,
            headers: Vec::new(),
        }
    }

    /// The same through a server.
    pub(crate) fn through(&self, base: &str, headers: &[(&'static str, String)]) -> Self {
        Self {
            url: format!("{base}{}", self.url),
            body: self.body.clone(),
            headers: headers.to_vec(),
        }
    }
}

/// What came of a run.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) per_second: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) failed: usize,
    times: Vec<Duration>,
    took: Duration,
}

impl Measured {
    /// Several runs as one.
    pub(crate) fn join(runs: Vec<Self>) -> Self {
        let (mut times, mut took, mut failed) = (Vec::new(), Duration::ZERO, 0);
        for run in runs {
            times.extend(run.times);
            took += run.took;
            failed += run.failed;
        }
        measured(times, took, failed)
    }
}

type LoadClient = Client<HttpConnector, Full<Bytes>>;

fn client() -> LoadClient {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new()).build(connector)
}

async fn fire(client: &LoadClient, shot: &Shot) -> Outcome<()> {
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(&shot.url)
        .header("content-type", "application/json")
        .header("authorization", "Bearer sk-lab");
    for (name, value) in &shot.headers {
        request = request.header(*name, value);
    }
    let response = client
        .request(request.body(Full::new(shot.body.clone()))?)
        .await?;
    let status = response.status();
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        frame?;
    }
    if status.is_success() {
        Ok(())
    } else {
        Err(format!("status {status}").into())
    }
}

/// Whether a shot is answered well.
pub(crate) async fn is_up(shot: &Shot) -> bool {
    let answered = tokio::time::timeout(Duration::from_secs(5), fire(&client(), shot)).await;
    matches!(answered, Ok(Ok(())))
}

fn measured(mut times: Vec<Duration>, took: Duration, failed: usize) -> Measured {
    times.sort_unstable();
    let at = |share: f64| {
        let index = ((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1));
        times
            .get(index)
            .map_or(0.0, |time| time.as_secs_f64() * 1e3)
    };
    Measured {
        per_second: times.len() as f64 / took.as_secs_f64(),
        p50_ms: at(0.5),
        p99_ms: at(0.99),
        failed,
        times,
        took,
    }
}

/// As many requests as `connections` clients can make one after the other.
pub(crate) async fn closed(shot: &Shot, connections: usize, length: Duration) -> Measured {
    let mut lanes = JoinSet::new();
    let client = client();
    // Connections are made and pools filled before anything counts.
    let warm_until = Instant::now() + length / 5;
    let until = warm_until + length;
    for _ in 0..connections {
        let (client, shot) = (client.clone(), shot.clone());
        lanes.spawn(async move {
            let (mut times, mut failed) = (Vec::new(), 0);
            loop {
                let started = Instant::now();
                if started >= until {
                    return (times, failed);
                }
                let result = fire(&client, &shot).await;
                if started >= warm_until {
                    match result {
                        Ok(()) => times.push(started.elapsed()),
                        Err(_) => failed += 1,
                    }
                }
            }
        });
    }
    gather(lanes, length).await
}

/// A number of requests, over connections that each have their share; how many failed.
pub(crate) async fn all(shot: &Shot, connections: usize, requests: usize) -> usize {
    let mut lanes = JoinSet::new();
    let client = client();
    for _ in 0..connections {
        let (client, shot) = (client.clone(), shot.clone());
        lanes.spawn(async move {
            let mut failed = 0;
            for _ in 0..requests / connections {
                failed += usize::from(fire(&client, &shot).await.is_err());
            }
            failed
        });
    }
    lanes.join_all().await.into_iter().sum()
}

/// Requests at a fixed rate over a fixed number of connections, which take turns.
///
/// A request that could not start when it was due, because the one before it on its connection was not done,
/// counts from the moment at which it was due. What the timer of this program is late by does not count.
pub(crate) async fn paced(
    shot: &Shot,
    per_second: f64,
    connections: usize,
    length: Duration,
) -> Measured {
    let mut lanes = JoinSet::new();
    let client = client();
    let every = Duration::from_secs_f64(connections as f64 / per_second.max(1.0));
    let begin = Instant::now();
    let warm_until = begin + length / 5;
    let until = warm_until + length;
    for connection in 0..connections {
        let (client, shot) = (client.clone(), shot.clone());
        let mut due = begin + every.mul_f64(connection as f64 / connections as f64);
        lanes.spawn(async move {
            let (mut times, mut failed) = (Vec::new(), 0);
            while due < until {
                let is_late = Instant::now() >= due;
                if !is_late {
                    tokio::time::sleep_until(due.into()).await;
                }
                let since = if is_late { due } else { Instant::now() };
                let result = fire(&client, &shot).await;
                if due >= warm_until {
                    match result {
                        Ok(()) => times.push(since.elapsed()),
                        Err(_) => failed += 1,
                    }
                }
                due += every;
            }
            (times, failed)
        });
    }
    gather(lanes, length).await
}

async fn gather(mut lanes: JoinSet<(Vec<Duration>, usize)>, length: Duration) -> Measured {
    let (mut times, mut failed) = (Vec::new(), 0);
    while let Some(Ok((lane, lost))) = lanes.join_next().await {
        times.extend(lane);
        failed += lost;
    }
    measured(times, length, failed)
}
