//! Which chunks stay: a rule over scores that adapts to how clear the ranking is.

/// The drop rule. Scores are those of [`crate::Ranker::scores`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Chunks under this score go. Default 0.38.
    pub min_score: f32,
    /// At least this many chunks stay, the best ones, whatever their score. Default 3.
    pub min_keep: usize,
    /// At most this many chunks stay. Wins over `min_keep`. Default: no limit.
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
            max_keep: usize::MAX,
            keep_mass: 0.95,
        }
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
        let mut held = 0.0;
        let mut keep = 0;
        for &i in &order {
            let enough = held >= rule.keep_mass * total || value(i) < rule.min_score;
            if enough && keep >= rule.min_keep {
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
        ) {
            let kept = select(&scores, &Rule { min_score, min_keep, max_keep, keep_mass });
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
