//! Shares of requests or sessions, chosen by a hash: the same ones in every process.

use sha2::{Digest, Sha256};

/// The position of a text between 0 and 1: the same in every process, evenly spread.
fn position_of(text: &str) -> f64 {
    let digest = Sha256::digest(text.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    (u64::from_be_bytes(first) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Whether a text belongs to a share of so many percent.
pub(crate) fn is_in_share(text: &str, pct: f64) -> bool {
    pct > 0.0 && position_of(text) * 100.0 < pct
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_even_and_the_same_everywhere() {
        let chosen = (0..20_000).filter(|n| is_in_share(&format!("id {n}"), 5.0));
        let count = chosen.count();
        assert!((900..1100).contains(&count), "{count}");
        assert!(is_in_share("x", 100.0) && !is_in_share("x", 0.0));
        // Fixed: a change here would move sessions between the held-out and the pruned.
        assert!((position_of("session") - 0.246993).abs() < 1e-6);
    }
}
