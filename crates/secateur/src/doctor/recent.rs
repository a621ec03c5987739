//! The last requests: whether they were read from the provider's cache, failed, or went out unpruned.

use secateur_ledger::{Filter, Ledger, Row};
use secateur_proxy::Config;

use super::finding::Finding;
use crate::audit::answer;
use crate::table::counted;

/// So many of the newest.
const ROWS: u32 = 100;
/// A conversation with fewer requests shows nothing of the cache.
const MIN_REQUESTS: usize = 5;
/// A smaller share of the input from the cache is worth a warning.
const LOW_SHARE: f64 = 0.5;

pub(super) fn findings(config: &Config) -> Vec<Finding> {
    let Some(ledger) = &config.ledger else {
        return Vec::new();
    };
    // What is wrong with the ledger is reported elsewhere.
    let Ok(Ok(ledger)) = crate::audit::wait(Ledger::open_for_reading(ledger.url.reveal(), None))
    else {
        return Vec::new();
    };
    match answer(ledger.rows(&Filter::default(), None, ROWS)) {
        Ok(rows) => of_rows(&rows),
        Err(_) => Vec::new(),
    }
}

fn of_rows(rows: &[Row]) -> Vec<Finding> {
    let asked: Vec<&Row> = rows.iter().filter(|row| row.dialect.is_some()).collect();
    if asked.is_empty() {
        return vec![Finding::ok("requests", "none yet")];
    }
    let mut all = vec![cache(&asked)];
    let count = |is: fn(&Row) -> bool| asked.iter().filter(|row| is(row)).count() as u64;
    let failed = count(|row| row.status >= 400);
    if failed > 0 {
        let words = format!("{} of the last {} failed", failed, asked.len());
        all.push(Finding::warning(
            "requests",
            words,
            "secateur audit tail --trouble",
        ));
    }
    let unpruned = count(|row| row.failed_open.is_some());
    if unpruned > 0 {
        let words = format!(
            "{} unpruned in doubt, of the last {}",
            counted(unpruned, "request"),
            asked.len()
        );
        let todo = "secateur audit tail --trouble; over-budget: raise budget_ms of the workload";
        all.push(Finding::warning("requests", words, todo));
    }
    all
}

fn cache(asked: &[&Row]) -> Finding {
    let billed = asked.iter().filter(|row| row.usage.input.is_some());
    let (mut requests, mut input, mut read) = (0, 0, 0);
    for row in billed {
        requests += 1;
        input += row.usage.input.unwrap_or_default();
        read += row.usage.cache_read.unwrap_or_default();
    }
    if requests < MIN_REQUESTS || input == 0 {
        return Finding::ok("cache", "too few requests to judge");
    }
    let share = read as f64 / input as f64;
    let words = format!(
        "{:.0} % of the input of the last {requests} requests was read from the cache",
        share * 100.0
    );
    if share < LOW_SHARE {
        let todo = "secateur audit show ID says for each request why the cache was missed";
        return Finding::warning("cache", words, todo);
    }
    Finding::ok("cache", words)
}
