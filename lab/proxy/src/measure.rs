//! The runs: servers take turns in short slices, in an order that moves on with each round. What a slow moment of
//! the machine does hits all alike, and rounds are compared within themselves.

use std::cell::Cell;
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;

use crate::Options;
use crate::bodies::chat;
use crate::load::{Closed, Measured, Paced};
use crate::process::cpu_time;
use crate::wire::{Aimed, Shot};

pub(crate) const PATH: &str = "/v1/chat/completions";

pub(crate) const HYPER: &str = "hyper";
pub(crate) const OURS: &str = "secateur";
/// Secateur without audit.
pub(crate) const BARE: &str = "secateur, bare";
/// Another build of Secateur.
pub(crate) const OTHER: &str = "secateur, other build";
/// What is compared round by round.
pub(crate) const COMPARED: [&str; 4] = [HYPER, OURS, BARE, OTHER];

/// Peers that answer too few requests for a short look.
const SLOW: [&str; 2] = ["litellm", "portkey"];
/// Processes with audit and as many without: two that are alike may differ by more than what it costs, for as long as they
/// live.
pub(crate) const AUDIT_PAIRS: usize = 8;
/// The smallest body, in bytes, that is sent over TLS.
const SMALLEST_OVER_TLS: usize = 100_000;
/// Slices of a lane that no goal compares within a round.
const OTHER_ROUNDS: usize = 2;

/// The ledger writes what it held back, before the next server's turn comes.
const SETTLE: Duration = Duration::from_millis(450);

/// Something that requests are sent through.
#[derive(Clone)]
pub(crate) struct Lane {
    pub(crate) name: String,
    url: String,
    headers: Vec<(&'static str, String)>,
    process: Option<u32>,
    /// Where it is not the server itself.
    upstream: Option<u32>,
    /// Whether it goes on working when nothing is asked any more.
    keeps_rows: bool,
    /// Where the server itself is behind TLS.
    tls: Option<Arc<ClientConfig>>,
}

impl Lane {
    pub(crate) fn new(name: &str, url: &str, process: u32, upstream: Option<u32>) -> Self {
        Self {
            name: name.to_owned(),
            url: url.to_owned(),
            headers: Vec::new(),
            process: Some(process),
            upstream,
            keeps_rows: name.starts_with(OURS) && name != BARE,
            tls: None,
        }
    }

    pub(crate) fn peer(name: &str, url: &str, headers: &[(&'static str, String)]) -> Self {
        Self {
            name: name.to_owned(),
            url: url.to_owned(),
            headers: headers.to_vec(),
            process: None,
            upstream: None,
            keeps_rows: false,
            tls: None,
        }
    }

    pub(crate) fn over_tls(self, config: ClientConfig) -> Self {
        Self {
            tls: Some(Arc::new(config)),
            ..self
        }
    }

    fn aim(&self, (size, is_stream): (usize, bool)) -> Aimed {
        let shot = Shot::new(PATH, chat(size, is_stream));
        let aimed = shot.through(&self.url, &self.headers);
        aimed.over_tls(self.tls.clone())
    }

    async fn settle(&self) {
        if self.keeps_rows {
            tokio::time::sleep(SETTLE).await;
        }
    }

    /// The same lane, with the break that one with a ledger needs: a server that goes on without it has all that it needs
    /// at hand, and the other has not.
    fn with_a_break(&self) -> Self {
        Self {
            keeps_rows: true,
            ..self.clone()
        }
    }
}

/// One turn of a lane.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub(crate) measured: Measured,
    /// Processor time of the server for each request, in microseconds.
    pub(crate) cpu_us: f64,
    /// The same of client, server and upstream together.
    pub(crate) all_us: f64,
}

/// What a lane did in all rounds.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) slices: Vec<Slice>,
}

impl Row {
    pub(crate) fn all(&self) -> Measured {
        Measured::join(self.slices.iter().map(|slice| &slice.measured))
    }

    /// The middle of what its slices say.
    pub(crate) fn middle(&self, of: impl Fn(&Slice) -> f64) -> f64 {
        Spread::of(self.slices.iter().map(of)).middle
    }
}

/// The rows of one body.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) body: (usize, bool),
    /// The rate, where one was set.
    pub(crate) rate: f64,
    pub(crate) rows: Vec<Row>,
}

