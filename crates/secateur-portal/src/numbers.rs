//! Numbers as people read them: thousands apart, a true minus sign, no false digits.

pub(crate) use secateur_core::internal::thousands;

/// The minus sign; a hyphen is narrower than the digits beside it.
const MINUS: char = '\u{2212}';

/// `−1,234`, with a minus sign where it is one.
pub(crate) fn signed(number: i64) -> String {
    let size = thousands(number.unsigned_abs());
    if number < 0 {
        format!("{MINUS}{size}")
    } else {
        size
    }
}

/// Dollars with as many places as the amount needs: `$12.34`, `$0.0012`, `−$0.50`.
pub(crate) fn usd(amount: f64) -> String {
    if !amount.is_finite() {
        return "–".to_owned();
    }
    let size = amount.abs();
    let spelled = if size >= 1000.0 {
        format!("${}", thousands(size.round() as u64))
    } else if !(0.000_000_5..1.0).contains(&size) {
        format!("${size:.2}")
    } else if size >= 0.01 {
        format!("${size:.4}")
    } else {
        format!("${size:.6}")
    };
    if amount < 0.0 && size >= 0.000_000_5 {
        format!("{MINUS}{spelled}")
    } else {
        spelled
    }
}

fn smallest(amounts: impl IntoIterator<Item = f64>) -> f64 {
    let sizes = amounts.into_iter().map(f64::abs);
    sizes
        .filter(|size| size.is_finite() && *size >= 0.000_000_5)
        .fold(f64::INFINITY, f64::min)
}

/// Places after the point with which all these amounts, in one column, show what they are.
pub(crate) fn usd_places(amounts: impl IntoIterator<Item = f64>) -> usize {
    match smallest(amounts) {
        size if size >= 1.0 => 2,
        size if size >= 0.001 => 4,
        _ => 6,
    }
}

/// Places for the levels of an axis, which are whole steps: one digit of the smallest is enough.
pub(crate) fn axis_places(levels: impl IntoIterator<Item = f64>) -> usize {
    let step = smallest(levels);
    let fits = |places: &i32| step * 10f64.powi(*places) > 0.999;
    let places = (2..6).find(fits).unwrap_or(6);
    usize::try_from(places).unwrap_or(2)
}

/// Dollars with so many places: `$12.3400`.
pub(crate) fn usd_in(amount: f64, places: usize) -> String {
    if !amount.is_finite() {
        return "–".to_owned();
    }
    let size = format!("{:.places$}", amount.abs());
    let (whole, part) = size.split_once('.').unwrap_or((&size, ""));
    let whole = whole
        .parse()
        .map_or_else(|_| whole.to_owned(), |whole: u64| thousands(whole));
    let point = if part.is_empty() { "" } else { "." };
    let is_zero = size.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let minus = if amount < 0.0 && !is_zero {
        String::from(MINUS)
    } else {
        String::new()
    };
    format!("{minus}${whole}{point}{part}")
}

/// A share as `12.3 %`.
pub(crate) fn percent(share: f64) -> String {
    if !share.is_finite() {
        return "–".to_owned();
    }
    let tenths = (share * 1000.0).round() / 10.0;
    let spelled = format!("{:.1} %", tenths.abs());
    if tenths < 0.0 {
        format!("{MINUS}{spelled}")
    } else {
        spelled
    }
}

/// How far a forecast was off: `3.1 % over`.
pub(crate) fn off_by(predicted: f64, billed: f64) -> String {
    let by = predicted / billed - 1.0;
    let way = if by < 0.0 { "under" } else { "over" };
    format!("{} {way}", percent(by.abs()))
}

/// `a` of `b` as a share; `None` of nothing.
pub(crate) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// `812`, `12.3k`, `4.5M`: for axes.
pub(crate) fn compact(number: f64) -> String {
    let size = number.abs();
    let (scaled, suffix) = match size {
        size if size >= 1e9 => (size / 1e9, "G"),
        size if size >= 1e6 => (size / 1e6, "M"),
        size if size >= 1e3 => (size / 1e3, "k"),
        size => (size, ""),
    };
    let mut spelled = if scaled >= 100.0 {
        format!("{scaled:.0}")
    } else {
        format!("{scaled:.1}")
    };
    if let Some(whole) = spelled.strip_suffix(".0") {
        spelled.truncate(whole.len());
    }
    let minus = if number < 0.0 {
        String::from(MINUS)
    } else {
        String::new()
    };
    format!("{minus}{spelled}{suffix}")
}

/// Microseconds as `85 µs`, `1.2 ms`, `3.4 s`.
pub(crate) fn micros(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{:.1} ms", micros as f64 / 1e3),
        _ => format!("{:.1} s", micros as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_one_column_have_the_same_places() {
        let column = [0.0136, 0.007_913, 12.5, -1234.0, 0.0];
        let places = usd_places(column);
        let spelled = column.map(|amount| usd_in(amount, places));
        assert_eq!(
            spelled,
            [
                "$0.0136",
                "$0.0079",
                "$12.5000",
                "\u{2212}$1,234.0000",
                "$0.0000"
            ]
        );
        assert_eq!(usd_in(1.5, usd_places([1.5, 0.0])), "$1.50");
        assert_eq!(usd_in(-0.001, 2), "$0.00");
        assert_eq!((usd_places([1e-6]), usd_places([])), (6, 2));
        assert_eq!(axis_places([0.0, 0.005, 0.01]), 3);
        assert_eq!((axis_places([0.5]), axis_places([])), (2, 2));
        assert_eq!(usd_in(f64::NAN, 2), "–");
    }

    #[test]
    fn numbers_keep_their_sign_and_places() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(signed(-1_234), "\u{2212}1,234");
        assert_eq!(usd(12.345), "$12.35");
        assert_eq!(usd(0.0012), "$0.001200");
        assert_eq!(usd(-0.5), "\u{2212}$0.5000");
        assert_eq!(usd(0.0), "$0.00");
        assert_eq!(usd(-0.0), "$0.00");
        assert_eq!(usd(12_345.6), "$12,346");
        assert_eq!(usd(f64::NAN), "–");
        assert_eq!(percent(0.1234), "12.3 %");
        assert_eq!(percent(-0.02), "\u{2212}2.0 %");
        assert_eq!(percent(-0.000_01), "0.0 %");
        assert_eq!(compact(12_345.0), "12.3k");
        assert_eq!(compact(1000.0), "1k");
        assert_eq!(compact(0.5), "0.5");
        assert_eq!(micros(85), "85 µs");
        assert_eq!(micros(1_234), "1.2 ms");
        assert_eq!(share(1, 0), None);
    }
}
