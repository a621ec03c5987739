//! How far back a replay goes.

use secateur_ledger::Millis;
use secateur_ledger::moment::DAY_MS;

use crate::time::{now, parse_moment};

/// How many days back a replay goes without `--since`.
const DEFAULT_DAYS: i64 = 30;

/// From when on requests count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// All of them.
    All,
    /// From a moment on, and how it was written.
    From(Millis, String),
}

pub(crate) fn parse_since(text: &str) -> Result<Since, String> {
    if text == "all" {
        return Ok(Since::All);
    }
    let at = parse_moment(text).map_err(|known| format!("{known}, or `all`"))?;
    Ok(Since::From(at, text.to_owned()))
}

impl Since {
    /// The last 30 days.
    pub(crate) fn usual() -> Self {
        Self::From(now() - DEFAULT_DAYS * DAY_MS, format!("{DEFAULT_DAYS}d"))
    }

    pub(crate) fn millis(&self) -> Option<Millis> {
        match self {
            Self::All => None,
            Self::From(at, _) => Some(*at),
        }
    }

    /// `Last 30 days`, `Since 2026-11-01`, `All logs`.
    pub(crate) fn describe(&self) -> String {
        let Self::From(_, text) = self else {
            return "All logs".to_owned();
        };
        for (ending, unit) in [("d", "day"), ("h", "hour"), ("m", "minute")] {
            match text.strip_suffix(ending).map(str::parse::<u32>) {
                Some(Ok(1)) => return format!("Last {unit}"),
                Some(Ok(count)) => return format!("Last {count} {unit}s"),
                _ => {}
            }
        }
        format!("Since {text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_described_as_it_was_written() {
        let describe = |text: &str| parse_since(text).unwrap().describe();
        assert_eq!(describe("7d"), "Last 7 days");
        assert_eq!(describe("1d"), "Last day");
        assert_eq!(describe("24h"), "Last 24 hours");
        assert_eq!(describe("2026-11-01"), "Since 2026-11-01");
        assert_eq!(describe("all"), "All logs");
        assert_eq!(Since::usual().describe(), "Last 30 days");
        assert!(parse_since("soon").unwrap_err().ends_with("or `all`"));
    }
}
