//! What kind of output a text is, and what that kind's reader needs of it.

mod log;

use super::OutputKind;
use super::units::{Splitting, Unit};

/// A text taken apart, each unit with its worth.
#[derive(Debug)]
pub(super) struct Layout {
    pub kind: OutputKind,
    pub splitting: Splitting,
    pub units: Vec<Unit>,
}

pub(super) fn read(text: &str, max_chars: usize) -> Layout {
    let splitting = Splitting::of(text, max_chars);
    log::read(text, splitting)
}
