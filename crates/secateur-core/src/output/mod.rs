//! From a plan to bytes: lowering, splicing, verifying, and finding again what was cut.

pub mod check;
pub(crate) mod lower;
pub mod recall;
pub(crate) mod sealed;
pub(crate) mod splice;
pub(crate) mod thinking_escape;
pub(crate) mod verify;
