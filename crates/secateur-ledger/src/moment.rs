//! Moments and days, UTC, without a calendar library: the one place where dates are reckoned.

use std::time::SystemTime;

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
    let number = |text: &str| text.parse::<u16>().ok().map(i64::from);
    let mut parts = day.splitn(3, '-').map(number);
    let (year, month, date) = (parts.next()??, parts.next()??, parts.next()??);
    let is_near = year <= 9999 && (1..=12).contains(&month) && (1..=31).contains(&date);
    // A 31st of April would come back as the 1st of May.
    let days = is_near.then(|| days_of(year, month, date))?;
    (civil(days) == (year, month, date)).then_some(days * DAY_MS)
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

/// Year, month and day of a number of days since 1970, by the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // Days since 0000-03-01, in eras of 400 years of 146,097 days each; years begin in March here, so
    // that the leap day is the last of its year.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// The reverse of [`civil`].
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A moment, ready to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub Millis);

impl Moment {
    fn clock(self) -> (i64, i64, i64) {
        let seconds = self.0.rem_euclid(DAY_MS) / 1000;
        (seconds / 3600, seconds / 60 % 60, seconds % 60)
    }

    /// `2026-11-16`.
    #[must_use]
    pub fn day(self) -> String {
        let (year, month, day) = civil(self.0.div_euclid(DAY_MS));
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// `11-16`.
    #[must_use]
    pub fn short_day(self) -> String {
        let (_, month, day) = civil(self.0.div_euclid(DAY_MS));
        format!("{month:02}-{day:02}")
    }

    /// `05:02`.
    #[must_use]
    pub fn hour(self) -> String {
        let (hour, minute, _) = self.clock();
        format!("{hour:02}:{minute:02}")
    }

    /// `05:02:33`.
    #[must_use]
    pub fn second(self) -> String {
        let (hour, minute, second) = self.clock();
        format!("{hour:02}:{minute:02}:{second:02}")
    }

    /// `2026-11-16T05:02:33Z`, for machines.
    #[must_use]
    pub fn iso(self) -> String {
        format!("{}T{}Z", self.day(), self.second())
    }

    /// `2026-11-16T05:02:33.123Z`.
    #[must_use]
    pub fn iso_millis(self) -> String {
        let (year, month, day) = civil(self.0.div_euclid(DAY_MS));
        let (hour, minute, second) = self.clock();
        let milli = self.0.rem_euclid(1000);
        // In one go: every log line has one.
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
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
            if (0..=9999).contains(&civil(day).0) {
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