impl Rows {
    pub(crate) fn find(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    pub(crate) fn per_second(&self, name: &str) -> f64 {
        let row = self.find(name);
        row.map_or(0.0, |row| row.middle(|slice| slice.measured.per_second()))
    }

    /// What two lanes give when they are compared, round by round.
    pub(crate) fn compare(
        &self,
        one: &str,
        other: &str,
        by: impl Fn(&Measured, &Measured) -> f64,
    ) -> Spread {
        self.compare_slices(one, other, |one, other| by(&one.measured, &other.measured))
    }

    pub(crate) fn compare_slices(
        &self,
        one: &str,
        other: &str,
        by: impl Fn(&Slice, &Slice) -> f64,
    ) -> Spread {
        let slices = |name| self.find(name).map_or(&[][..], |row| &row.slices);
        let rounds = slices(one).iter().zip(slices(other));
        Spread::of(rounds.map(|(one, other)| by(one, other)))
    }
}

/// The middle of several figures, and between which two the middle half of them lies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spread {
    pub(crate) low: f64,
    pub(crate) middle: f64,
    pub(crate) high: f64,
}

impl Spread {
    pub(crate) fn of(figures: impl Iterator<Item = f64>) -> Self {
        let mut figures: Vec<f64> = figures.collect();
        figures.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * figures.len().saturating_sub(1) as f64;
            let (below, above) = (place.floor() as usize, place.ceil() as usize);
            match (figures.get(below), figures.get(above)) {
                (Some(below), Some(above)) => below + (above - below) * place.fract(),
                _ => 0.0,
            }
        };
        Self {
            low: at(0.25),
            middle: at(0.5),
            high: at(0.75),
        }
    }
}

/// Everything that was measured.
pub(crate) struct Results {
    pub(crate) closed: Vec<Rows>,
    pub(crate) paced: Vec<Rows>,
    /// With a ledger and without, and nothing else.
    pub(crate) audit: Vec<Rows>,
    /// Closed loops and half load with an upstream behind TLS.
    pub(crate) tls: [Vec<Rows>; 2],
    pub(crate) alone: Rows,
}

/// `pairs`: with audit and without. `tls`: lanes to an upstream behind TLS.
pub(crate) async fn measure(
    options: &Options,
    lanes: &[Lane],
    pairs: &[[Lane; 2]],
    tls: &[Lane],
) -> Results {
    let mut results = Results {
        closed: Vec::new(),
        paced: Vec::new(),
        audit: Vec::new(),
        tls: [Vec::new(), Vec::new()],
        alone: Rows {
            body: (400_000, false),
            rate: 0.0,
            rows: Vec::new(),
        },
    };
    for &body in &options.bodies {
        if options.audit {
            progress(&format!("{}: with and without audit", label(body)));
            results
                .audit
                .push(with_and_without(options, pairs, body).await);
        }
        if options.tls && body.0 >= SMALLEST_OVER_TLS {
            progress(&format!("{}: over TLS", label(body)));
            let [closed, paced] = &mut results.tls;
            let rows = throughput(options, tls, body, options.rounds).await;
            let rate = rows.per_second(HYPER).min(rows.per_second(OURS)) / 2.0;
            closed.push(rows);
            paced.push(half_load(options, tls, body, rate).await);
        }
        if !(options.closed || options.paced) {
            continue;
        }
        progress(&format!("{}: throughput", label(body)));
        let rounds = if options.closed { options.rounds } else { 2 };
        let closed = throughput(options, lanes, body, rounds).await;
        let rate = closed.per_second(HYPER).min(closed.per_second(OURS)) / 2.0;
        results.closed.push(closed);
        if options.paced {
            progress(&format!("{}: half load", label(body)));
            results
                .paced
                .push(half_load(options, lanes, body, rate).await);
        }
    }
    if options.closed {
        progress("one connection");
        let names = ["direct", HYPER, OURS, "secateur, m7", "nginx"];
        let some = lanes.iter().filter(|l| names.contains(&l.name.as_str()));
        let some: Vec<&Lane> = some.collect();
        results.alone.rows = turns(&some, 4, options.slice, 1, results.alone.body).await;
    }
    results
}

