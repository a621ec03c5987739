//! The thread that takes batches out of the queue and gives them to the writer, or to the spool.
//!
//! A batch that the database does not take within half a second is spooled as well: should the process
//! die now, it is there. If the database took it after all, the replay finds its rows and adds nothing.

use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use crate::moment::now;
use crate::options::PassThrough;
use crate::queue::{Flight, InFlight, State, Waiting};
use crate::record::Record;
use crate::rollup::Rollup;
use crate::shared::{CLOSING, Shared};
use crate::write_throttle::WriteThrottle;

/// A database that takes longer than this is slow: records go to the spool instead of waiting.
const SLOW: Duration = Duration::from_millis(500);

/// Runs until the queue is closed and empty.
pub(crate) fn move_batches(shared: &Shared) {
    let queue = &shared.queue;
    let mut next_tick = Instant::now() + shared.flush_every;
    let mut closing_since = None;
    let mut state = queue.lock();
    loop {
        let now = Instant::now();
        if now >= next_tick {
            state.flush_to = state.accepted;
            next_tick = now + shared.flush_every;
        }
        if state.is_closed && closing_since.is_none() {
            closing_since = Some(now);
        }
        let is_late = closing_since.is_some_and(|since| since.elapsed() > CLOSING);
        if state.is_closed
            && (is_late || state.len() == 0)
            && state
                .in_flight
                .as_ref()
                .is_none_or(|batch| batch.is_spooled || is_late)
        {
            break;
        }
        let moved;
        (state, moved) = step(shared, state);
        if !moved {
            let rest = next_tick.saturating_duration_since(Instant::now());
            let nap = if state.in_flight.is_some() || state.len() > 0 {
                rest.min(Duration::from_millis(50))
            } else {
                rest
            };
            state = queue.wait(&queue.for_mover, state, nap.max(Duration::from_millis(1)));
        }
    }
    let left = state.len();
    shared.lose(left);
    queue.settle(&mut state, left);
    state.is_drained = true;
    drop(state);
    queue.for_writer.notify_all();
}

/// One move, if there is one to make. Disk is written without the lock.
fn step<'a>(shared: &'a Shared, mut state: MutexGuard<'a, State>) -> (MutexGuard<'a, State>, bool) {
    let queue = &shared.queue;
    if let Some(batch) = &mut state.in_flight
        && batch.state == Flight::Failed
        && batch.is_spooled
    {
        state.in_flight = None;
    }
    let (is_up, is_due, is_crowded) = (state.is_up, state.is_due(), queue.is_crowded(&state));
    match &mut state.in_flight {
        // The database came back before the spool could take it.
        Some(batch) if batch.state == Flight::Failed && is_up => {
            batch.state = Flight::Pending;
            batch.is_taken = false;
            batch.since = Instant::now();
            queue.for_writer.notify_one();
            (state, true)
        }
        Some(batch)
            if !batch.is_spooled
                && (batch.state == Flight::Failed
                    || is_crowded
                    || batch.since.elapsed() > SLOW) =>
        {
            let records = Arc::clone(&batch.records);
            drop(state);
            let is_spooled = shared.put_in_spool(&records);
            let mut state = queue.lock();
            let is_same = |batch: &&mut InFlight| Arc::ptr_eq(&batch.records, &records);
            if is_spooled && let Some(batch) = state.in_flight.as_mut().filter(is_same) {
                batch.is_spooled = true;
                let count = batch.count;
                queue.settle(&mut state, count);
            }
            (state, is_spooled)
        }
        None if is_up && is_due => {
            let batch = state.take_batch();
            drop(state);
            // Nobody but this thread puts a batch in flight.
            let records = Arc::new(write_out(shared, batch));
            let count = Record::count_all(&records);
            let mut state = queue.lock();
            state.in_flight = Some(InFlight {
                records,
                count,
                since: Instant::now(),
                state: Flight::Pending,
                is_taken: false,
                is_spooled: false,
            });
            queue.for_writer.notify_one();
            (state, true)
        }
        in_flight => {
            // Nothing overtakes a batch that is not settled: settled records are always the first ones.
            let is_free = in_flight.as_ref().is_none_or(|batch| batch.is_spooled);
            let is_away = !is_up || in_flight.is_some();
            if !(is_free && is_away && is_due) {
                return (state, false);
            }
            let batch = state.take_batch();
            drop(state);
            let records = write_out(shared, batch);
            let is_spooled = shared.put_in_spool(&records);
            let mut state = queue.lock();
            if is_spooled {
                queue.settle(&mut state, Record::count_all(&records));
            } else {
                let waiting = |record| Waiting::new(record, None);
                state.put_back(records.into_iter().map(waiting).collect());
            }
            (state, is_spooled)
        }
    }
}

/// Makes the plans. Without the lock: requests push meanwhile.
fn write_out(shared: &Shared, batch: VecDeque<Waiting>) -> Vec<Record> {
    let throttle = WriteThrottle::new(&shared.queue);
    let whole = |waiting: Waiting| {
        if shared.pass_through == PassThrough::Sums && waiting.is_passed_through() {
            return waiting.without_plan();
        }
        if waiting.takes_long() {
            throttle.pause();
        }
        waiting.write_out()
    };
    let records = batch.into_iter().map(whole);
    match shared.pass_through {
        PassThrough::Rows => records.collect(),
        PassThrough::Sums => with_sums(records),
    }
}

/// Rows of requests that no mechanic touched become sums, all of a batch one record.
fn with_sums(records: impl Iterator<Item = Record>) -> Vec<Record> {
    let (mut rollup, mut requests) = (Rollup::default(), 0);
    let mut kept: Vec<Record> = Vec::new();
    for record in records {
        match record {
            Record::Row(row) if row.is_passed_through() => {
                rollup.add(&row);
                requests += 1;
            }
            other => kept.push(other),
        }
    }
    if requests > 0 {
        kept.push(Record::sums(rollup, requests, now()));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    #[test]
    fn requests_that_nothing_touched_become_one_record_and_keep_their_count() {
        let row = |stack: &str| {
            Record::of(Row {
                stack: stack.into(),
                ..Row::default()
            })
        };
        let rejected = Record::of(Row {
            struck_stack: "m7".into(),
            ..Row::default()
        });
        let all = [row(""), row("m7"), row(""), rejected.clone(), row("")];
        let records = with_sums(all.into_iter());
        assert_eq!(Record::count_all(&records), 5);
        let [first, second, Record::Sums(sums)] = records.as_slice() else {
            panic!("{records:?}")
        };
        assert_eq!((first, second), (&row("m7"), &rejected));
        assert_eq!(sums.requests, 3);
        let [one, other] = [1, 2].map(|_| Record::sums(Rollup::default(), 1, 7));
        assert_ne!(one, other, "ids are unique");
    }
}
