//! Moments as people write and read them. UTC throughout.

use secateur_ledger::{Millis, day_of, day_start};

const MINUTE_MS: Millis = 60_000;
const DAY_MS: Millis = 86_400_000;

pub(crate) fn now() -> Millis {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
    })
}

/// `2026-11-16`, `2026-11-16T08:30`, `30m`, `24h`, `7d`.
pub(crate) fn parse_moment(text: &str) -> Result<Millis, String> {
    moment(text, now()).ok_or_else(|| {
        "write a day (2026-11-16), a minute (2026-11-16T08:30, UTC), or a time back from now (30m, 24h, 7d)".to_owned()
    })
}

fn moment(text: &str, now: Millis) -> Option<Millis> {
    for (ending, unit) in [("m", MINUTE_MS), ("h", 60 * MINUTE_MS), ("d", DAY_MS)] {
        if let Some(count) = text
            .strip_suffix(ending)
            .and_then(|count| count.parse::<u32>().ok())
        {
            return Some(now - i64::from(count) * unit);
        }
    }
    let (day, clock) = text.split_once('T').unwrap_or((text, "00:00"));
    let (hours, minutes) = clock.trim_end_matches('Z').split_once(':')?;
    let (hours, minutes): (u8, u8) = (hours.parse().ok()?, minutes.parse().ok()?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    Some(day_start(day)? + (i64::from(hours) * 60 + i64::from(minutes)) * MINUTE_MS)
}

/// `2026-11-16 08:30:05`.
pub(crate) fn spell(at: Millis) -> String {
    let of_day = at.rem_euclid(DAY_MS) / 1_000;
    format!(
        "{} {:02}:{:02}:{:02}",
        day_of(at),
        of_day / 3_600,
        of_day / 60 % 60,
        of_day % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_and_spelled() {
        let monday = day_start("2026-11-16").unwrap();
        assert_eq!(moment("2026-11-16", 0), Some(monday));
        assert_eq!(
            moment("2026-11-16T08:30", 0),
            Some(monday + 510 * MINUTE_MS)
        );
        assert_eq!(moment("24h", monday), Some(monday - DAY_MS));
        assert_eq!(moment("7d", monday), moment("2026-11-09", 0));
        assert_eq!(
            spell(monday + 510 * MINUTE_MS + 5_999),
            "2026-11-16 08:30:05"
        );
        for wrong in ["", "yesterday", "2026-11-31", "2026-11-16T25:00", "5y"] {
            assert_eq!(moment(wrong, 0), None, "{wrong}");
        }
    }
}
