//! Numbers as people read them: thousands apart, a true minus sign, no false digits.

/// The minus sign; a hyphen is narrower than the digits beside it.
const MINUS: char = '\u{2212}';

/// `1,234,567`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

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
        return "unknown".to_owned();
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

/// A share as `12.3 %`.
pub(crate) fn percent(share: f64) -> String {
    if !share.is_finite() {
        return "unknown".to_owned();
    }
    let tenths = (share * 1000.0).round() / 10.0;
    let spelled = format!("{:.1} %", tenths.abs());
    if tenths < 0.0 {
        format!("{MINUS}{spelled}")
    } else {
        spelled
    }
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
        assert_eq!(usd(f64::NAN), "unknown");
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
