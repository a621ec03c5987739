//! Whether each upstream answers, and whether its clock and ours agree.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::reach::{Reached, reach};
use secateur_ledger::moment;
use secateur_proxy::Config;

use super::finding::Finding;
use crate::failure::Failure;

/// A larger difference spoils signatures, sessions and days of the ledger.
const MAX_SKEW_S: i64 = 60;

pub(super) fn findings(config: &Config) -> Result<Vec<Finding>, Failure> {
    let all = config.workloads.values().flat_map(|workload| {
        let upstreams = &workload.upstreams;
        let is_built_in = |provider| upstreams.is_built_in(provider);
        upstreams
            .all()
            .map(move |(provider, url)| (url.to_string(), is_built_in(provider)))
    });
    let addresses: BTreeMap<String, bool> = all.collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::bad_input(error.to_string()))?;
    let mut found = Vec::new();
    let mut skew = None;
    for (address, is_built_in) in addresses {
        let Ok(uri) = address.parse() else { continue };
        match runtime.block_on(reach(config, &uri)) {
            Ok(reached) => {
                skew = skew.or_else(|| skew_of(&reached));
                found.push(answered(&address, &reached));
            }
            Err(error) => {
                let todo = "check the network, a firewall, and upstream in the configuration; ca_file for a certificate of your own";
                let words = format!("{address}: {error}");
                // Nobody needs all of the built-in ones.
                found.push(match is_built_in {
                    true => Finding::warning("upstream", words, todo),
                    false => Finding::error("upstream", words, todo),
                });
            }
        }
    }
    found.push(clock(skew));
    Ok(found)
}

fn answered(address: &str, reached: &Reached) -> Finding {
    let words = format!("{address} answers in {} ms", reached.took.as_millis());
    if reached.status >= 500 {
        let words = format!("{words}, with status {}", reached.status);
        return Finding::warning(
            "upstream",
            words,
            "try again; see the provider's status page",
        );
    }
    Finding::ok("upstream", words)
}

/// Seconds by which our clock is ahead of the upstream's.
fn skew_of(reached: &Reached) -> Option<i64> {
    let theirs = http_date(reached.date.as_deref()?)?;
    let ours = reached.at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(i64::try_from(ours.as_secs()).ok()? - theirs)
}

/// `Wed, 18 Nov 2026 03:46:42 GMT`, in seconds since 1970.
fn http_date(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let mut words = text.split_once(", ")?.1.split(' ');
    let (day, month, year, time) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let midnight = moment::day_start(&format!("{year}-{month:02}-{day:0>2}"))? / 1000;
    let mut parts = time.split(':').map(str::parse::<i64>);
    let mut next = || parts.next()?.ok();
    Some(midnight + next()? * 3600 + next()? * 60 + next()?)
}

fn clock(skew: Option<i64>) -> Finding {
    match skew {
        None => Finding::warning("clock", "not compared: no upstream sent a date", ""),
        Some(skew) if skew.abs() > MAX_SKEW_S => {
            let words = format!(
                "{} s {} the upstream's",
                skew.abs(),
                if skew > 0 { "ahead of" } else { "behind" }
            );
            Finding::warning(
                "clock",
                words,
                "set the clock; switch time synchronisation on",
            )
        }
        Some(_) => Finding::ok("clock", "agrees with the upstream's"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Grade;

    #[test]
    fn dates_of_headers_are_read_and_a_wrong_clock_is_reported() {
        assert_eq!(http_date("Thu, 01 Jan 1970 00:01:05 GMT"), Some(65));
        assert_eq!(
            http_date("Wed, 18 Nov 2026 03:46:42 GMT"),
            Some(1_794_973_602)
        );
        assert_eq!(http_date("yesterday"), None);
        assert_eq!(clock(Some(-300)).grade, Grade::Warning);
        assert_eq!(clock(Some(3)).grade, Grade::Ok);
    }
}
