//! Ids by which a model can ask for what was cut.
//!
//! **Invariant:** an id depends on the cut text alone, so that it is the same bytes in every request,
//! on every replica and after every restart.

use std::fmt;

use sha2::{Digest, Sha256};

const ID_BYTES: usize = 10;
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Stands for one cut text: 80 bits of its hash, spelled in 16 letters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecallId([u8; ID_BYTES]);

impl RecallId {
    /// The id of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut id = [0; ID_BYTES];
        let hash = Sha256::digest(text.as_bytes());
        for (to, from) in id.iter_mut().zip(hash) {
            *to = from;
        }
        Self(id)
    }

    pub(crate) fn tag(self) -> String {
        format!(" [recall:{self}]")
    }
}

/// Characters of a tag.
pub(crate) const TAG_CHARS: usize = " [recall:]".len() + ID_BYTES * 8 / 5;

impl fmt::Display for RecallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for five in self.0.chunks(5) {
            let bits = five
                .iter()
                .fold(0_u64, |bits, &byte| bits << 8 | u64::from(byte));
            for at in (0..8).rev() {
                let letter = ALPHABET[(bits >> (at * 5) & 31) as usize];
                write!(f, "{}", char::from(letter))?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for RecallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl serde::Serialize for RecallId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text without the tag at its end, if it has one.
pub(crate) fn without_tag(text: &str) -> &str {
    let Some(at) = text.len().checked_sub(TAG_CHARS) else {
        return text;
    };
    let is_letter = |byte: u8| ALPHABET.contains(&byte);
    let id = text
        .get(at..)
        .and_then(|tag| tag.strip_prefix(" [recall:")?.strip_suffix(']'));
    match id {
        Some(id) if id.bytes().all(is_letter) => &text[..at],
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_sixteen_letters_that_depend_on_the_text() {
        let id = RecallId::of("some text").to_string();
        assert_eq!(id.len(), 16);
        assert_eq!(id, RecallId::of("some text").to_string());
        assert_ne!(id, RecallId::of("some texT").to_string());
        assert!(id.bytes().all(|letter| ALPHABET.contains(&letter)));
        assert_eq!(RecallId::of("some text").tag().len(), TAG_CHARS);
    }
}
