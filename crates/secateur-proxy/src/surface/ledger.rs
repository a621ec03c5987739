//! How the ledger is doing, for operators: metrics, and a log line when something changes.

use std::time::{Duration, Instant};

use secateur_ledger::{Ledger, LedgerStats};

use super::log::{Field, Log};

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Rows that go on being lost are told no more often than this.
const TELL_LOST_EVERY: Duration = Duration::from_secs(60);

/// Writes log lines for as long as the runtime lives.
pub(crate) async fn watch(ledger: Ledger, log: Log) {
    let mut watch = Watch::default();
    loop {
        watch.look(&ledger.stats(), Instant::now(), &log);
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// What was told already.
#[derive(Debug, Default)]
struct Watch {
    is_away: bool,
    outages: u64,
    is_spool_away: bool,
    lost: u64,
    lost_told: Option<Instant>,
}

impl Watch {
    fn look(&mut self, stats: &LedgerStats, now: Instant, log: &Log) {
        let counts = || {
            [
                ("queued", Field::from(stats.queued)),
                ("spooled", stats.spooled.into()),
                ("lost", stats.lost.into()),
            ]
        };
        let tell = |level: &str, event: &str, reason: Option<&String>| {
            let reason = reason.map(|reason| ("reason", Field::from(reason.as_str())));
            let fields: Vec<(&str, Field)> = reason.into_iter().chain(counts()).collect();
            log.line(level, event, &fields);
        };
        // One that is over already is told as well.
        if stats.outages > self.outages {
            self.outages = stats.outages;
            self.is_away = true;
            let reason = stats.away.as_ref().or(stats.last_error.as_ref());
            tell("error", "ledger_unavailable", reason);
        }
        if self.is_away && stats.away.is_none() {
            self.is_away = false;
            tell("info", "ledger_recovered", None);
        }
        if self.is_spool_away != stats.spool_away.is_some() {
            self.is_spool_away = stats.spool_away.is_some();
            match &stats.spool_away {
                Some(_) => tell(
                    "error",
                    "ledger_spool_unavailable",
                    stats.spool_away.as_ref(),
                ),
                None => tell("info", "ledger_spool_recovered", None),
            }
        }
        let is_due = self
            .lost_told
            .is_none_or(|told| now.duration_since(told) >= TELL_LOST_EVERY);
        if stats.lost > self.lost && is_due {
            self.lost = stats.lost;
            self.lost_told = Some(now);
            tell("error", "ledger_lost", stats.last_error.as_ref());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LogFormat;
    use crate::surface::Captured;

    #[test]
    fn every_change_is_told_once_and_losses_now_and_then() {
        let out = Captured::default();
        let log = Log::to(LogFormat::Json, out.clone());
        let (mut watch, start) = (Watch::default(), Instant::now());
        let well = LedgerStats {
            outages: 1,
            ..LedgerStats::default()
        };
        let away = LedgerStats {
            outages: 1,
            away: Some("does not answer".into()),
            spool_away: Some("spool: full".into()),
            ..LedgerStats::default()
        };
        let losing = |lost: u64| LedgerStats {
            lost,
            ..away.clone()
        };
        let fresh = LedgerStats::default();
        for (second, stats) in [&fresh, &away, &away, &losing(5), &losing(9), &well]
            .into_iter()
            .enumerate()
        {
            watch.look(stats, start + Duration::from_secs(second as u64), &log);
        }
        // One that was over before anybody looked, and losses a minute later.
        let brief = LedgerStats {
            outages: 2,
            lost: 11,
            last_error: Some("removed".into()),
            ..LedgerStats::default()
        };
        watch.look(&brief, start + Duration::from_secs(70), &log);
        log.flush();
        let text = out.text();
        let events: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split("\"event\":\"").nth(1)?.split('"').next())
            .collect();
        assert_eq!(
            events,
            [
                "ledger_unavailable",
                "ledger_spool_unavailable",
                "ledger_lost",
                "ledger_recovered",
                "ledger_spool_recovered",
                "ledger_unavailable",
                "ledger_recovered",
                "ledger_lost"
            ],
            "{text}"
        );
        assert!(
            text.contains("does not answer") && text.contains("\"lost\":11"),
            "{text}"
        );
    }
}
