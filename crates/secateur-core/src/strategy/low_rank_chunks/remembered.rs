//! Verdicts of this process on the chunks of a text: a chat sends all its earlier turns with every request, and ranking
//! them takes many times as long as reading them.
//!
//! **Invariant:** a verdict depends on nothing but what its key is made of, so remembering changes how long it takes, never what
//! comes out. A key is a hash under the process's own key: no text is kept, and a collision cannot be constructed.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::LowRankChunks;
use super::arrange::Verdict;

/// How much a generation holds: verdicts weigh as many as the chunks they keep, and a little for themselves.
const MAX_WEIGHT: usize = 1 << 18;
const WEIGHT_OF_ITSELF: usize = 8;

/// What a verdict depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(u64);

impl Key {
    pub(super) fn of(options: &LowRankChunks, texts: &[&str], asked: impl Hash) -> Self {
        static OF_PROCESS: OnceLock<RandomState> = OnceLock::new();
        let mut hasher = OF_PROCESS.get_or_init(RandomState::new).build_hasher();
        // Named one by one, so that a new option cannot be forgotten.
        let LowRankChunks {
            order,
            min_score,
            min_keep,
            keep_share,
            max_keep,
            keep_mass,
            scorer,
            // They say which texts are ranked.
            in_tool_results: _,
            earlier_turns: _,
        } = options;
        (*order as u8, *scorer as u8, min_keep, max_keep).hash(&mut hasher);
        for share in [min_score, keep_share, keep_mass] {
            share.to_bits().hash(&mut hasher);
        }
        (texts, asked).hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// The verdict under this key, worked out where it is not known.
pub(super) fn remembered(key: Key, work_out: impl FnOnce() -> Verdict) -> Verdict {
    static OF_PROCESS: OnceLock<Mutex<Verdicts>> = OnceLock::new();
    let verdicts = OF_PROCESS.get_or_init(Mutex::default);
    let lock = || verdicts.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(verdict) = lock().get(key) {
        return verdict;
    }
    let verdict = work_out();
    lock().add(key, verdict.clone());
    verdict
}

/// Two generations: what is asked for again moves to the young one, and a full one makes the other go.
#[derive(Default)]
struct Verdicts {
    young: HashMap<Key, Verdict>,
    weight: usize,
    old: HashMap<Key, Verdict>,
}

impl Verdicts {
    fn get(&mut self, key: Key) -> Option<Verdict> {
        if let Some(verdict) = self.young.get(&key) {
            return Some(verdict.clone());
        }
        let verdict = self.old.remove(&key)?;
        self.add(key, verdict.clone());
        Some(verdict)
    }

    fn add(&mut self, key: Key, verdict: Verdict) {
        let weight = WEIGHT_OF_ITSELF
            + match &verdict {
                Verdict::Keep(order) => order.len(),
                Verdict::Stay | Verdict::NoQuestion => 0,
            };
        if self.weight + weight > MAX_WEIGHT {
            self.old = std::mem::take(&mut self.young);
            self.weight = 0;
        }
        if self.young.insert(key, verdict).is_none() {
            self.weight += weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::low_rank_chunks::{ChunkOrder, ChunkScorer};

    #[test]
    fn whatever_a_verdict_depends_on_makes_another_key() {
        let options = LowRankChunks::default();
        let asked = (None::<&str>, "before", "behind", false);
        let plain = Key::of(&options, &["ab", "c"], asked);
        assert_eq!(plain, Key::of(&options.clone(), &["ab", "c"], asked));
        let changed: [fn(&mut LowRankChunks); 7] = [
            |options| options.order = ChunkOrder::Original,
            |options| options.min_score = 0.1,
            |options| options.min_keep = 4,
            |options| options.keep_share = 0.1,
            |options| options.max_keep = 4,
            |options| options.keep_mass = 0.1,
            |options| options.scorer = ChunkScorer::Lexical,
        ];
        let mut keys = vec![
            plain,
            Key::of(&options, &["a", "bc"], asked),
            Key::of(&options, &["abc"], asked),
            Key::of(&options, &["ab", "d"], asked),
            Key::of(
                &options,
                &["ab", "c"],
                (Some(""), "before", "behind", false),
            ),
            Key::of(
                &options,
                &["ab", "c"],
                (None::<&str>, "beforeb", "ehind", false),
            ),
            Key::of(
                &options,
                &["ab", "c"],
                (None::<&str>, "before", "behind", true),
            ),
        ];
        for change in changed {
            let mut options = options.clone();
            change(&mut options);
            keys.push(Key::of(&options, &["ab", "c"], asked));
        }
        let different: std::collections::HashSet<Key> = keys.iter().copied().collect();
        assert_eq!(different.len(), keys.len());
    }

    #[test]
    fn a_verdict_is_worked_out_once() {
        let key = Key::of(&LowRankChunks::default(), &["worked out once"], ());
        let order = Verdict::Keep(vec![2, 0]);
        assert_eq!(remembered(key, || order.clone()), order);
        let known = remembered(key, || panic!("it is known"));
        assert_eq!(known, order);
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_is_used_stays() {
        let mut verdicts = Verdicts::default();
        let key = Key;
        for number in 1..5_000 {
            verdicts.add(key(number), Verdict::Keep((0..200).collect()));
            let used = verdicts.get(key(1)).expect("it is asked for all the time");
            assert_eq!(used, Verdict::Keep((0..200).collect()));
            assert!(verdicts.weight <= MAX_WEIGHT);
            let count = verdicts.young.len() + verdicts.old.len();
            assert!(count * (200 + WEIGHT_OF_ITSELF) <= 2 * MAX_WEIGHT);
        }
        assert_eq!(verdicts.get(key(2)), None);
    }
}
