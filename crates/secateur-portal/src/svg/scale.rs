//! Numbers to places on the paper, and where an axis has its ticks.

/// A straight mapping of a range of values to a range of coordinates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

impl Scale {
    /// `from..to` onto `start..end`. A range without width is given some.
    pub(super) fn new((from, to): (f64, f64), (start, end): (f64, f64)) -> Self {
        let (from, to) = if to > from {
            (from, to)
        } else {
            (from - 0.5, from + 0.5)
        };
        Self {
            from,
            to,
            start,
            end,
        }
    }

    /// Where a value is; values outside stay at the edge.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        self.start + share * (self.end - self.start)
    }
}

/// A round step that cuts `span` into at most `most` pieces: 1, 2 or 5 times a power of ten.
pub(super) fn step(span: f64, most: f64) -> f64 {
    if !(span.is_finite() && span > 0.0) {
        return 1.0;
    }
    let rough = span / most;
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let fits = |factor: &&f64| **factor * power >= rough * 0.999_999;
    steps.iter().find(fits).unwrap_or(&10.0) * power
}

/// Widens a range to whole steps, and lists the ticks in it.
pub(super) fn ticks((low, high): (f64, f64), most: f64) -> ((f64, f64), Vec<f64>) {
    let (low, high) = if high > low {
        (low, high)
    } else {
        (low, low + 1.0)
    };
    let step = step(high - low, most);
    let first = (low / step + 1e-9).floor();
    let last = (high / step - 1e-9).ceil();
    // At most a dozen ticks, whatever the rounding did.
    let count = (last - first).clamp(1.0, 12.0) as u32;
    let values = (0..=count)
        .map(|at| (first + f64::from(at)) * step)
        .collect();
    ((first * step, last * step), values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_range() {
        let ((low, high), values) = ticks((0.0, 87.0), 4.0);
        assert_eq!((low, high), (0.0, 100.0));
        assert_eq!(values, [0.0, 50.0, 100.0]);
        let ((low, high), values) = ticks((-3.0, 4.0), 4.0);
        assert!(low <= -3.0 && high >= 4.0 && values.contains(&0.0));
        for range in [(0.0, 0.0), (1e-9, 2e-9), (0.0, 1e15), (5.0, 1.0)] {
            let ((low, high), values) = ticks(range, 4.0);
            assert!(high > low && (2..=13).contains(&values.len()), "{range:?}");
        }
    }

    #[test]
    fn a_scale_without_width_puts_its_value_in_the_middle() {
        let scale = Scale::new((3.0, 3.0), (0.0, 100.0));
        assert!((scale.at(3.0) - 50.0).abs() < 1e-9);
        assert!((scale.at(1e9) - 100.0).abs() < 1e-9);
    }
}
