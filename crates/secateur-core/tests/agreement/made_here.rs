//! Cases of the same shape as the recorded ones, written by hand.
