//! Figures in a little more than the memory that cores fetch in one piece. Many rows wait at a time, and when they are written
//! down, on another thread, all of that has to be fetched again.

use crate::plain::Figures;
use crate::row::UsageRow;

/// Stands for a count that is not there.
const NONE: u32 = u32::MAX;

/// [`Figures`] of a row whose id they tell, and the place of what it is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Packed {
    pub(crate) at: i64,
    pub(crate) fresh: i64,
    /// Not a number: none is known.
    usd: [f64; 2],
    counts: [u32; 9],
    pub(crate) like: u32,
}

fn count(count: u64) -> Option<u32> {
    u32::try_from(count).ok().filter(|&count| count != NONE)
}

fn maybe(given: Option<u64>) -> Option<u32> {
    given.map_or(Some(NONE), count)
}

impl Packed {
    /// `None`: a figure is too large, or the body was changed, or the id is no number.
    pub(crate) fn of(own: &Figures, like: usize) -> Option<Self> {
        if own.bytes_after != own.bytes_before {
            return None;
        }
        let usd = |usd: Option<f64>| usd.unwrap_or(f64::NAN);
        Some(Self {
            at: own.at,
            fresh: own.fresh?,
            usd: [usd(own.actual_usd), usd(own.actual_input_usd)],
            counts: [
                count(own.bytes_before)?,
                count(own.response_bytes)?,
                count(own.added_us)?,
                count(own.total_us)?,
                maybe(own.upstream_head_us)?,
                maybe(own.usage.input)?,
                maybe(own.usage.cache_read)?,
                maybe(own.usage.cache_write)?,
                maybe(own.usage.output)?,
            ],
            like: u32::try_from(like).ok()?,
        })
    }

    #[inline]
    pub(crate) fn figures(&self) -> Figures {
        let [bytes, response_bytes, added_us, total_us, maybe @ ..] = self.counts;
        let maybe = maybe.map(|count| (count != NONE).then_some(u64::from(count)));
        let [upstream_head_us, input, cache_read, cache_write, output] = maybe;
        let [actual_usd, actual_input_usd] = self.usd.map(|usd| (!usd.is_nan()).then_some(usd));
        Figures {
            at: self.at,
            fresh: Some(self.fresh),
            bytes_before: bytes.into(),
            bytes_after: bytes.into(),
            response_bytes: response_bytes.into(),
            added_us: added_us.into(),
            upstream_head_us,
            total_us: total_us.into(),
            usage: UsageRow {
                input,
                cache_read,
                cache_write,
                output,
            },
            actual_usd,
            actual_input_usd,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        Figures {
            at: 1_794_787_200_000,
            fresh: Some(-7),
            bytes_before: 1,
            bytes_after: 1,
            response_bytes: 2,
            added_us: 3,
            upstream_head_us: Some(4),
            total_us: 5,
            usage: UsageRow {
                input: Some(6),
                cache_read: Some(7),
                cache_write: Some(8),
                output: Some(9),
            },
            actual_usd: Some(0.5),
            actual_input_usd: Some(-0.0),
        }
    }

    const LARGEST: u64 = NONE as u64 - 1;

    #[test]
    fn figures_come_back_as_they_were() {
        assert_eq!(size_of::<Packed>(), 72);
        let changes: [fn(&mut Figures); 12] = [
            |_| (),
            |own| (own.bytes_before, own.bytes_after) = (LARGEST, LARGEST),
            |own| own.response_bytes = LARGEST,
            |own| own.total_us = 0,
            |own| own.upstream_head_us = None,
            |own| own.usage.input = None,
            |own| own.usage.cache_read = Some(LARGEST),
            |own| own.usage.cache_write = None,
            |own| own.usage.output = None,
            |own| own.actual_usd = None,
            |own| own.actual_input_usd = None,
            |own| own.usage = UsageRow::default(),
        ];
        for change in changes {
            let mut own = figures();
            change(&mut own);
            assert_eq!(Packed::of(&own, 3).unwrap().figures(), own);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let changes: [fn(&mut Figures); 11] = [
            |own| own.fresh = None,
            |own| own.bytes_after = 2,
            |own| (own.bytes_before, own.bytes_after) = (LARGEST + 1, LARGEST + 1),
            |own| own.response_bytes = LARGEST + 1,
            |own| own.added_us = LARGEST + 2,
            |own| own.total_us = u64::MAX,
            |own| own.upstream_head_us = Some(LARGEST + 1),
            |own| own.usage.input = Some(LARGEST + 1),
            |own| own.usage.cache_read = Some(LARGEST + 1),
            |own| own.usage.cache_write = Some(LARGEST + 1),
            |own| own.usage.output = Some(LARGEST + 1),
        ];
        for change in changes {
            let mut own = figures();
            change(&mut own);
            assert_eq!(Packed::of(&own, 0), None, "{own:?}");
        }
    }
}
