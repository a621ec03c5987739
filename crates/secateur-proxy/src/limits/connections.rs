//! Who may connect: so many clients in all, and so many of one address. Who comes beyond that is served for a moment, for
//! health checks and to be told to come back.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a connection may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Everything,
    /// Health checks; other requests are told to come back.
    HealthOnly,
}

/// Counts open connections, in all and by address.
#[derive(Debug)]
pub(crate) struct Connections {
    max: usize,
    max_per_address: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    all: usize,
    by_address: HashMap<IpAddr, usize>,
}

impl Connections {
    pub(crate) fn new(max: usize, max_per_address: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            max_per_address,
            open: Mutex::default(),
        })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection from this address.
    pub(crate) fn admit(self: &Arc<Self>, address: IpAddr) -> Place {
        let address = whose(address);
        let mut open = self.open();
        let of_address = open.by_address.get(&address).copied().unwrap_or(0);
        let is_free = open.all < self.max && of_address < self.max_per_address;
        if is_free {
            open.all += 1;
            open.by_address.insert(address, of_address + 1);
        }
        Place {
            taken: is_free.then(|| (Arc::clone(self), address)),
        }
    }
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    /// `None`: it is beyond the limits, and counts nowhere.
    taken: Option<(Arc<Connections>, IpAddr)>,
}

impl Place {
    pub(crate) fn admission(&self) -> Admission {
        match self.taken {
            Some(_) => Admission::Everything,
            None => Admission::HealthOnly,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some((connections, address)) = self.taken.take() else {
            return;
        };
        let mut open = connections.open();
        open.all -= 1;
        if let Some(of_address) = open.by_address.get_mut(&address) {
            *of_address -= 1;
            if *of_address == 0 {
                open.by_address.remove(&address);
            }
        }
    }
}

/// Who an address stands for: one client of IPv6 usually has all addresses of a /64.
fn whose(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admissions(connections: &Arc<Connections>, address: &str, count: usize) -> Vec<Place> {
        let address: IpAddr = address.parse().unwrap();
        (0..count).map(|_| connections.admit(address)).collect()
    }

    /// How many of them are within the limits.
    fn usual(places: &[Place]) -> usize {
        let is_usual = |place: &&Place| place.admission() == Admission::Everything;
        places.iter().filter(is_usual).count()
    }

    #[test]
    fn one_address_leaves_places_to_others() {
        let connections = Connections::new(8, 6);
        let greedy = admissions(&connections, "10.0.0.1", 100);
        assert_eq!(usual(&greedy), 6);
        let others = admissions(&connections, "10.0.0.2", 3);
        assert_eq!(usual(&others), 2);
        drop(greedy);
        assert_eq!(usual(&admissions(&connections, "10.0.0.3", 7)), 6);
        drop(others);
        let open = connections.open();
        assert!(open.all == 0 && open.by_address.is_empty());
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let connections = Connections::new(100, 2);
        let one = admissions(&connections, "2001:db8::1", 2);
        assert_eq!(usual(&one), 2);
        assert_eq!(usual(&admissions(&connections, "2001:db8::ffff", 1)), 0);
        assert_eq!(usual(&admissions(&connections, "2001:db8:0:1::1", 1)), 1);
        let mapped = admissions(&connections, "::ffff:10.0.0.1", 2);
        assert_eq!(usual(&mapped), 2);
        assert_eq!(usual(&admissions(&connections, "10.0.0.1", 1)), 0);
    }
}
