//! Where requests that no mechanic looked at wait until there are enough of them to be handed on in one piece. Each thread has
//! a lane of its own: what two threads write to in turn has to be brought from one core to the other every time.
//!
//! **Invariant:** whoever holds a lane may lock the queue, and nobody who holds the queue locks a lane.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::alike::{Alike, Likeness};
use crate::bundle::MAX_ROWS;
use crate::number::LAST_TIME;
use crate::packed::Packed;
use crate::plain::Figures;
use crate::record::Record;
use crate::row::{Millis, Row};
use crate::sheaf::Sheaf;

/// As many threads are by themselves; more of them share.
const LANES: usize = 32;
/// Rows that are handed on together: what is kept together.
const SHEAF_ROWS: usize = MAX_ROWS;
/// Rows that a lane remembers for those like them.
const MAX_KNOWN: usize = 16;

#[derive(Debug, Default)]
struct Lane {
    /// What rows were like that came without it, the one that was found last first.
    known: Vec<Likeness>,
    sheaf: Sheaf,
    is_closed: bool,
}

/// What a request has in common with others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LikeWhat<'a> {
    Alike(&'a Alike<'a>),
    /// Found by whoever records it.
    Kept(&'a Likeness),
}

impl LikeWhat<'_> {
    /// The whole row, fit for any database.
    fn record(self, id: &str, own: &Figures) -> Record {
        Record::of(match self {
            Self::Alike(alike) => alike.row(id, own),
            Self::Kept(Likeness(like)) => Row {
                id: id.to_owned(),
                ..own.row_like(like)
            },
        })
    }
}

/// A lane in memory of its own. Aligned, because cores fetch memory in pieces of this size.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Own(Mutex<Lane>);

/// See the module.
#[derive(Debug)]
pub(crate) struct Lanes {
    lanes: [Own; LANES],
    /// Rows of a full sheaf.
    full: usize,
}

/// What became of a request.
#[derive(Debug, PartialEq)]
pub(crate) enum Taken {
    /// It waits.
    Waits,
    /// It has more to itself than figures, and goes by itself.
    Alone(Record),
    /// Nothing is taken any more.
    Refused,
}

thread_local! {
    static LANE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The lane of this thread, in every ledger the same.
fn lane_of_this_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    LANE.get().unwrap_or_else(|| {
        let lane = NEXT.fetch_add(1, Ordering::Relaxed) % LANES;
        LANE.set(Some(lane));
        lane
    })
}

impl Lanes {
    /// For a queue of so many rows.
    pub(crate) fn new(max_rows: usize) -> Self {
        Self {
            lanes: Default::default(),
            full: SHEAF_ROWS.min(max_rows).max(1),
        }
    }

    /// Takes a request. `hand_on` gets what is full, while the lane is held: whoever empties the lanes after that finds the
    /// rows here or handed on.
    pub(crate) fn add(
        &self,
        id: &str,
        like: LikeWhat<'_>,
        own: Figures,
        hand_on: impl FnOnce(Sheaf),
    ) -> Taken {
        let Own(lane) = &self.lanes[lane_of_this_thread()];
        let mut lane = lock(lane);
        if lane.is_closed {
            return Taken::Refused;
        }
        let Some(packed) = fit(own).and_then(|own| Packed::of(&own, 0)) else {
            return Taken::Alone(like.record(id, &own));
        };
        lane.push(own.at, packed, like);
        if lane.sheaf.len() >= self.full {
            hand_on(lane.take());
        }
        Taken::Waits
    }

    /// Hands on what there is.
    pub(crate) fn empty(&self, mut hand_on: impl FnMut(Sheaf)) {
        for Own(lane) in &self.lanes {
            lock(lane).empty(&mut hand_on);
        }
    }

    /// The same, and nothing is taken any more.
    pub(crate) fn close(&self, mut hand_on: impl FnMut(Sheaf)) {
        for Own(lane) in &self.lanes {
            let mut lane = lock(lane);
            lane.is_closed = true;
            lane.empty(&mut hand_on);
        }
    }

    /// Rows that wait.
    pub(crate) fn rows(&self) -> usize {
        let rows = |Own(lane): &Own| lock(lane).sheaf.len();
        self.lanes.iter().map(rows).sum()
    }
}

/// A lane is changed in single steps, so a thread that panicked leaves it whole.
fn lock(lane: &Mutex<Lane>) -> MutexGuard<'_, Lane> {
    lane.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Figures that any database holds, and whose id they tell. What is like a row that is fit is fit itself, so nothing else