async fn throughput(options: &Options, lanes: &[Lane], body: (usize, bool), rounds: usize) -> Rows {
    let pick = |wanted: &dyn Fn(&str) -> bool| -> Vec<&Lane> {
        lanes.iter().filter(|lane| wanted(&lane.name)).collect()
    };
    let (slice, connections) = (options.slice, options.connections);
    let compared = pick(&|name| COMPARED.contains(&name));
    let mut rows = turns(&compared, rounds, slice, connections, body).await;
    if options.closed || options.tls {
        let quick = pick(&|name| !COMPARED.contains(&name) && !SLOW.contains(&name));
        rows.extend(turns(&quick, OTHER_ROUNDS, slice, connections, body).await);
        let slow = pick(&|name| SLOW.contains(&name));
        let long = slice.max(Duration::from_secs(2));
        rows.extend(turns(&slow, 1, long, connections, body).await);
    }
    rows.sort_by_key(|row| lanes.iter().position(|lane| lane.name == row.name));
    Rows {
        body,
        rate: 0.0,
        rows,
    }
}

async fn with_and_without(options: &Options, pairs: &[[Lane; 2]], body: (usize, bool)) -> Rows {
    let (slice, connections) = (options.slice, options.connections);
    // Each of the two is as often the first.
    let rounds = 2 * options.rounds.div_ceil(4);
    let mut rows: Vec<Row> = Vec::new();
    for pair in pairs {
        let pair = pair.each_ref().map(Lane::with_a_break);
        let lanes: Vec<&Lane> = pair.iter().collect();
        if rows.is_empty() {
            rows = empty(&lanes);
        }
        // What a process does for the first time does not count.
        turns(&lanes, 1, slice, connections, body).await;
        let of_pair = turns(&lanes, rounds, slice, connections, body).await;
        for (row, of_pair) in rows.iter_mut().zip(of_pair) {
            row.slices.extend(of_pair.slices);
        }
    }
    Rows {
        body,
        rate: 0.0,
        rows,
    }
}

/// Closed loops, lane after lane, in rounds.
async fn turns(
    lanes: &[&Lane],
    rounds: usize,
    length: Duration,
    connections: usize,
    body: (usize, bool),
) -> Vec<Row> {
    let mut loads: Vec<Closed> = lanes
        .iter()
        .map(|lane| Closed::new(&lane.aim(body), connections))
        .collect();
    let mut rows = empty(lanes);
    for round in 0..rounds {
        for turn in 0..lanes.len() {
            let at = (round + turn) % lanes.len();
            let (lane, load) = (lanes[at], &mut loads[at]);
            let before = Rc::new(Cell::new([Duration::ZERO; 2]));
            let (process, upstream) = (lane.process, lane.upstream);
            let now = move || {
                let own = process.map_or(Duration::ZERO, cpu_time);
                let others = upstream.into_iter().chain([std::process::id()]);
                [own, own + others.map(cpu_time).sum::<Duration>()]
            };
            let note = Rc::clone(&before);
            let measured = load.slice(length, move || note.set(now())).await;
            let (now, before, answered) = (now(), before.get(), measured.answered().max(1));
            let [cpu_us, all_us] = [0, 1].map(|at| {
                let took: Duration = now[at].saturating_sub(before[at]);
                took.as_secs_f64() * 1e6 / answered as f64
            });
            rows[at].slices.push(Slice {
                measured,
                cpu_us,
                all_us,
            });
            lane.settle().await;
        }
    }
    rows
}

fn empty(lanes: &[&Lane]) -> Vec<Row> {
    let row = |lane: &&Lane| Row {
        name: lane.name.clone(),
        slices: Vec::new(),
    };
    lanes.iter().map(row).collect()
}

async fn half_load(options: &Options, lanes: &[Lane], body: (usize, bool), rate: f64) -> Rows {
    let is_compared = |name: &str| COMPARED.contains(&name) || name == "nginx";
    let lanes: Vec<&Lane> = lanes.iter().filter(|l| is_compared(&l.name)).collect();
    let mut loads: Vec<Paced> = lanes
        .iter()
        .map(|lane| Paced::new(&lane.aim(body), options.connections))
        .collect();
    let mut rows = empty(&lanes);
    for round in 0..options.rounds {
        for turn in 0..lanes.len() {
            let at = (round + turn) % lanes.len();
            rows[at].slices.push(Slice {
                measured: loads[at].slice(rate, options.slice),
                cpu_us: 0.0,
                all_us: 0.0,
            });
            lanes[at].settle().await;
        }
    }
    Rows { body, rate, rows }
}

pub(crate) fn label((size, stream): (usize, bool)) -> String {
    format!("{} KB{}", size / 1000, if stream { ", events" } else { "" })
}

fn progress(what: &str) {
    let mut out = std::io::stderr();
    // Progress that cannot be shown is no reason to stop.
    let _ = writeln!(out, "{what}");
}
