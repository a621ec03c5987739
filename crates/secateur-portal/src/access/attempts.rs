//! How often the token may be tried: a few wrong tries at once, then one every so often, per
//! address. IPv6 addresses count by their /64, because one machine has a whole one.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use secateur_ledger::Millis;

/// Wrong tries that are free at first.
const BURST: f64 = 5.0;
/// One more try comes back after this.
const REFILL: Millis = 12_000;
/// Addresses remembered; beyond that all new ones share one budget.
const MAX_ADDRESSES: usize = 4096;

/// Wrong tries of the token, by address.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    wrong: Mutex<BTreeMap<Option<IpAddr>, (f64, Millis)>>,
}

fn network(peer: IpAddr) -> IpAddr {
    match peer {
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => IpAddr::V4(address),
            None => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
        },
        address => address,
    }
}

fn decayed((count, at): (f64, Millis), now: Millis) -> f64 {
    (count - (now - at).max(0) as f64 / REFILL as f64).max(0.0)
}

impl Attempts {
    /// Seconds to wait before another try; `None`: it may be made now.
    pub(crate) fn wait(&self, peer: Option<IpAddr>, now: Millis) -> Option<u64> {
        let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let key = peer.map(network);
        let full = wrong.len() >= MAX_ADDRESSES;
        let found = wrong
            .get(&key)
            .or_else(|| if full { wrong.get(&None) } else { None });
        let count = decayed(*found?, now);
        let over = count - (BURST - 1.0);
        (over > 0.0).then(|| (over * REFILL as f64 / 1000.0).ceil() as u64)
    }

    /// Notes a wrong try.
    pub(crate) fn failed(&self, peer: Option<IpAddr>, now: Millis) {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let mut key = peer.map(network);
        if wrong.len() >= MAX_ADDRESSES && !wrong.contains_key(&key) {
            wrong.retain(|_, entry| decayed(*entry, now) > 0.0);
            if wrong.len() >= MAX_ADDRESSES {
                key = None;
            }
        }
        let entry = wrong.entry(key).or_insert((0.0, now));
        *entry = (decayed(*entry, now) + 1.0, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_few_wrong_tries_an_address_waits_and_others_do_not() {
        let attempts = Attempts::default();
        let (one, other): (IpAddr, IpAddr) =
            ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        for _ in 0..5 {
            assert_eq!(attempts.wait(Some(one), 0), None);
            attempts.failed(Some(one), 0);
        }
        assert_eq!(attempts.wait(Some(one), 0), Some(12));
        assert_eq!(attempts.wait(Some(one), 11_000), Some(1));
        assert_eq!(attempts.wait(Some(one), 12_000), None);
        assert_eq!(attempts.wait(Some(other), 0), None);
    }

    #[test]
    fn one_network_of_ipv6_is_one_address() {
        let attempts = Attempts::default();
        for last in 0..5 {
            attempts.failed(Some(format!("2001:db8::{last}").parse().unwrap()), 0);
        }
        assert!(
            attempts
                .wait(Some("2001:db8::ffff".parse().unwrap()), 0)
                .is_some()
        );
        assert!(
            attempts
                .wait(Some("2001:db8:0:1::1".parse().unwrap()), 0)
                .is_none()
        );
    }

    #[test]
    fn a_flood_of_addresses_takes_bounded_room() {
        let attempts = Attempts::default();
        for low in 0..10_000u32 {
            attempts.failed(Some(IpAddr::V4((0x0a00_0000 + low).into())), 0);
        }
        assert!(attempts.wrong.lock().unwrap().len() <= MAX_ADDRESSES + 1);
        assert!(
            attempts
                .wait(Some("192.0.2.9".parse().unwrap()), 0)
                .is_some()
        );
    }
}
