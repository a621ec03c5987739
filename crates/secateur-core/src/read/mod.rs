//! From bytes to a [`view::View`]: spans into the body, nothing copied.

pub mod dialect;
pub mod view;
