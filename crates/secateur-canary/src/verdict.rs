//! Whether a stack's scores say that it does harm.
//!
//! A stack is retired when all three hold over its window: at least `min_samples` scores; their mean
//! is under the floor; and the evidence against "the true mean is at the floor or above" is at least
//! `1 / (1 - confidence)`.
//!
//! Evidence is what a gambler makes who bets that scores fall short of the floor `f`. He splits one
//! unit evenly over eight bets `λ`, and each score `x` multiplies what lies on a bet by
//! `1 + λ (f - x)`. Where the true mean is not under the floor the game is not in his favour, so he
//! ever has `1 / (1 - confidence)` units with a probability of at most `1 - confidence`, however often
//! one looks (Ville's inequality). This holds for any spread of scores between 0 and 1, and needs no
//! normal distribution; the order of the scores does not matter.

/// Shares of the largest bet that cannot lose everything, `1 / (1 - floor)`. Small ones find small
/// shortfalls over many scores, large ones find clear shortfalls with little spread at once.
const BETS: [f64; 8] = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 0.95];

/// When a stack is retired.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// A mean below this is a breach.
    pub floor: f64,
    /// With at least so many scores.
    pub min_samples: usize,
    /// And if this sure; 0: the mean alone decides.
    pub confidence: f64,
}

/// What the scores of a window say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Their mean; 1 without scores.
    pub mean: f64,
    /// How many there are.
    pub samples: usize,
    /// The natural logarithm of the evidence against the stack.
    pub log_evidence: f64,
    /// Whether the stack is to be retired.
    pub is_breach: bool,
}

/// The scores of a window, added up so that one can come and another go.
#[derive(Clone, Debug)]
pub struct Tally {
    rule: Rule,
    samples: usize,
    sum: f64,
    of_bet: [f64; BETS.len()],
}

impl Tally {
    /// No scores.
    #[must_use]
    pub fn new(rule: Rule) -> Self {
        Self {
            rule,
            samples: 0,
            sum: 0.0,
            of_bet: [0.0; BETS.len()],
        }
    }

    /// A score comes.
    pub fn add(&mut self, score: f64) {
        self.samples += 1;
        self.count(score, 1.0);
    }

    /// A score that came before goes.
    pub fn remove(&mut self, score: f64) {
        self.samples = self.samples.saturating_sub(1);
        self.count(score, -1.0);
    }

    fn count(&mut self, score: f64, sign: f64) {
        self.sum += sign * score;
        let largest = 1.0 / (1.0 - self.rule.floor).max(1e-6);
        for (log, share) in self.of_bet.iter_mut().zip(BETS) {
            *log += sign * (share * largest * (self.rule.floor - score)).ln_1p();
        }
    }

    /// What the scores say together.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let (rule, samples) = (self.rule, self.samples);
        let mean = if samples == 0 {
            1.0
        } else {
            self.sum / samples as f64
        };
        // The logarithm of the mean of the exponentials, without leaving the range of numbers.
        let top = self
            .of_bet
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = self.of_bet.iter().map(|log| (log - top).exp()).sum();
        let log_evidence = top + (sum / BETS.len() as f64).ln();
        let is_sure = rule.confidence <= 0.0 || log_evidence >= -(1.0 - rule.confidence).ln();
        Verdict {
            mean,
            samples,
            log_evidence,
            is_breach: samples >= rule.min_samples && mean < rule.floor && is_sure,
        }
    }
}

/// Judges the scores of one window.
#[must_use]
pub fn judge(scores: &[f64], rule: Rule) -> Verdict {
    let mut tally = Tally::new(rule);
    for &score in scores {
        tally.add(score);
    }
    tally.verdict()
}

#[cfg(test)]
mod simulation;

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule {
        floor: 0.95,
        min_samples: 30,
        confidence: 0.99,
    };

    #[test]
    fn clear_harm_is_a_breach_at_the_first_moment_it_may_be() {
        assert!(!judge(&[0.8; 29], RULE).is_breach);
        let verdict = judge(&[0.8; 30], RULE);
        assert!(verdict.is_breach, "{verdict:?}");
        assert!((verdict.mean - 0.8).abs() < 1e-12);
    }

    #[test]
    fn good_scores_and_no_scores_are_no_breach() {
        assert!(!judge(&[], RULE).is_breach);
        assert!(!judge(&[1.0; 500], RULE).is_breach);
        assert!(!judge(&[0.95; 500], RULE).is_breach);
    }

    #[test]
    fn two_bad_answers_among_thirty_are_a_mean_under_the_floor_and_no_proof() {
        let mut scores = [1.0; 30];
        scores[..2].fill(0.0);
        assert!(!judge(&scores, RULE).is_breach);
        let plain = Rule {
            confidence: 0.0,
            ..RULE
        };
        assert!(judge(&scores, plain).is_breach);
    }

    #[test]
    fn the_order_of_the_scores_does_not_matter_and_extremes_stay_in_range() {
        let mut scores: Vec<f64> = (0..100).map(|n| f64::from(n % 10) / 10.0).collect();
        let one = judge(&scores, RULE);
        scores.reverse();
        assert!((judge(&scores, RULE).log_evidence - one.log_evidence).abs() < 1e-9);
        let strict = Rule {
            floor: 0.999,
            ..RULE
        };
        assert!(judge(&vec![0.0; 100_000], strict).log_evidence.is_finite());
        assert!(judge(&vec![1.0; 100_000], strict).log_evidence.is_finite());
    }
}
