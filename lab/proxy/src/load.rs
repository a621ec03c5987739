//! The load: closed loops for throughput, a fixed rate for latency. Both keep their connections between slices.

use std::time::{Duration, Instant};

use crate::wire::{Aimed, ThreadWire, Wire};

/// Before anything counts. Longer than the ledger holds rows back: so what it writes while a slice counts is as
/// much as comes in meanwhile.
const WARM_UP: Duration = Duration::from_millis(300);

/// What came of a slice, or of several.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// Sorted.
    times: Vec<Duration>,
    took: Duration,
    pub(crate) failed: usize,
}

impl Measured {
    /// Several slices as one.
    pub(crate) fn join<'m>(slices: impl IntoIterator<Item = &'m Self>) -> Self {
        let mut sum = Self::default();
        for slice in slices {
            sum.times.extend_from_slice(&slice.times);
            sum.took += slice.took;
            sum.failed += slice.failed;
        }
        sum.times.sort_unstable();
        sum
    }

    fn of(lanes: impl IntoIterator<Item = (Vec<Duration>, usize)>, took: Duration) -> Self {
        let mut sum = Self {
            took,
            ..Self::default()
        };
        for (times, failed) in lanes {
            sum.times.extend(times);
            sum.failed += failed;
        }
        sum.times.sort_unstable();
        sum
    }

    pub(crate) fn answered(&self) -> usize {
        self.times.len()
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.times.len() as f64 / self.took.as_secs_f64().max(1e-9)
    }

    /// The time within which this share was answered.
    pub(crate) fn ms(&self, share: f64) -> f64 {
        let index = (self.times.len() as f64 * share) as usize;
        let time = self.times.get(index).or(self.times.last());
        time.map_or(0.0, |time| time.as_secs_f64() * 1e3)
    }
}

/// Clients that each send their next request when the last one is answered. One thread has all of them.
pub(crate) struct Closed(Vec<Wire>);

impl Closed {
    pub(crate) fn new(aimed: &Aimed, connections: usize) -> Self {
        Self((0..connections).map(|_| Wire::new(aimed)).collect())
    }

    /// As many requests as they can make. `begins` is called when it begins to count.
    pub(crate) async fn slice(
        &mut self,
        length: Duration,
        begins: impl FnOnce() + 'static,
    ) -> Measured {
        let warm_until = Instant::now() + WARM_UP;
        let until = warm_until + length;
        let local = tokio::task::LocalSet::new();
        let lanes: Vec<_> = self
            .0
            .drain(..)
            .map(|wire| local.spawn_local(keep_firing(wire, warm_until, until)))
            .collect();
        local.spawn_local(async move {
            tokio::time::sleep_until(warm_until.into()).await;
            begins();
        });
        let mut done = Vec::new();
        local
            .run_until(async {
                for lane in lanes {
                    if let Ok((wire, times, failed)) = lane.await {
                        self.0.push(wire);
                        done.push((times, failed));
                    }
                }
            })
            .await;
        Measured::of(done, length)
    }

    /// A number of requests, of which each connection has its share; how many failed.
    pub(crate) async fn all(&mut self, requests: usize) -> usize {
        let share = requests / self.0.len().max(1);
        let mut lanes = tokio::task::JoinSet::new();
        for mut wire in self.0.drain(..) {
            lanes.spawn(async move {
                let mut failed = 0;
                for _ in 0..share {
                    failed += usize::from(wire.fire().await.is_err());
                }
                (wire, failed)
            });
        }
        let mut sum = 0;
        for (wire, failed) in lanes.join_all().await {
            self.0.push(wire);
            sum += failed;
        }
        sum
    }
}

/// What was begun in time counts, when it was answered in time.
async fn keep_firing(
    mut wire: Wire,
    warm_until: Instant,
    until: Instant,
) -> (Wire, Vec<Duration>, usize) {
    let (mut times, mut failed) = (Vec::new(), 0);
    loop {
        let started = Instant::now();
        if started >= until {
            return (wire, times, failed);
        }
        let result = wire.fire().await;
        let now = Instant::now();
        if now >= warm_until && now < until {
            match result {
                Ok(()) => times.push(now - started),
                Err(_) => failed += 1,
            }
        }
        if failed > 0 && times.is_empty() {
            // Nobody is to be flooded who answers nothing.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Requests at a fixed rate, over connections that take turns, each with a thread of its own.
pub(crate) struct Paced(Vec<ThreadWire>);

impl Paced {
    pub(crate) fn new(aimed: &Aimed, connections: usize) -> Self {
        Self((0..connections).map(|_| ThreadWire::new(aimed)).collect())
    }

    /// A request that could not start when it was due, because the one before it on its connection was not done,
    /// counts from the moment at which it was due. What a thread wakes up late by does not count.
    pub(crate) fn slice(&mut self, per_second: f64, length: Duration) -> Measured {
        let connections = self.0.len();
        let every = Duration::from_secs_f64(connections as f64 / per_second.max(1.0));
        let begin = Instant::now();
        let warm_until = begin + WARM_UP;
        let until = warm_until + length;
        let done: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = self
                .0
                .iter_mut()
                .enumerate()
                .map(|(at, wire)| {
                    let first = begin + every.mul_f64(at as f64 / connections as f64);
                    scope.spawn(move || keep_pace(wire, first, every, warm_until, until))
                })
                .collect();
            threads
                .into_iter()
                .filter_map(|thread| thread.join().ok())
                .collect()
        });
        Measured::of(done, length)
    }
}

fn keep_pace(
    wire: &mut ThreadWire,
    mut due: Instant,
    every: Duration,
    warm_until: Instant,
    until: Instant,
) -> (Vec<Duration>, usize) {
    let (mut times, mut failed) = (Vec::new(), 0);
    while due < until {
        let now = Instant::now();
        if now < due {
            std::thread::sleep(due - now);
        }
        let since = if now < due { Instant::now() } else { due };
        let result = wire.fire();
        if due >= warm_until {
            match result {
                Ok(()) => times.push(since.elapsed()),
                Err(_) => failed += 1,
            }
        }
        due += every;
    }
    (times, failed)
}
