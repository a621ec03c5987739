//! Settings of `steady` along the frontier, from careful to bold.

use crate::steady::Steady;

/// Name and setting, from careful to bold.
pub fn presets() -> Vec<(&'static str, Steady)> {
    vec![("lossless", Steady::lossless())]
}
