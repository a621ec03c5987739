//! Figures in 64 bytes, which is what cores fetch in one piece: as they wait to be written down, and as a bundle of SQLite
//! keeps them.
//!
//! Numbers have their highest byte first, and all bits set where there is none:
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | the row's number; its turn is 0 until it is written |
//! | 8 | what the id has behind the time |
//! | 8, 8 | `actual_usd`, `actual_input_usd`: bits of a float that is 0, or at least 2^-70 and below 2^53 |
//! | 4, 4, 4, 4 | bytes of the body and of the answer, `total_us`, `upstream_head_us` |
//! | 3, 3, 3, 3, 3 | `added_us`, tokens: input, read from the cache, written to it, output |
//! | 1 | the place of what it is like |
//!
//! The view `audit` reads them with what SQL has: hence the range of floats.

use crate::number::{first_at, time};
use crate::plain::Figures;
use crate::row::{Millis, UsageRow};

pub(crate) const BYTES: usize = 64;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed([u8; BYTES]);

/// Numbers in four and in three bytes.
const WIDE: u32 = u32::MAX;
const NARROW: u32 = 0xff_ffff;
const NO_USD: u64 = u64::MAX;

/// `none` stands for a count that is not there.
fn count(count: u64, none: u32) -> Option<u32> {
    u32::try_from(count).ok().filter(|&count| count < none)
}

fn maybe(given: Option<u64>, none: u32) -> Option<u32> {
    given.map_or(Some(none), |given| count(given, none))
}

/// What exponents stand for that the view can undo.
const EXPONENTS: std::ops::RangeInclusive<u64> = 953..=1075;

fn usd(given: Option<f64>) -> Option<u64> {
    let bits = given.map_or(NO_USD, f64::to_bits);
    let is_fit = bits == NO_USD || bits == 0 || EXPONENTS.contains(&(bits >> 52));
    is_fit.then_some(bits)
}

impl Packed {
    /// `None`: a figure is out of range, or the body was changed, or the id is no number.
    pub(crate) fn of(own: &Figures, like: usize) -> Option<Self> {
        if own.bytes_after != own.bytes_before {
            return None;
        }
        let mut packed = [0; BYTES];
        let (numbers, rest) = packed.as_mut_slice().split_at_mut(32);
        let numbers = numbers.as_chunks_mut().0.iter_mut();
        let eights = [
            first_at(own.at).cast_unsigned(),
            own.fresh?.cast_unsigned(),
            usd(own.actual_usd)?,
            usd(own.actual_input_usd)?,
        ];
        for (place, number) in numbers.zip(eights) {
            *place = number.to_be_bytes();
        }
        let (wide, narrow) = rest.split_at_mut(16);
        let fours = [
            count(own.bytes_before, WIDE)?,
            count(own.response_bytes, WIDE)?,
            count(own.total_us, WIDE)?,
            maybe(own.upstream_head_us, WIDE)?,
        ];
        for (place, number) in wide.as_chunks_mut().0.iter_mut().zip(fours) {
            *place = number.to_be_bytes();
        }
        let threes = [
            count(own.added_us, NARROW)?,
            maybe(own.usage.input, NARROW)?,
            maybe(own.usage.cache_read, NARROW)?,
            maybe(own.usage.cache_write, NARROW)?,
            maybe(own.usage.output, NARROW)?,
        ];
        for (place, number) in narrow.as_chunks_mut().0.iter_mut().zip(threes) {
            let [_, number @ ..] = number.to_be_bytes();
            *place = number;
        }
        packed[BYTES - 1] = u8::try_from(like).ok()?;
        Some(Self(packed))
    }

