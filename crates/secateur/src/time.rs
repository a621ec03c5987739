//! Moments as people write and read them. UTC throughout.

use secateur_ledger::Millis;
pub(crate) use secateur_ledger::moment::now;
use secateur_ledger::moment::{self, DAY_MS, Moment};

const MINUTE_MS: Millis = 60_000;

/// `2026-11-16`, `2026-11-16T08:30`, `30m`, `24h`, `7d`.
pub(crate) fn parse_moment(text: &str) -> Result<Millis, String> {
    understood(text, now()).ok_or_else(|| {
        "write a day (2026-11-16), a minute (2026-11-16T08:30, UTC), or a time back from now (30m, 24h, 7d)".to_owned()
    })
}

fn understood(text: &str, now: Millis) -> Option<Millis> {
    for (ending, unit) in [("m", MINUTE_MS), ("h", 60 * MINUTE_MS), ("d", DAY_MS)] {
        if let Some(count) = text
            .strip_suffix(ending)
            .and_then(|count| count.parse::<u32>().ok())
        {
            return Some(now - i64::from(count) * unit);
        }
    }
    moment::read(text)
}

/// `2026-11-16 08:30:05`.
pub(crate) fn spell(at: Millis) -> String {
    Moment(at).full()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_and_spelled() {
        let monday = moment::read("2026-11-16").unwrap();
        assert_eq!(understood("2026-11-16", 0), Some(monday));
        assert_eq!(
            understood("2026-11-16T08:30", 0),
            Some(monday + 510 * MINUTE_MS)
        );
        assert_eq!(understood("24h", monday), Some(monday - DAY_MS));
        assert_eq!(understood("7d", monday), understood("2026-11-09", 0));
        assert_eq!(
            spell(monday + 510 * MINUTE_MS + 5_999),
            "2026-11-16 08:30:05"
        );
        for wrong in ["", "yesterday", "2026-11-31", "2026-11-16T25:00", "5y"] {
            assert_eq!(understood(wrong, 0), None, "{wrong}");
        }
    }
}
