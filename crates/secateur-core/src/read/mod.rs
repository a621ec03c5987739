//! From bytes to a [`view::View`]: spans into the body, nothing copied.

pub(crate) mod dialect;
pub(crate) mod error;
pub mod view;
pub(crate) mod wire;
