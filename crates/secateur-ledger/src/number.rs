//! The number of a row in SQLite: its time, then its turn within the millisecond. Rows lie in the file in the
//! order of their numbers, and every index ends in them: so none has to hold the time, and a new row goes to the end.
//!
//! A request's id begins with its time. Of such an id a row keeps only the rest, and is found by the time.

use crate::row::Millis;

/// Bits for the turn.
const TURN_BITS: u32 = 21;
/// The largest turn.
pub(crate) const LAST_TURN: i64 = (1 << TURN_BITS) - 1;
/// The last moment that a number can hold, in the year 2109.
pub(crate) const LAST_TIME: Millis = (1 << (63 - TURN_BITS)) - 1;

const TIME_DIGITS: usize = 11;
const FRESH_DIGITS: usize = 16;

/// No row of this moment or later has a smaller number, and none before it a larger or the same.
pub(crate) fn first_at(at: Millis) -> i64 {
    match at {
        ..=0 => 0,
        at if at > LAST_TIME => i64::MAX,
        at => at << TURN_BITS,
    }
}

/// The time of the row with this number.
pub(crate) fn time(number: i64) -> Millis {
    number >> TURN_BITS
}

/// What tells a request's id from others of the same millisecond, if the id begins with this time.
pub(crate) fn fresh(id: &str, at: Millis) -> Option<i64> {
    let (time, fresh) = id.as_bytes().split_at_checked(TIME_DIGITS)?;
    let is_its_time = fresh.len() == FRESH_DIGITS && digits(time)?.cast_signed() == at;
    digits(fresh).filter(|_| is_its_time).map(u64::cast_signed)
}

/// The id that [`fresh`] takes apart.
pub(crate) fn id(at: Millis, fresh: i64) -> String {
    format!("{at:0TIME_DIGITS$x}{fresh:0FRESH_DIGITS$x}")
}

/// The time that an id begins with, if it is a request's.
pub(crate) fn time_of(id: &str) -> Option<Millis> {
    let time = digits(id.as_bytes().get(..TIME_DIGITS)?)?.cast_signed();
    fresh(id, time).map(|_| time)
}

/// What a digit stands for; more than four bits where it is none. Capitals are none: they would not come back the
/// same.
const DIGITS: [u8; 256] = {
    let mut digits = [0xf0; 256];
    let mut at = 0;
    while at < 16 {
        digits[b"0123456789abcdef"[at] as usize] = at as u8;
        at += 1;
    }
    digits
};

fn digits(text: &[u8]) -> Option<u64> {
    let (mut number, mut all) = (0, 0);
    for byte in text {
        let digit = DIGITS[usize::from(*byte)];
        all |= digit;
        number = number << 4 | u64::from(digit);
    }
    (all < 16).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_gives_its_time_only_if_it_is_written_as_the_proxy_does() {
        let at = 1_794_787_200_000;
        let id = format!("{at:011x}{:016x}", u64::MAX - 5);
        assert_eq!(fresh(&id, at), Some(-6));
        assert_eq!(time_of(&id), Some(at));
        assert_eq!(super::id(at, -6), id);
        assert_eq!(fresh(&id, at + 1), None);
        for other in [
            id.to_uppercase(),
            format!("{id}0"),
            id[1..].to_owned(),
            "é".repeat(13) + "x",
            String::new(),
        ] {
            assert_eq!(
                (fresh(&other, at), time_of(&other)),
                (None, None),
                "{other}"
            );
        }
    }

    #[test]
    fn numbers_grow_with_time_and_stay_in_range() {
        let times = [
            -5,
            0,
            1,
            1_794_787_200_000,
            LAST_TIME,
            LAST_TIME + 1,
            i64::MAX,
        ];
        let numbers: Vec<i64> = times.iter().map(|&at| first_at(at)).collect();
        assert!(numbers.is_sorted() && numbers[0] == 0);
        assert!(first_at(LAST_TIME).checked_add(LAST_TURN).is_some());
        assert_eq!(first_at(8) - first_at(7), LAST_TURN + 1);
    }
}
