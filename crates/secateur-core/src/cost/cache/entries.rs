//! Entries and markers as positions, and what a request is billed by them.

use super::CachePrices;

/// The deepest entry that a request's markers reach. Each marker looks at its own block and goes back block by
/// block, `look_back_blocks` in all; the first entry on its way is its hit. `entries` ascend.
#[must_use]
pub fn deepest_hit(look_back_blocks: usize, markers: &[u32], entries: &[u32]) -> Option<u32> {
    let reach = |&marker: &u32| {
        let up_to = entries.partition_point(|&entry| entry <= marker);
        let entry = *entries[..up_to].last()?;
        (((marker - entry) as usize) < look_back_blocks).then_some(entry)
    };
    markers.iter().filter_map(reach).max()
}

/// How the input of a request divides by price, in tokens or characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Bill {
    /// Read from the cache.
    pub read: f64,
    /// Written to the cache.
    pub written: f64,
    /// Neither: after the last marker, or too short to be cached.
    pub plain: f64,
}

impl Bill {
    /// A request of `all`, of which `read` is read, and the rest up to `marked` is written.
    #[must_use]
    pub fn of(read: f64, marked: f64, all: f64) -> Self {
        let marked = marked.max(read);
        Self {
            read,
            written: marked - read,
            plain: (all - marked).max(0.0),
        }
    }

    /// What it costs, in the price of input.
    #[must_use]
    pub fn cost(&self, prices: CachePrices) -> f64 {
        prices.read * self.read + prices.write * self.written + self.plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_finds_the_nearest_entry_at_most_twenty_blocks_back() {
        assert_eq!(deepest_hit(20, &[30], &[5, 11, 40]), Some(11));
        assert_eq!(deepest_hit(20, &[30], &[5, 10]), None, "the 21st check");
        assert_eq!(deepest_hit(20, &[30], &[30]), Some(30), "its own block");
        assert_eq!(deepest_hit(20, &[3, 30], &[2, 9]), Some(2));
        assert_eq!(deepest_hit(20, &[], &[2]), None);
        assert_eq!(deepest_hit(20, &[1], &[]), None);
    }

    #[test]
    fn what_follows_the_last_marker_is_plain_input() {
        let bill = Bill::of(100.0, 150.0, 170.0);
        assert_eq!((bill.read, bill.written, bill.plain), (100.0, 50.0, 20.0));
        let prices = CachePrices {
            write: 1.25,
            read: 0.1,
        };
        assert!((bill.cost(prices) - (10.0 + 62.5 + 20.0)).abs() < 1e-9);
    }
}
