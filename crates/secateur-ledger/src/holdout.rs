//! What pruning saves, measured: sessions that were kept unpruned against the others.
//!
//! The sessions are the independent units (requests of one session are not), so each arm's mean cost
//! per request is a ratio estimator over its sessions: `m = Σ cost / Σ requests`, with the variance
//! `s² / (k n̄²)` of the residuals `cost - m · requests`. The saving is `1 - m_pruned / m_held`. Costs per
//! session are skewed, so the interval is made on the logarithm of that ratio, where the delta method
//! adds the two relative variances; the quantile is Student's with Welch's degrees of freedom, because
//! the held arm is small. The tests measure the coverage.

use crate::error::LedgerError;
use crate::query::Holdout;
use crate::row::Millis;
use crate::store::{Store, Value};

/// The sums that one arm needs, one session at a time.
#[derive(Clone, Copy, Debug, Default)]
struct Arm {
    sessions: f64,
    cost: f64,
    requests: f64,
    cost_squares: f64,
    request_squares: f64,
    products: f64,
}

impl Arm {
    #[cfg(test)]
    fn add(&mut self, cost: f64, requests: f64) {
        self.sessions += 1.0;
        self.cost += cost;
        self.requests += requests;
        self.cost_squares += cost * cost;
        self.request_squares += requests * requests;
        self.products += cost * requests;
    }

    fn mean(&self) -> f64 {
        if self.requests > 0.0 {
            self.cost / self.requests
        } else {
            0.0
        }
    }

    /// Variance of the mean, divided by its square.
    fn relative_variance(&self) -> f64 {
        let mean = self.mean();
        let residuals =
            self.cost_squares - 2.0 * mean * self.products + mean * mean * self.request_squares;
        let variance = residuals.max(0.0) / (self.sessions - 1.0) / self.sessions;
        let per_session = self.cost / self.sessions;
        variance / (per_session * per_session)
    }
}

fn compare(held: &Arm, pruned: &Arm) -> Holdout {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts"
    )]
    let mut holdout = Holdout {
        held_sessions: held.sessions as u64,
        pruned_sessions: pruned.sessions as u64,
        held_mean_usd: held.mean(),
        pruned_mean_usd: pruned.mean(),
        saving: 0.0,
        low: f64::NEG_INFINITY,
        high: 1.0,
    };
    if held.mean() <= 0.0 || pruned.mean() <= 0.0 {
        return holdout;
    }
    let ratio = pruned.mean() / held.mean();
    holdout.saving = 1.0 - ratio;
    if held.sessions < 2.0 || pruned.sessions < 2.0 {
        return holdout;
    }
    let (of_held, of_pruned) = (held.relative_variance(), pruned.relative_variance());
    let variance = of_held + of_pruned;
    if variance <= 0.0 {
        holdout.low = holdout.saving;
        holdout.high = holdout.saving;
        return holdout;
    }
    let freedom = variance * variance
        / (of_held * of_held / (held.sessions - 1.0)
            + of_pruned * of_pruned / (pruned.sessions - 1.0));
    let reach = student_975(freedom) * variance.sqrt();
    holdout.low = 1.0 - ratio * reach.exp();
    holdout.high = 1.0 - ratio * (-reach).exp();
    holdout
}

/// The 97.5 % quantile of Student's distribution: exact below three degrees of freedom, from there the
/// Cornish-Fisher series around the normal quantile, which is right to 1 % at three and better above.
fn student_975(freedom: f64) -> f64 {
    const TABLE: [(f64, f64); 5] = [
        (1.0, 12.706),
        (2.0, 4.303),
        (3.0, 3.182),
        (4.0, 2.776),
        (5.0, 2.571),
    ];
    if freedom < 5.0 {
        // Linear in 1/freedom between the entries; under one degree the widest is taken.
        for pair in TABLE.windows(2) {
            let [(low, wide), (high, narrow)] = *pair else {
                continue;
            };
            if freedom <= high {
                let share = (1.0 / freedom.max(low) - 1.0 / high) / (1.0 / low - 1.0 / high);
                return narrow + share * (wide - narrow);
            }
        }
    }
    let z: f64 = 1.959_964;
    let (z3, z5) = (z.powi(3), z.powi(5));
    z + (z3 + z) / (4.0 * freedom) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * freedom * freedom)
}

