//! What pruning saves, measured: sessions that were kept unpruned against the others.
//!
//! The sessions are the independent units (requests of one session are not), so each arm's mean cost
//! per request is a ratio estimator over its sessions: `m = Σ cost / Σ requests`. Its variance is the
//! jackknife's: leaving out a session moves `m` by `(cost - m · requests) / (Σ requests - requests)`, and
//! the variance is `(k - 1) / k` times the sum of the squares. The saving is `1 - m_pruned / m_held`.
//! Costs are skewed, so the interval is made on the logarithm of that ratio, where the relative
//! variances of the two arms add up (delta method). The quantile is Student's, with Welch's degrees of
//! freedom and Kish's effective number of sessions, because the held arm is small and sessions differ
//! in length. The tests measure the coverage.

use crate::error::LedgerError;
use crate::query::Holdout;
use crate::row::Millis;
use crate::store::{Store, Value};

/// The sums that one arm needs.
#[derive(Clone, Copy, Debug, Default)]
struct Arm {
    sessions: f64,
    cost: f64,
    requests: f64,
    request_squares: f64,
    /// Sum of the squares of the moves.
    spread: f64,
}

impl Arm {
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
        (self.sessions - 1.0) / self.sessions * self.spread / (mean * mean)
    }

    /// Sessions of the same length that would tell as much, less one.
    fn freedom(&self) -> f64 {
        (self.requests * self.requests / self.request_squares - 1.0).max(1.0)
    }
}

fn compare(held: &Arm, pruned: &Arm) -> Holdout {
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
        / (of_held * of_held / held.freedom() + of_pruned * of_pruned / pruned.freedom());
    let reach = student_975(freedom) * variance.sqrt();
    holdout.low = 1.0 - ratio * reach.exp();
    holdout.high = 1.0 - ratio * (-reach).exp();
    holdout
}

/// The 97.5 % quantile of Student's distribution: a table up to five degrees of freedom, from there
/// the Cornish-Fisher series around the normal quantile.
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
    let z7 = z.powi(7);
    z + (z3 + z) / (4.0 * freedom)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * freedom * freedom)
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * freedom * freedom * freedom)
}

/// Sessions count whole, by when they began.
pub(crate) fn holdout(
    store: &mut dyn Store,
    workload: &str,
    since: Millis,
) -> Result<Holdout, LedgerError> {
    let [pruned, held] = arms(store, workload, since)?;
    Ok(compare(&held, &pruned))
}

/// The pruned arm and the held one. A ledger has very many sessions, so both arms come out of the same walk: one for
/// their means, and one for how the sessions lie around them.
fn arms(store: &mut dyn Store, workload: &str, since: Millis) -> Result<[Arm; 2], LedgerError> {
    let mut arms = [Arm::default(); 2];
    let asked = [Value::text(workload), Value::Int(since)];
    let found = store.query(
        "SELECT held_out, COUNT(*), SUM(input_usd), CAST(SUM(requests) AS BIGINT), \
         CAST(SUM(requests * requests) AS BIGINT) \
         FROM session_cost WHERE workload = $1 AND first_at_ms >= $2 GROUP BY held_out",
        &asked,
    )?;
    for row in found {
        let mut row = row.into_iter();
        let mut take = || row.next().unwrap_or(Value::Null);
        let arm = &mut arms[usize::from(take().into_bool()?)];
        arm.sessions = take().into_real()?;
        arm.cost = take().into_real()?;
        arm.requests = take().into_real()?;
        arm.request_squares = take().into_real()?;
    }
    let [pruned, held] = &arms;
    let asked = [
        Value::text(workload),
        Value::Int(since),
        Value::Real(held.mean()),
        Value::Real(pruned.mean()),
        Value::Real(held.requests),
        Value::Real(pruned.requests),
    ];
    // A session that is alone in its arm leaves nothing behind when it is left out.
    let found = store.query(
        "SELECT held_out, COALESCE(SUM(moved * moved), 0.0) FROM (\
         SELECT held_out, (input_usd - (CASE WHEN held_out THEN CAST($3 AS DOUBLE PRECISION) \
         ELSE CAST($4 AS DOUBLE PRECISION) END) * requests) \
         / NULLIF((CASE WHEN held_out THEN CAST($5 AS DOUBLE PRECISION) \
         ELSE CAST($6 AS DOUBLE PRECISION) END) - requests, 0) AS moved \
         FROM session_cost WHERE workload = $1 AND first_at_ms >= $2) AS sessions GROUP BY held_out",
        &asked,
    )?;
    for row in found {
        let mut row = row.into_iter();
        let mut take = || row.next().unwrap_or(Value::Null);
        let arm = &mut arms[usize::from(take().into_bool()?)];
        arm.spread = take().into_real()?;
    }
    Ok(arms)
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
            let unit = (self.0 >> 11) as f64 / (1_u64 << 53) as f64;
            unit.max(1e-12)
        }

        fn normal(&mut self) -> f64 {
            (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
        }

        /// A session: a skewed length, and a skewed price per request that grows with the length up to
        /// where the window is full.
        fn session(&mut self, level: f64, skew: f64) -> (f64, f64) {
            let requests = (1.0 + 20.0 * (skew * self.normal()).exp()).floor();
            let price =
                level * (0.6 * skew * self.normal()).exp() * (1.0 + requests.min(100.0) / 100.0);
            (price * requests, requests)
        }

        fn arm(&mut self, sessions: usize, level: f64, skew: f64) -> Arm {
            let all: Vec<(f64, f64)> = (0..sessions).map(|_| self.session(level, skew)).collect();
            let mut arm = Arm::default();
            for (cost, requests) in &all {
                arm.sessions += 1.0;
                arm.cost += cost;
                arm.requests += requests;
                arm.request_squares += requests * requests;
            }
            for (cost, requests) in &all {
                let moved = (cost - arm.mean() * requests) / (arm.requests - requests);
                arm.spread += moved * moved;
            }
            arm
        }
    }

    /// How often the interval holds the true saving. Both arms have the same sessions, with prices 20 %
    /// lower in one.
    fn coverage(held: usize, pruned: usize, skew: f64, rounds: u32) -> f64 {
        let mut dice = Dice(42);
        let saving = 0.2;
        let mut hits = 0_u32;
        for _ in 0..rounds {
            let held = dice.arm(held, 1.0, skew);
            let pruned = dice.arm(pruned, 1.0 - saving, skew);
            let found = compare(&held, &pruned);
            hits += u32::from(found.low <= saving && saving <= found.high);
        }
        f64::from(hits) / f64::from(rounds)
    }

    #[test]
    fn the_interval_holds_the_true_saving_about_nineteen_times_in_twenty() {
        // The more skewed the sessions, the more of them it takes.
        for (held, pruned, skew, least) in [
            (20, 180, 0.4, 0.93),
            (100, 900, 0.4, 0.93),
            (20, 180, 0.8, 0.88),
            (100, 900, 0.8, 0.89),
        ] {
            let share = coverage(held, pruned, skew, 2_000);
            println!("{held} held, {pruned} pruned sessions, skew {skew}: coverage {share:.3}");
            assert!(
                (least..=0.975).contains(&share),
                "{held} + {pruned}, {skew}: {share}"
            );
        }
    }

    #[test]
    fn without_two_sessions_on_each_side_nothing_is_claimed() {
        let one = Arm {
            sessions: 1.0,
            cost: 1.0,
            requests: 2.0,
            request_squares: 4.0,
            spread: 0.0,
        };
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
