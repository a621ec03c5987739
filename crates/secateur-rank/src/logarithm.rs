//! The natural logarithm from basic operations only, so that every machine gives the same bits.

/// `ln(x)` for a finite `x >= 1`, within 2e-6. Smaller values count as 1.
pub(crate) fn ln(x: f32) -> f32 {
    let bits = x.max(1.0).to_bits();
    let exponent = (bits >> 23) & 0xff;
    let mantissa = f32::from_bits((bits & 0x007f_ffff) | 0x3f80_0000);
    // ln(m) = 2 atanh((m - 1) / (m + 1)); the argument is at most 1/3 for m in 1..2.
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let t2 = t * t;
    let series =
        t2 * (1.0 / 3.0 + t2 * (1.0 / 5.0 + t2 * (1.0 / 7.0 + t2 * (1.0 / 9.0 + t2 / 11.0))));
    let ln_mantissa = 2.0 * t * (1.0 + series);
    let whole = f32::from(u8::try_from(exponent.saturating_sub(127)).unwrap_or(u8::MAX));
    whole * std::f32::consts::LN_2 + ln_mantissa
}

#[cfg(test)]
mod tests {
    #[test]
    fn agrees_with_the_library() {
        for i in 0..4000_u16 {
            let x = 1.0 + f32::from(i) * 0.37;
            assert!(
                (super::ln(x) - x.ln()).abs() < 3e-6 * x.ln().max(1.0),
                "{x}"
            );
        }
    }
}