/// Sessions count whole, by when they began.
pub(crate) fn holdout(
    store: &mut dyn Store,
    workload: &str,
    since: Millis,
) -> Result<Holdout, LedgerError> {
    let found = store.query(
        "SELECT held_out, COUNT(*), COALESCE(SUM(input_usd), 0.0), CAST(COALESCE(SUM(requests), 0) AS BIGINT), \
         COALESCE(SUM(input_usd * input_usd), 0.0), CAST(COALESCE(SUM(requests * requests), 0) AS BIGINT), \
         COALESCE(SUM(input_usd * requests), 0.0) \
         FROM session_cost WHERE workload = $1 AND first_at_ms >= $2 GROUP BY held_out",
        &[Value::text(workload), Value::Int(since)],
    )?;
    let (mut held, mut pruned) = (Arm::default(), Arm::default());
    for values in found {
        let mut from = values.into_iter();
        let mut take = || from.next().unwrap_or(Value::Null);
        let is_held = take().into_bool()?;
        let arm = Arm {
            sessions: take().into_real()?,
            cost: take().into_real()?,
            requests: take().into_real()?,
            cost_squares: take().into_real()?,
            request_squares: take().into_real()?,
            products: take().into_real()?,
        };
        *(if is_held { &mut held } else { &mut pruned }) = arm;
    }
    Ok(compare(&held, &pruned))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator: tests need the same numbers everywhere.
    struct Dice(u64);

    impl Dice {
        fn unit(&mut self) -> f64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
            let unit = (self.0 >> 11) as f64 / (1_u64 << 53) as f64;
            unit.max(1e-12)
        }

        fn normal(&mut self) -> f64 {
            (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
        }

        /// A session: a skewed length, and a price per request that is skewed and grows with the length.
        fn session(&mut self, level: f64) -> (f64, f64) {
            let requests = (1.0 + 20.0 * (0.8 * self.normal()).exp()).floor();
            let price = level * (0.5 * self.normal()).exp() * (1.0 + requests / 100.0);
            (price * requests, requests)
        }
    }

    /// How often the interval holds the truth, which a very large sample tells.
    fn coverage(held_sessions: usize, pruned_sessions: usize, rounds: usize) -> f64 {
        let mut dice = Dice(42);
        let mut truth = Arm::default();
        for _ in 0..400_000 {
            let (cost, requests) = dice.session(1.0);
            truth.add(cost, requests);
        }
        // Both arms come from the same sessions, with prices 20 % lower in one.
        let saving = 0.2;
        let mut hits = 0_u32;
        for _ in 0..rounds {
            let (mut held, mut pruned) = (Arm::default(), Arm::default());
            for _ in 0..held_sessions {
                let (cost, requests) = dice.session(1.0);
                held.add(cost, requests);
            }
            for _ in 0..pruned_sessions {
                let (cost, requests) = dice.session(1.0 - saving);
                pruned.add(cost, requests);
            }
            let found = compare(&held, &pruned);
            hits += u32::from(found.low <= saving && saving <= found.high);
        }
        #[expect(clippy::cast_precision_loss, reason = "a few thousand rounds")]
        let share = f64::from(hits) / rounds as f64;
        share
    }

    #[test]
    fn the_interval_holds_the_true_saving_about_nineteen_times_in_twenty() {
        for (held, pruned) in [(20, 180), (100, 900), (500, 4_500)] {
            let share = coverage(held, pruned, 2_000);
            println!("coverage with {held} held and {pruned} pruned sessions: {share:.3}");
            // Small skewed samples cover a little less than they should.
            let least = if held < 50 { 0.91 } else { 0.93 };
            assert!(
                (least..=0.97).contains(&share),
                "{held} + {pruned}: {share}"
            );
        }
    }

    #[test]
    fn without_two_sessions_on_each_side_nothing_is_claimed() {
        let mut one = Arm::default();
        one.add(1.0, 2.0);
        let found = compare(&one, &one);
        assert_eq!((found.low, found.high), (f64::NEG_INFINITY, 1.0));
        let none = compare(&Arm::default(), &Arm::default());
        assert_eq!((none.saving, none.held_sessions), (0.0, 0));
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, quantile) in [
            (1.0, 12.706),
            (2.0, 4.303),
            (5.0, 2.571),
            (10.0, 2.228),
            (30.0, 2.042),
            (1e6, 1.960),
        ] {
            assert!((student_975(freedom) - quantile).abs() < 0.01, "{freedom}");
        }
    }
}
