//! Times as the pages show and read them: UTC, without a calendar library.

use std::time::{SystemTime, UNIX_EPOCH};

use secateur_ledger::Millis;

/// One day.
pub(crate) const DAY: Millis = 86_400_000;

/// The clock.
pub(crate) fn now() -> Millis {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}

/// The midnight before.
pub(crate) fn day_start(at: Millis) -> Millis {
    at - at.rem_euclid(DAY)
}

/// A moment, ready to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(crate) Millis);

/// Year, month and day of a number of days since 1970, by the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // Years begin in March here, so that the leap day is the last of its year.
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
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

impl Moment {
    fn clock(self) -> (i64, i64, i64) {
        let seconds = self.0.rem_euclid(DAY) / 1000;
        (seconds / 3600, seconds / 60 % 60, seconds % 60)
    }

    /// `2026-11-16`.
    pub(crate) fn day(self) -> String {
        let (year, month, day) = civil(self.0.div_euclid(DAY));
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// `11-16`.
    pub(crate) fn short_day(self) -> String {
        let (_, month, day) = civil(self.0.div_euclid(DAY));
        format!("{month:02}-{day:02}")
    }

    /// `05:02`.
    pub(crate) fn hour(self) -> String {
        let (hour, minute, _) = self.clock();
        format!("{hour:02}:{minute:02}")
    }

    /// `05:02:33`.
    pub(crate) fn second(self) -> String {
        let (hour, minute, second) = self.clock();
        format!("{hour:02}:{minute:02}:{second:02}")
    }

    /// `2026-11-16T05:02:33Z`, for machines.
    pub(crate) fn iso(self) -> String {
        format!("{}T{}Z", self.day(), self.second())
    }

    /// `2026-11-16 05:02:33`.
    pub(crate) fn full(self) -> String {
        format!("{} {}", self.day(), self.second())
    }

    /// `2026-11-16T05:02`, as a date and time field wants it.
    pub(crate) fn field(self) -> String {
        format!("{}T{}", self.day(), self.hour())
    }
}

/// Reads `2026-11-16`, `2026-11-16T05:02` or `2026-11-16T05:02:33`, UTC.
pub(crate) fn read(text: &str) -> Option<Millis> {
    let (day, clock) = match text.split_once(['T', ' ']) {
        Some((day, clock)) => (day, clock.trim_end_matches('Z')),
        None => (text, "00:00"),
    };
    let number = |text: &str| text.parse::<u16>().ok().map(i64::from);
    let mut day = day.splitn(3, '-').map(number);
    let (year, month, date) = (day.next()??, day.next()??, day.next()??);
    let mut clock = clock.splitn(3, ':').map(number);
    let (hour, minute) = (clock.next()??, clock.next()??);
    let second = clock.next().unwrap_or(Some(0))?;
    let is_real = (1..=12).contains(&month) && (1..=31).contains(&date);
    if !is_real || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days_of(year, month, date);
    (civil(days) == (year, month, date))
        .then_some(days * DAY + (hour * 3600 + minute * 60 + second) * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_are_spelled_right() {
        assert_eq!(Moment(0).iso(), "1970-01-01T00:00:00Z");
        assert_eq!(Moment(951_782_399_000).iso(), "2000-02-28T23:59:59Z");
        assert_eq!(Moment(951_782_400_000).iso(), "2000-02-29T00:00:00Z");
        assert_eq!(Moment(1_794_805_353_123).iso(), "2026-11-16T05:02:33Z");
        assert_eq!(Moment(-1).iso(), "1969-12-31T23:59:59Z");
    }

    #[test]
    fn what_is_shown_is_read_back() {
        for day in (-200_000..400_000).step_by(97) {
            let at = day * DAY + 3_661_000;
            let moment = Moment(at);
            if (0..=9999).contains(&civil(day).0) {
                assert_eq!(read(&moment.iso()), Some(at), "{}", moment.iso());
                assert_eq!(read(&moment.day()), Some(day_start(at)));
            }
        }
    }

    #[test]
    fn what_is_no_date_is_not_read() {
        for text in [
            "",
            "x",
            "2026-13-01",
            "2026-02-30",
            "2026-11-16T25:00",
            "2026-11",
            "-1-1-1",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
