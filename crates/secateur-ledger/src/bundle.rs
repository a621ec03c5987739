//! Many rows in one of SQLite's: of a row that no mechanic looked at there are a few numbers to keep, and to give it a
//! place in tables and indexes is several times the work of writing them down. A bundle is its rows as `packed.rs` describes them,
//! then eight bytes for each thing that they are like (the numbers of its series and of its kind), then how many things these
//! are, in one byte. SQL can read that (the view `audit` does).
//!
//! A request is recorded when it ends and found by when it began, so what is written together began at different times:
//! bundles overlap, and other rows lie between theirs.
//!
//! **Invariant:** the rows of a bundle are less than [`MAX_SPAN`] apart. So whoever looks for a time knows where bundles with rows
//! of it can begin.

mod json;

use crate::error::LedgerError;
use crate::number::first_at;
use crate::packed::{BYTES, Packed};
use crate::plain::Figures;
use crate::row::Millis;

/// Fewer are kept as rows: where little happens, nothing is gained.
pub(crate) const MIN_ROWS: usize = 32;
/// Two bundles of as many fill a page of the file.
pub(crate) const MAX_ROWS: usize = 126;
/// Rows of a bundle are less than this apart.
pub(crate) const MAX_SPAN: Millis = 1_000;

/// Finds the bundles that may have rows of [`between`].
pub(crate) const BETWEEN: &str = "SELECT seq, entries FROM audit_bundle \
    WHERE seq > $1 AND seq <= $2 AND last_seq >= $3 ORDER BY seq";

/// The parameters of [`BETWEEN`] for rows with numbers from `from` to `to`.
pub(crate) fn between(from: i64, to: i64) -> [i64; 3] {
    [begins_after(from), to, from]
}

/// A bundle with a row of this number or a later one begins after this.
pub(crate) fn begins_after(number: i64) -> i64 {
    number.saturating_sub(first_at(MAX_SPAN))
}

/// A bundle that begins before this number has no row from this one on.
pub(crate) fn ends_before(number: i64) -> i64 {
    number.saturating_add(first_at(MAX_SPAN))
}

/// One row of a bundle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bundled {
    pub(crate) seq: i64,
    pub(crate) series: i64,
    pub(crate) kind: i64,
    pub(crate) own: Figures,
}

/// The numbers of what rows are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Like {
    pub(crate) series: u32,
    pub(crate) kind: u32,
}

const LIKE_BYTES: usize = 8;

impl Like {
    /// `None`: there are more of them than a bundle can tell.
    pub(crate) fn of(series: i64, kind: i64) -> Option<Self> {
        Some(Self {
            series: u32::try_from(series).ok()?,
            kind: u32::try_from(kind).ok()?,
        })
    }
}

/// A bundle that is written.
#[derive(Debug)]
pub(crate) struct Bundle {
    /// The smallest number in it and the largest.
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) likes: Vec<Like>,
    pub(crate) entries: Vec<u8>,
}

impl Bundle {
    /// Each row with its number, and with its place in `likes`, of which there are at most 255.
    pub(crate) fn of(rows: impl Iterator<Item = (i64, Packed)>, likes: Vec<Like>) -> Self {
        let mut entries = Vec::with_capacity(MAX_ROWS * BYTES + likes.len() * LIKE_BYTES + 1);
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        for (seq, row) in rows {
            (first, last) = (first.min(seq), last.max(seq));
            entries.extend_from_slice(row.with_seq(seq).bytes());
        }
        for like in &likes {
            entries.extend_from_slice(&like.series.to_be_bytes());
            entries.extend_from_slice(&like.kind.to_be_bytes());
        }
        entries.push(u8::try_from(likes.len()).unwrap_or(u8::MAX));
        Self {
            first,
            last,
            likes,
            entries,
        }
    }
}

