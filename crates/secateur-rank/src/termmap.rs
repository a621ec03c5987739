//! A map from term keys to small ids. Only terms that a question or a title holds get an id.

/// Open addressing on a power of two, filled to at most a half. Keys are hashes already.
#[derive(Debug)]
pub(crate) struct TermMap {
    slots: Vec<(u64, u32)>,
    len: u32,
}

const FREE: u32 = u32::MAX;

impl TermMap {
    pub(crate) fn with_capacity(terms: usize) -> Self {
        let size = (terms.max(8) * 2).next_power_of_two();
        Self {
            slots: vec![(0, FREE); size],
            len: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    pub(crate) fn get(&self, key: u64) -> Option<u32> {
        let (found, id) = self.slots[self.slot(key)];
        (id != FREE && found == key).then_some(id)
    }

    pub(crate) fn insert(&mut self, key: u64) -> u32 {
        if self.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let at = self.slot(key);
        if self.slots[at].1 == FREE {
            self.slots[at] = (key, self.len);
            self.len += 1;
        }
        self.slots[at].1
    }

    fn slot(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        #[expect(clippy::cast_possible_truncation, reason = "masked to the table size")]
        let mut at = key as usize & mask;
        while self.slots[at].1 != FREE && self.slots[at].0 != key {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let bigger = vec![(0, FREE); self.slots.len() * 2];
        for (key, id) in std::mem::replace(&mut self.slots, bigger) {
            if id != FREE {
                let at = self.slot(key);
                self.slots[at] = (key, id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_count_up_and_stay_through_growth() {
        let mut map = TermMap::with_capacity(1);
        for key in 0..1000_u64 {
            assert_eq!(u64::from(map.insert(key << 40)), key);
        }
        assert_eq!(map.insert(7 << 40), 7);
        assert_eq!(map.get(999 << 40), Some(999));
        assert_eq!(map.get(1), None);
    }
}
