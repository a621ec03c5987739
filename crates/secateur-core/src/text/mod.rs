//! Lines of text: their hashes, their numbers, and the white space in them.

pub(crate) mod following_number;
pub(crate) mod hash;
pub(crate) mod line_facts;
pub(crate) mod line_number;
pub(crate) mod line_space;
pub(crate) mod spelling;
pub(crate) mod whitespace;
