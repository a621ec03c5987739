//! Timestamps of logs.

/// Whether so many milliseconds since 1970 are before the year 10000.
pub(super) fn is_date(millis: i64) -> bool {
    (0..253_402_300_800_000).contains(&millis)
}

/// Reads `2026-11-18T05:18:26.922Z`, also with an offset such as `+01:00`, as milliseconds since 1970.
pub(super) fn millis_of(text: &str) -> Option<i64> {
    let (day, clock) = text.split_once(['T', ' '])?;
    let mut day = day.splitn(3, '-').map(|part| part.parse::<u16>().ok());
    let (year, month, date) = (day.next()??, day.next()??, day.next()??);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&date) {
        return None;
    }
    let (clock, offset_minutes) = match clock.find(['Z', '+', '-']) {
        Some(at) => (&clock[..at], offset_of(&clock[at..])?),
        None => (clock, 0),
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut clock = clock.splitn(3, ':').map(|part| part.parse::<u8>().ok());
    let (hour, minute) = (clock.next()??, clock.next()??);
    let second = clock.next().unwrap_or(Some(0))?;
    let fraction: String = fraction.chars().chain("000".chars()).take(3).collect();
    let millis: i64 = fraction.parse().ok()?;
    let minutes = i64::from(hour) * 60 + i64::from(minute) - offset_minutes;
    let days = days_since_1970(i64::from(year), i64::from(month), i64::from(date));
    Some(((days * 1440 + minutes) * 60 + i64::from(second)) * 1000 + millis)
}

fn offset_of(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits: String = text[1..].chars().filter(|c| *c != ':').collect();
    let hours: i64 = digits.get(..2)?.parse().ok()?;
    let minutes: i64 = digits.get(2..4).unwrap_or("0").parse().ok()?;
    Some(sign * (hours * 60 + minutes))
}

/// Years begin in March here, so that the leap day is the last of its year.
fn days_since_1970(year: i64, month: i64, date: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let of_year = (153 * month + 2) / 5 + date - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_timestamps_with_fractions_and_offsets() {
        assert_eq!(millis_of("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(
            millis_of("2026-11-18T05:18:26.922Z"),
            Some(1_794_979_106_922)
        );
        assert_eq!(
            millis_of("2026-11-18T06:18:26.922123+01:00"),
            Some(1_794_979_106_922)
        );
        assert_eq!(millis_of("2024-02-29T00:00:00Z"), Some(1_709_164_800_000));
        for bad in ["", "2026-11-18", "2026-13-01T00:00:00Z", "yesterdayTnoon"] {
            assert_eq!(millis_of(bad), None, "{bad}");
        }
    }
}