/// has to be looked at.
fn fit(mut own: Figures) -> Option<Figures> {
    let is_in_range = (0..=LAST_TIME).contains(&own.at);
    own.actual_usd = own.actual_usd.filter(|usd| usd.is_finite());
    own.actual_input_usd = own.actual_input_usd.filter(|usd| usd.is_finite());
    (is_in_range && own.fresh.is_some()).then_some(own)
}

impl Lane {
    fn push(&mut self, at: Millis, own: Packed, like: LikeWhat<'_>) {
        let like = match like {
            LikeWhat::Kept(like) => like,
            LikeWhat::Alike(alike) => find(&mut self.known, alike),
        };
        self.sheaf.push(at, own, like);
    }

    fn empty(&mut self, hand_on: &mut impl FnMut(Sheaf)) {
        if self.sheaf.len() > 0 {
            hand_on(self.take());
        }
    }

    /// The sheaf. The next one is likely to become as long.
    fn take(&mut self) -> Sheaf {
        let next = Sheaf::with_room(self.sheaf.len());
        std::mem::replace(&mut self.sheaf, next)
    }
}

/// What is known of it, which is the first then.
fn find<'k>(known: &'k mut Vec<Likeness>, alike: &Alike<'_>) -> &'k Likeness {
    match known.iter().position(|like| like.0.alike() == *alike) {
        Some(at) => known.swap(0, at),
        None => {
            known.truncate(MAX_KNOWN - 1);
            known.insert(0, alike.keep());
        }
    }
    &known[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number;
    use crate::plain::is_plain;
    use crate::row::{ReceiptRow, StepRow, UsageRow};

    const AT: Millis = 1_794_787_200_000;

    fn row(number: i64) -> Row {
        let at = AT + number;
        let count = number.cast_unsigned();
        Row {
            id: number::id(at, number.wrapping_mul(0x1e37_79b9_7f4a_7c15)),
            at,
            workload: "w".into(),
            provider: "openai".into(),
            model: (number % 2 == 0).then(|| format!("m{}", number % 12)),
            status: if number % 5 == 0 { 500 } else { 200 },
            bytes_before: count,
            bytes_after: count,
            response_bytes: 9,
            added_us: count,
            upstream_head_us: (number % 3 == 0).then_some(4),
            total_us: 7,
            usage: UsageRow {
                input: Some(count),
                ..UsageRow::default()
            },
            receipt: ReceiptRow {
                actual_usd: Some(0.5),
                actual_input_usd: Some(0.25),
                ..ReceiptRow::default()
            },
            ended: "complete".into(),
            ..Row::default()
        }
    }

    /// Adds a row as a request that no mechanic looked at.
    fn add(lanes: &Lanes, row: &Row, full: &mut Vec<Sheaf>) -> Taken {
        let alike = row.alike();
        lanes.add(
            &row.id,
            LikeWhat::Alike(&alike),
            Figures::of(row),
            |sheaf| {
                full.push(sheaf);
            },
        )
    }

    fn rows(sheaves: &[Sheaf]) -> Vec<Row> {
        let entries = sheaves.iter().flat_map(Sheaf::entries);
        entries.map(|entry| entry.row()).collect()
    }

    #[test]
    fn rows_come_back_as_they_were_and_in_their_order() {
        let lanes = Lanes::new(10_000);
        let all: Vec<Row> = (0..400).map(row).collect();
        let mut sheaves = Vec::new();
        for row in &all {
            assert_eq!(add(&lanes, row, &mut sheaves), Taken::Waits);
        }
        assert_eq!(sheaves.len(), 400 / SHEAF_ROWS);
        assert_eq!(lanes.rows(), 400 % SHEAF_ROWS);
        lanes.empty(|sheaf| sheaves.push(sheaf));
        assert_eq!((rows(&sheaves), lanes.rows()), (all.clone(), 0));
        let single = sheaves.iter().flat_map(Sheaf::single);
        let wanted = all.into_iter().map(|row| Record::Row(Box::new(row)));
        assert!(single.eq(wanted));
    }

    #[test]
    fn a_small_queue_gets_small_sheaves() {
        let (lanes, mut full) = (Lanes::new(3), Vec::new());
        for number in 0..8 {
            add(&lanes, &row(number), &mut full);
        }
        let lengths: Vec<usize> = full.iter().map(Sheaf::len).collect();
        assert_eq!((lengths, lanes.rows()), (vec![3, 3], 2));
    }

    #[test]
    fn a_row_that_figures_do_not_tell_goes_by_itself() {
        let (lanes, mut full) = (Lanes::new(9), Vec::new());
        add(&lanes, &row(1), &mut full);
        let named = Row {
            id: "posted".into(),
            ..row(1)
        };
        let late = Row {
            at: LAST_TIME + 1,
            ..row(1)
        };
        let large = Row {
            response_bytes: u64::MAX / 2,
            ..row(1)
        };
        for row in [named, late, large] {
            let Taken::Alone(record) = add(&lanes, &row, &mut full) else {
                panic!("{row:?}");
            };
            let fit = Row {
                at: row.at.min(LAST_TIME),
                ..row
            };
            assert_eq!(record, Record::Row(Box::new(fit)));
        }
        assert_eq!(lanes.rows(), 1);
    }

    #[test]
    fn what_is_not_fit_is_made_fit_also_where_another_is_alike() {
        let (lanes, mut full) = (Lanes::new(9), Vec::new());
        let mut unfit = row(2);
        unfit.receipt.actual_usd = Some(f64::NAN);
        unfit.workload.push('\0');
        add(&lanes, &unfit, &mut full);
        add(&lanes, &unfit, &mut full);
        lanes.empty(|sheaf| full.push(sheaf));
        let found = rows(&full);
        assert_eq!(found.len(), 2);
        for row in found {
            assert_eq!(row.workload, "w\u{fffd}");
            assert_eq!(row.receipt.actual_usd, None);
        }
    }

    #[test]
    fn what_is_kept_by_others_is_like_what_is_compared() {
        let (lanes, mut full) = (Lanes::new(99), Vec::new());
        let all: Vec<Row> = (0..30).map(row).collect();
        let kept: Vec<Likeness> = all.iter().map(|row| row.alike().keep()).collect();
        for (row, kept) in all.iter().zip(&kept) {
            let taken = lanes.add(&row.id, LikeWhat::Kept(kept), Figures::of(row), |_| ());
            assert_eq!(taken, Taken::Waits);
        }
        lanes.empty(|sheaf| full.push(sheaf));
        assert_eq!(rows(&full), all);
        let named = Row {
            id: "posted".into(),
            ..row(1)
        };
        let taken = lanes.add(
            "posted",
            LikeWhat::Kept(&kept[1]),
            Figures::of(&named),
            |_| (),
        );
        assert_eq!(taken, Taken::Alone(Record::Row(Box::new(named))));
    }

    #[test]
    fn a_lane_that_is_closed_gives_what_it_has_and_takes_nothing() {
        let (lanes, mut full) = (Lanes::new(9), Vec::new());
        add(&lanes, &row(1), &mut full);
        lanes.close(|sheaf| full.push(sheaf));
        assert_eq!(rows(&full), [row(1)]);
        assert_eq!(add(&lanes, &row(2), &mut full), Taken::Refused);
        assert_eq!(lanes.rows(), 0);
    }

    #[test]
    fn threads_have_lanes_of_their_own_and_lose_nothing() {
        let lanes = Lanes::new(10_000);
        let all = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (lanes, all) = (&lanes, &all);
                scope.spawn(move || {
                    for number in 0..1_000 {
                        let row = row(thread * 1_000 + number);
                        let hand_on = |sheaf| all.lock().unwrap().push(sheaf);
                        let (alike, own) = (row.alike(), Figures::of(&row));
                        lanes.add(&row.id, LikeWhat::Alike(&alike), own, hand_on);
                    }
                });
            }
            for _ in 0..50 {
                lanes.empty(|sheaf| all.lock().unwrap().push(sheaf));
            }
        });
        lanes.close(|sheaf| all.lock().unwrap().push(sheaf));
        let mut found = rows(&all.into_inner().unwrap());
        found.sort_by_key(|row| row.at);
        assert!(
            found
                .iter()
                .eq((0..4_000).map(row).collect::<Vec<_>>().iter())
        );
    }

    #[test]
    fn a_row_with_more_to_itself_is_not_plain() {
        let changes: [fn(&mut Row); 5] = [
            |row| row.plan = Some("{}".into()),
            |row| row.session = Some("s".into()),
            |row| row.chars_after = Some(1),
            |row| row.receipt.saved_usd = Some(0.1),
            |row| {
                row.steps.push(StepRow {
                    mechanic: "m7".into(),
                    skipped: None,
                });
            },
        ];
        assert!(is_plain(&row(1)));
        for change in changes {
            let mut row = row(1);
            change(&mut row);
            assert!(!is_plain(&row), "{row:?}");
        }
    }
}
