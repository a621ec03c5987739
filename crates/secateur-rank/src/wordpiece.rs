//! Cuts text into the word pieces of the static table: longest match first, as the table's model does.

use crate::fold::{fold, is_unspaced};
use crate::table::{PieceHash, Table};

/// Longer words (encoded data) have no meaning to look up.
const MAX_WORD_BYTES: usize = 100;

/// No piece of the table is longer.
const MAX_PIECE_BYTES: usize = 18;

/// Calls `sink` with the row of every known piece. Words with an unknown rest give what was found before it.
pub(crate) fn rows(table: &Table, text: &str, mut sink: impl FnMut(usize)) {
    let mut word: Vec<u8> = Vec::with_capacity(MAX_WORD_BYTES + 4);
    let mut hashes: Vec<PieceHash> = Vec::with_capacity(MAX_WORD_BYTES + 4);
    let mut utf8 = [0; 4];
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            word.push(u8::try_from(c.to_ascii_lowercase()).unwrap_or(b' '));
        } else if c.is_ascii() {
            flush(table, &mut word, &mut hashes, &mut sink);
        } else if is_unspaced(c) {
            flush(table, &mut word, &mut hashes, &mut sink);
            word.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
            flush(table, &mut word, &mut hashes, &mut sink);
        } else if let Some(folded) = fold(c) {
            if folded.is_alphanumeric() {
                word.extend_from_slice(folded.encode_utf8(&mut utf8).as_bytes());
            } else {
                flush(table, &mut word, &mut hashes, &mut sink);
            }
        }
        if word.len() > MAX_WORD_BYTES {
            word.truncate(MAX_WORD_BYTES + 1);
        }
    }
    flush(table, &mut word, &mut hashes, &mut sink);
}

fn flush(
    table: &Table,
    word: &mut Vec<u8>,
    hashes: &mut Vec<PieceHash>,
    sink: &mut impl FnMut(usize),
) {
    if !word.is_empty() && word.len() <= MAX_WORD_BYTES {
        let mut rest = &word[..];
        let mut continued = false;
        while !rest.is_empty() {
            hashes.clear();
            let mut hash = PieceHash::start(continued);
            hashes.extend(rest.iter().take(MAX_PIECE_BYTES).map(|&byte| {
                hash = hash.with(byte);
                hash
            }));
            let found = (1..=hashes.len()).rev().find_map(|len| {
                let row = table.find(hashes[len - 1], continued, &rest[..len])?;
                Some((len, row))
            });
            let Some((len, row)) = found else { break };
            sink(row);
            rest = &rest[len..];
            continued = true;
        }
    }
    word.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        let mut found = 0;
        rows(&Table::shipped().unwrap(), text, |_| found += 1);
        found
    }

    #[test]
    fn known_words_are_one_piece_and_others_are_cut() {
        assert_eq!(count("water"), 1);
        assert_eq!(count("Water, fire."), 2);
        assert!(count("tokenisation") > 1);
        assert_eq!(count(&"x".repeat(5000)), 0);
        assert_eq!(count("東京"), 2);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_cut_without_panic(text in "\\PC*") {
            let _ = count(&text);
        }
    }
}