/// What a bundle's column holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entries<'e> {
    Packed(&'e [u8]),
    /// As version 4 of the schema wrote it.
    Json(&'e str),
}

/// The rows of bundle `first`.
pub(crate) fn read(first: i64, entries: Entries<'_>) -> Result<Vec<Bundled>, LedgerError> {
    match entries {
        Entries::Json(json) => json::read(first, json),
        Entries::Packed(bytes) => unpack(bytes)
            .ok_or_else(|| LedgerError::Unreadable(format!("bundle {first} is damaged"))),
    }
}

fn unpack(bytes: &[u8]) -> Option<Vec<Bundled>> {
    let (&likes, bytes) = bytes.split_last()?;
    let likes = usize::from(likes) * LIKE_BYTES;
    let (rows, likes) = bytes.split_at_checked(bytes.len().checked_sub(likes)?)?;
    let (rows, []) = rows.as_chunks::<BYTES>() else {
        return None;
    };
    let likes = likes.as_chunks::<LIKE_BYTES>().0;
    let row = |bytes: &[u8; BYTES]| {
        let packed = Packed::from_bytes(*bytes);
        let &[a, b, c, d, kind @ ..] = likes.get(packed.like())?;
        Some(Bundled {
            seq: packed.seq(),
            series: u32::from_be_bytes([a, b, c, d]).into(),
            kind: u32::from_be_bytes(kind).into(),
            own: packed.figures(),
        })
    };
    rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::time;

    fn rows() -> Vec<Bundled> {
        let first = first_at(1_794_787_200_000);
        let row = |place: i64| {
            let seq = first + (place * 37 % 100) * 123_457;
            let bytes = place.cast_unsigned() * 3;
            Bundled {
                seq,
                series: place % 3,
                kind: 1 << (place % 3 * 15),
                own: Figures {
                    at: time(seq),
                    fresh: Some(place.wrapping_mul(0x1e37_79b9_7f4a_7c15)),
                    bytes_before: bytes,
                    bytes_after: bytes,
                    total_us: 1 << 31,
                    actual_usd: (place % 2 == 0).then_some(0.1),
                    ..Figures::default()
                },
            }
        };
        (0..100).map(row).collect()
    }

    fn bundle(rows: &[Bundled]) -> Bundle {
        let likes = (0..3).map(|place| Like::of(place, 1 << (place * 15)).unwrap());
        let row = |row: &Bundled| {
            let like = usize::try_from(row.series).unwrap();
            (row.seq, Packed::of(&row.own, like).unwrap())
        };
        Bundle::of(rows.iter().map(row), likes.collect())
    }

    #[test]
    fn rows_come_back_as_they_went_in() {
        let rows = rows();
        let bundle = bundle(&rows);
        assert_eq!(bundle.entries.len(), 100 * BYTES + 3 * LIKE_BYTES + 1);
        let numbers = rows.iter().map(|row| row.seq);
        assert_eq!(Some(bundle.first), numbers.clone().min());
        assert_eq!(Some(bundle.last), numbers.max());
        assert_eq!(read(0, Entries::Packed(&bundle.entries)).unwrap(), rows);
    }

    #[test]
    fn two_full_ones_fill_a_page() {
        let one: Vec<Bundled> = rows().into_iter().cycle().take(MAX_ROWS).collect();
        // A page has 8 bytes of its own, and for each of its rows 2 and a head of at most 21.
        let with_head = bundle(&one).entries.len() + 23;
        assert!(
            (15_900..=16_384 - 8).contains(&(2 * with_head)),
            "{with_head}"
        );
    }

    #[test]
    fn what_is_no_bundle_is_said_so() {
        assert_eq!(read(0, Entries::Packed(&[0])).unwrap(), []);
        let whole = bundle(&rows()).entries;
        let mut strange = whole.clone();
        strange[BYTES - 1] = 3;
        let mut more_likes = whole.clone();
        *more_likes.last_mut().unwrap() = 255;
        let one_like: &[u8] = &[1];
        for bytes in [&[], one_like, &whole[1..], &strange, &more_likes] {
            let found = read(7, Entries::Packed(bytes));
            assert!(matches!(found, Err(LedgerError::Unreadable(_))));
        }
    }
}
