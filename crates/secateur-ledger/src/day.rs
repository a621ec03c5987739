//! Days in UTC, as the roll-ups name them.

use crate::row::Millis;

pub(crate) const DAY_MS: Millis = 86_400_000;

/// The day of a moment, `2026-11-16`.
#[must_use]
pub fn day_of(at: Millis) -> String {
    // Days since 0000-03-01, in eras of 400 years of 146,097 days each; the year starts in March so that
    // the leap day is its last.
    let days = at.div_euclid(DAY_MS) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The first moment of a day given as `2026-11-16`; `None` if it is not a day.
#[must_use]
pub fn day_start(day: &str) -> Option<Millis> {
    let mut parts = day.splitn(3, '-');
    let year: i64 = parts.next()?.parse().ok()?;
    let month: i64 = parts.next()?.parse().ok()?;
    let of_month: i64 = parts.next()?.parse().ok()?;
    if !(0..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&of_month) {
        return None;
    }
    let march_year = year - i64::from(month <= 2);
    let era = march_year.div_euclid(400);
    let year_of_era = march_year.rem_euclid(400);
    let march_month = (month + 9) % 12;
    let of_year = (153 * march_month + 2) / 5 + of_month - 1;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    let start = (era * 146_097 + of_era - 719_468) * DAY_MS;
    // A 31st of April would come back as the 1st of May.
    (day_of(start) == format!("{year:04}-{month:02}-{of_month:02}")).then_some(start)
}

/// The clock, for what depends on age.
pub(crate) fn now() -> Millis {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
    })
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
            assert_eq!(day_of(at + DAY_MS - 1), day);
            last = day;
            at += DAY_MS;
        }
        for wrong in ["2026-02-29", "2026-04-31", "2026-13-01", "today", "2026-1"] {
            assert_eq!(day_start(wrong), None, "{wrong}");
        }
    }
}
