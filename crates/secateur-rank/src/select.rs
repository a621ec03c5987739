//! Which chunks stay: a rule over scores that adapts to how clear the ranking is.

/// The drop rule. Scores are those of [`crate::Ranker::scores`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Chunks under this score go. Default 0.38.
    pub min_score: f32,
    /// At least this many chunks stay, the best ones, whatever their score. Default 3.
    pub min_keep: usize,
    /// At least this share of the chunks stays, counted over at most [`FEW`] of them. Default 0.45.
    pub keep_share: f32,
    /// At most this many chunks stay. Wins over `min_keep` and `keep_share`. Default: no limit.
    pub max_keep: usize,
    /// Chunks are kept, best first, until they hold this share of the sum of all squared scores.
    /// Squares make it adapt: one clear winner fills the share soon, a flat ranking never does. Default 0.95.
    pub keep_mass: f32,
}

impl Default for Rule {
    /// Favours keeping: losing the right chunk costs more than keeping three wrong ones.
    fn default() -> Self {
        Self {
            min_score: 0.38,
            min_keep: 3,
            keep_share: 0.45,
            max_keep: usize::MAX,
            keep_mass: 0.95,
        }
    }
}

/// Of more chunks than this, `keep_share` keeps no more than of this many: a long list is a search, a short one
/// was chosen.
pub const FEW: u16 = 20;

impl Rule {
    /// How many of so many chunks stay, whatever their scores.
    fn least(&self, chunks: usize) -> usize {
        let few = u16::try_from(chunks).unwrap_or(FEW).min(FEW);
        let wanted = self.keep_share.clamp(0.0, 1.0) * f32::from(few);
        // Rounded down: a half of five is two.
        let share = (0..=few).take_while(|&count| f32::from(count) <= wanted);
        self.min_keep.max(share.count().saturating_sub(1))
    }
}

/// The places of the chunks that stay, best first; equal scores in their original order.
///
/// When all scores are equal (nothing matches, or all chunks are the same) there is no ranking to act
/// on, and everything up to `max_keep` stays. Scores that are not numbers count as 0.
#[must_use]
pub fn select(scores: &[f32], rule: &Rule) -> Vec<usize> {
    let value = |i: usize| {
        if scores[i].is_finite() {
            scores[i].max(0.0)
        } else {
            0.0
        }
    };
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| value(b).total_cmp(&value(a)));
    let flat = match (order.first(), order.last()) {
        (Some(&best), Some(&worst)) => value(best) <= value(worst),
        _ => true,
    };
    if !flat {
        let total: f32 = order.iter().map(|&i| value(i) * value(i)).sum();
        let least = rule.least(order.len());
        let mut held = 0.0;
        let mut keep = 0;
        for &i in &order {
            let enough = held >= rule.keep_mass * total || value(i) < rule.min_score;
            if enough && keep >= least {
                break;
            }
            held += value(i) * value(i);
            keep += 1;
        }
        order.truncate(keep);
    }
    order.truncate(rule.max_keep);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_three_even_when_one_stands_out() {
        assert_eq!(
            select(&[0.0, 1.0, 0.0, 0.01, 0.0], &Rule::default()),
            [1, 3, 0]
        );
    }

    #[test]
    fn keeps_a_share_of_few_chunks_and_no_more_of_many() {
        let one_winner = |chunks: usize| {
            let mut scores = vec![0.01; chunks];
            scores[chunks / 2] = 1.0;
            select(&scores, &Rule::default()).len()
        };
        let kept = [4, 10, 20, 21, 1000].map(one_winner);
        assert_eq!(kept, [3, 4, 9, 9, 9]);
    }

    #[test]
    fn keeps_all_when_nothing_tells_them_apart() {
        assert_eq!(select(&[0.0; 5], &Rule::default()).len(), 5);
        assert_eq!(select(&[1.0; 5], &Rule::default()).len(), 5);
        assert_eq!(
            select(
                &[1.0; 5],
                &Rule {
                    max_keep: 2,
                    ..Rule::default()
                }
            ),
            [0, 1]
        );
    }

    #[test]
    fn max_keep_wins_over_min_keep() {
        let rule = Rule {
            max_keep: 1,
            ..Rule::default()
        };
        assert_eq!(select(&[0.2, 0.9, 0.4], &rule), [1]);
    }

    #[test]
    fn mass_bounds_a_flat_tail() {
        let mut scores = vec![1.0; 4];
        scores.extend([0.4; 16]);
        let rule = Rule {
            keep_mass: 0.6,
            keep_share: 0.0,
            ..Rule::default()
        };
        assert_eq!(select(&scores, &rule), [0, 1, 2, 3]);
    }

    #[test]
    fn scores_that_are_not_numbers_rank_last() {
        assert_eq!(
            select(&[f32::NAN, 0.5, 1.0, 0.4, f32::INFINITY], &Rule::default()),
            [2, 1, 3]
        );
    }

    proptest::proptest! {
        #[test]
        fn places_are_distinct_and_within_the_bounds(
            scores in proptest::collection::vec(0.0_f32..1.0, 0..60),
            min_keep in 0_usize..8, max_keep in 0_usize..70, keep_mass in 0.0_f32..1.0, min_score in 0.0_f32..1.0,
            keep_share in 0.0_f32..1.0,
        ) {
            let kept = select(&scores, &Rule { min_score, min_keep, keep_share, max_keep, keep_mass });
            let mut sorted = kept.clone();
            sorted.sort_unstable();
            sorted.dedup();
            proptest::prop_assert_eq!(sorted.len(), kept.len());
            proptest::prop_assert!(kept.iter().all(|&i| i < scores.len()));
            proptest::prop_assert!(kept.len() <= max_keep);
            proptest::prop_assert!(kept.len() >= min_keep.min(max_keep).min(scores.len()));
        }
    }
}
