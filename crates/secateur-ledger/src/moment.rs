//! Moments and days, UTC: the one place that knows the calendar.

use std::time::SystemTime;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use crate::row::Millis;

/// One day.
pub const DAY_MS: Millis = 86_400_000;

/// The clock.
#[must_use]
pub fn now() -> Millis {
    millis(SystemTime::now())
}

/// A moment as rows keep it; before 1970 it is 1970.
#[must_use]
pub fn millis(at: SystemTime) -> Millis {
    let since = at
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}

/// The midnight before.
#[must_use]
pub fn midnight(at: Millis) -> Millis {
    at - at.rem_euclid(DAY_MS)
}

/// The day of a moment, `2026-11-16`.
#[must_use]
pub fn day_of(at: Millis) -> String {
    Moment(at).day()
}

/// The first moment of a day given as `2026-11-16`; `None` if it is not a day.
#[must_use]
pub fn day_start(day: &str) -> Option<Millis> {
    let mut parts = day.splitn(3, '-').map(|part| part.parse::<u16>().ok());
    let (year, month, date) = (parts.next()??, parts.next()??, parts.next()??);
    let small = |number: u16| i8::try_from(number).ok();
    let date = Date::new(i16::try_from(year).ok()?, small(month)?, small(date)?).ok()?;
    let midnight = TimeZone::UTC.to_timestamp(date.into()).ok()?;
    Some(midnight.as_millisecond())
}

/// Reads `2026-11-16`, `2026-11-16T05:02` or `2026-11-16T05:02:33`, with or without a `Z`.
#[must_use]
pub fn read(text: &str) -> Option<Millis> {
    let (day, clock) = match text.split_once(['T', ' ']) {
        Some((day, clock)) => (day, clock.strip_suffix('Z').unwrap_or(clock)),
        None => (text, "00:00"),
    };
    let number = |text: &str| text.parse::<u8>().ok().map(i64::from);
    let mut clock = clock.splitn(3, ':').map(number);
    let (hour, minute) = (clock.next()??, clock.next()??);
    let second = clock.next().unwrap_or(Some(0))?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(day_start(day)? + (hour * 3600 + minute * 60 + second) * 1000)
}

/// A moment, ready to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub Millis);

impl Moment {
    /// What lies beyond the calendar is its first or last moment.
    fn civil(self) -> DateTime {
        let bound = match self.0 {
            past if past < 0 => Timestamp::MIN,
            _ => Timestamp::MAX,
        };
        let at = Timestamp::from_millisecond(self.0).unwrap_or(bound);
        TimeZone::UTC.to_datetime(at)
    }

    /// `2026-11-16`.
    #[must_use]
    pub fn day(self) -> String {
        let at = self.civil();
        format!("{:04}-{:02}-{:02}", at.year(), at.month(), at.day())
    }

    /// `11-16`.
    #[must_use]
    pub fn short_day(self) -> String {
        let at = self.civil();
        format!("{:02}-{:02}", at.month(), at.day())
    }

    /// `05:02`.
    #[must_use]
    pub fn hour(self) -> String {
        let at = self.civil();
        format!("{:02}:{:02}", at.hour(), at.minute())
    }

    /// `05:02:33`.
    #[must_use]
    pub fn second(self) -> String {
        let at = self.civil();
        format!("{:02}:{:02}:{:02}", at.hour(), at.minute(), at.second())
    }

    /// `2026-11-16T05:02:33Z`, for machines.
    #[must_use]
    pub fn iso(self) -> String {
        format!("{}T{}Z", self.day(), self.second())
    }

    /// `2026-11-16T05:02:33.123Z`.
    #[must_use]
    pub fn iso_millis(self) -> String {
        let milli = self.0.rem_euclid(1000);
        format!("{}T{}.{milli:03}Z", self.day(), self.second())
    }

    /// `2026-11-16 05:02:33`.
    #[must_use]
    pub fn full(self) -> String {
        format!("{} {}", self.day(), self.second())
    }

    /// `2026-11-16T05:02`, as a date and time field wants it.
    #[must_use]
    pub fn field(self) -> String {
        format!("{}T{}", self.day(), self.hour())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_come_back_and_follow_each_other() {
        assert_eq!(day_of(0), "1970-01-01");
        assert_eq!(day_of(-1), "1969-12-31");
        assert_eq!(day_of(1_794_805_323_000), "2026-11-16");
        let mut at = day_start("1999-12-30").unwrap();
        let mut last = String::new();
        for _ in 0..60_000 {
            let day = day_of(at);
            assert!(day > last);
            assert_eq!(day_start(&day), Some(at));
            assert_eq!(midnight(at + 4711), at);
            assert_eq!(day_of(at + DAY_MS - 1), day);
            last = day;
            at += DAY_MS;
        }
    }

    #[test]
    fn known_moments_are_spelled_right() {
        assert_eq!(Moment(0).iso(), "1970-01-01T00:00:00Z");
        assert_eq!(Moment(951_782_399_000).iso(), "2000-02-28T23:59:59Z");
        assert_eq!(Moment(951_782_400_000).iso(), "2000-02-29T00:00:00Z");
        assert_eq!(Moment(-1).iso(), "1969-12-31T23:59:59Z");
        let moment = Moment(1_794_805_353_007);
        assert_eq!(moment.iso_millis(), "2026-11-16T05:02:33.007Z");
        assert_eq!(moment.full(), "2026-11-16 05:02:33");
        assert_eq!(moment.field(), "2026-11-16T05:02");
        assert_eq!(
            (moment.short_day(), moment.hour()),
            ("11-16".into(), "05:02".into())
        );
    }

    #[test]
    fn what_is_shown_is_read_back() {
        for day in (-200_000..400_000).step_by(97) {
            let at = day * DAY_MS + 3_661_000;
            let moment = Moment(at);
            if (0..=9999).contains(&moment.civil().year()) {
                assert_eq!(read(&moment.iso()), Some(at), "{}", moment.iso());
                assert_eq!(read(&moment.day()), Some(midnight(at)));
            }
        }
    }

    #[test]
    fn what_is_no_date_is_not_read() {
        for text in [
            "",
            "x",
            "today",
            "2026-1",
            "2026-11",
            "2026-13-01",
            "2026-02-29",
            "2026-02-30",
            "2026-04-31",
            "2026-11-16T25:00",
            "2026-11-16T",
            "-1-1-1",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
