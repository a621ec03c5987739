//! Positions of a text's bytes in its literal, for many of them in one pass.
//!
//! For literals that are [`Spelled`](super::Spelled) as usual: every escape has two bytes and stands for one. So a
//! byte of the text is as many bytes later as escapes come before it.

use super::vector::{Lanes, Task, at_best};
use super::window::{WINDOW, backslashes, escapes};

/// Puts the places in the literal where offsets in the text are, which ascend. Returns whether all of them are there,
/// between characters.
pub(super) fn spelled_offsets(raw: &[u8], offsets: &mut [usize]) -> bool {
    at_best(Offsets { raw, offsets })
}

struct Offsets<'t, 'o> {
    raw: &'t [u8],
    offsets: &'o mut [usize],
}

impl Task for Offsets<'_, '_> {
    type Done = bool;

    #[inline(always)]
    fn run<L: Lanes>(self) -> bool {
        let Self { raw, offsets } = self;
        let mut wanted = offsets.iter_mut().peekable();
        let (windows, rest) = raw.as_chunks::<WINDOW>();
        let mut last = [0; WINDOW];
        last[..rest.len()].copy_from_slice(rest);
        let (mut base, mut before, mut carry, mut from) = (0, 0, 0, 0);
        for window in windows.iter().chain([&last]) {
            let escapes = escapes(backslashes::<L>(window), carry);
            carry = escapes >> 63;
            let start = base - before;
            // The byte of the text that the window's last byte belongs to.
            let end = start + 63 - (escapes & !(1 << 63)).count_ones() as usize;
            while let Some(offset) = wanted.next_if(|offset| **offset <= end) {
                if *offset < from {
                    return false;
                }
                from = *offset;
                let place = base + place_in_window(*offset - start, escapes);
                let is_inside = raw.get(place).is_some_and(|byte| byte & 0xc0 == 0x80);
                if place > raw.len() || is_inside {
                    return false;
                }
                *offset = place;
            }
            if wanted.peek().is_none() {
                return true;
            }
            base += WINDOW;
            before += escapes.count_ones() as usize;
        }
        false
    }
}

/// The position of a byte of the text in a window, counted from the first one in it.
#[inline(always)]
fn place_in_window(byte: usize, mut escapes: u64) -> usize {
    let mut place = byte;
    while (escapes.trailing_zeros() as usize) < place {
        place += 1;
        escapes &= escapes.wrapping_sub(1);
        if escapes == 0 {
            break;
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cursor;
    use crate::spelled_lines::PIECES;
    use crate::vector::Lanes16;

    proptest::proptest! {
        /// Many offsets at once give what they give one by one.
        #[test]
        fn offsets_lead_to_where_a_walk_leads(
            pieces in proptest::collection::vec(0..PIECES.len(), 0..160),
            steps in proptest::collection::vec(0..40usize, 0..80),
        ) {
            let raw: String = pieces.iter().map(|&at| PIECES[at]).collect();
            let quoted = format!("\"{raw}\"");
            let literal = Cursor::over(&quoted, 1).string().unwrap();
            let offsets: Vec<usize> = steps
                .iter()
                .scan(0, |at, step| { *at += step; Some(*at) })
                .collect();
            let mut map = literal.offsets(&quoted);
            let walked: Option<Vec<usize>> = offsets
                .iter()
                .map(|&offset| Some(map.body_offset(offset)? as usize - 1))
                .collect();
            let mut wide = offsets.clone();
            let are_there = spelled_offsets(raw.as_bytes(), &mut wide);
            proptest::prop_assert_eq!(are_there.then_some(wide), walked.clone());
            let mut narrow = offsets.clone();
            let are_there = Offsets { raw: raw.as_bytes(), offsets: &mut narrow }.run::<Lanes16>();
            proptest::prop_assert_eq!(are_there.then_some(narrow), walked);
        }
    }

    #[test]
    fn every_byte_of_a_text_is_found_and_none_after_it_or_out_of_order() {
        for pad in 0..70 {
            let raw = "x".repeat(pad) + "\\n\\\\\\\\n\\\"" + &"y".repeat(130 - pad) + "\\n";
            let quoted = format!("\"{raw}\"");
            let literal = Cursor::over(&quoted, 1).string().unwrap();
            let len = literal.decoded_len();
            let mut map = literal.offsets(&quoted);
            let walked = (0..=len).map(|at| map.body_offset(at).unwrap() as usize - 1);
            let walked: Vec<usize> = walked.collect();
            let mut found: Vec<usize> = (0..=len).collect();
            assert!(spelled_offsets(raw.as_bytes(), &mut found));
            assert_eq!(found, walked);
            assert!(!spelled_offsets(raw.as_bytes(), &mut [len + 1]));
            assert!(!spelled_offsets(raw.as_bytes(), &mut [3, 2]));
        }
    }
}