    pub(crate) fn from_bytes(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    fn eights(&self) -> [u64; 4] {
        let mut numbers = self.0.as_chunks().0.iter().copied().map(u64::from_be_bytes);
        std::array::from_fn(|_| numbers.next().unwrap_or(0))
    }

    fn fours(&self) -> [u32; 4] {
        let mut numbers = self.0[32..].as_chunks().0.iter().copied();
        std::array::from_fn(|_| numbers.next().map_or(0, u32::from_be_bytes))
    }

    fn threes(&self) -> [u32; 5] {
        let mut numbers = self.0[48..].as_chunks().0.iter();
        std::array::from_fn(|_| {
            let &[a, b, c] = numbers.next().unwrap_or(&[0; 3]);
            u32::from_be_bytes([0, a, b, c])
        })
    }

    pub(crate) fn seq(&self) -> i64 {
        self.eights()[0].cast_signed()
    }

    /// The same with a turn.
    pub(crate) fn with_seq(mut self, seq: i64) -> Self {
        self.0[..8].copy_from_slice(&seq.to_be_bytes());
        self
    }

    /// The same, like another.
    pub(crate) fn with_like(mut self, like: u8) -> Self {
        self.0[BYTES - 1] = like;
        self
    }

    pub(crate) fn at(&self) -> Millis {
        time(self.seq())
    }

    pub(crate) fn fresh(&self) -> i64 {
        self.eights()[1].cast_signed()
    }

    pub(crate) fn like(&self) -> usize {
        self.0[BYTES - 1].into()
    }

    #[inline]
    pub(crate) fn figures(&self) -> Figures {
        let [seq, fresh, actual, actual_input] = self.eights();
        let usd = |bits: u64| (bits != NO_USD).then_some(f64::from_bits(bits));
        let [bytes, response_bytes, total_us, head_us] = self.fours();
        let [added_us, tokens @ ..] = self.threes();
        let tokens = tokens.map(|count| (count != NARROW).then_some(u64::from(count)));
        let [input, cache_read, cache_write, output] = tokens;
        Figures {
            at: time(seq.cast_signed()),
            fresh: Some(fresh.cast_signed()),
            bytes_before: bytes.into(),
            bytes_after: bytes.into(),
            response_bytes: response_bytes.into(),
            added_us: added_us.into(),
            upstream_head_us: (head_us != WIDE).then_some(head_us.into()),
            total_us: total_us.into(),
            usage: UsageRow {
                input,
                cache_read,
                cache_write,
                output,
            },
            actual_usd: usd(actual),
            actual_input_usd: usd(actual_input),
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
            actual_input_usd: Some(0.0),
        }
    }

    const WIDEST: u64 = WIDE as u64 - 1;
    const NARROWEST: u64 = NARROW as u64 - 1;

    #[test]
    fn figures_come_back_as_they_were() {
        let changes: [fn(&mut Figures); 20] = [
            |_| (),
            |own| own.at = 0,
            |own| own.at = crate::number::LAST_TIME,
            |own| own.fresh = Some(i64::MAX),
            |own| (own.bytes_before, own.bytes_after) = (WIDEST, WIDEST),
            |own| own.response_bytes = WIDEST,
            |own| own.total_us = 0,
            |own| own.total_us = WIDEST,
            |own| own.added_us = NARROWEST,
            |own| own.upstream_head_us = None,
            |own| own.upstream_head_us = Some(WIDEST),
            |own| own.usage.input = None,
            |own| own.usage.cache_read = Some(NARROWEST),
            |own| own.usage.cache_write = None,
            |own| own.usage.output = Some(NARROWEST),
            |own| own.actual_usd = None,
            |own| own.actual_input_usd = None,
            |own| own.actual_usd = Some(1e-21),
            |own| own.actual_input_usd = Some(9_007_199_254_740_991.0),
            |own| own.usage = UsageRow::default(),
        ];
        for change in changes {
            let mut own = figures();
            change(&mut own);
            let packed = Packed::of(&own, 3).unwrap();
            assert_eq!((packed.figures(), packed.like()), (own, 3));
            assert_eq!((packed.at(), Some(packed.fresh())), (own.at, own.fresh));
            let turned = packed.with_seq(packed.seq() + 5);
            assert_eq!((turned.figures(), turned.like()), (own, 3));
            assert_eq!(turned.seq(), first_at(own.at) + 5);
            let other = packed.with_like(200);
            assert_eq!((other.figures(), other.like()), (own, 200));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let changes: [fn(&mut Figures); 18] = [
            |own| own.fresh = None,
            |own| own.bytes_after = 2,
            |own| (own.bytes_before, own.bytes_after) = (WIDEST + 1, WIDEST + 1),
            |own| own.response_bytes = WIDEST + 1,
            |own| own.response_bytes = u64::from(u32::MAX) + 7,
            |own| own.added_us = NARROWEST + 1,
            |own| own.total_us = u64::MAX,
            |own| own.upstream_head_us = Some(WIDEST + 1),
            |own| own.usage.input = Some(NARROWEST + 1),
            |own| own.usage.cache_read = Some(NARROWEST + 1),
            |own| own.usage.cache_write = Some(NARROWEST + 1),
            |own| own.usage.output = Some(u64::MAX),
            |own| own.actual_usd = Some(-0.0),
            |own| own.actual_usd = Some(-1.0),
            |own| own.actual_usd = Some(f64::NAN),
            |own| own.actual_input_usd = Some(1e-23),
            |own| own.actual_input_usd = Some(9_007_199_254_740_992.0),
            |own| own.actual_input_usd = Some(f64::INFINITY),
        ];
        for change in changes {
            let mut own = figures();
            change(&mut own);
            assert_eq!(Packed::of(&own, 0), None, "{own:?}");
        }
        assert_eq!(Packed::of(&figures(), 256), None);
    }
}
