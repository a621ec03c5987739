//! Which units fit: greedy by value per character, with the price of the marks between them.

use super::units::{UNIT_OVERHEAD, Unit};

/// Chooses units whose characters and gap marks stay within `max_chars`.
///
/// Stops after `patience` units that do not fit: what is read in one piece is not to be filled up with
/// crumbs.
pub(super) fn select(
    units: &[Unit],
    max_chars: usize,
    mark_chars: usize,
    patience: usize,
) -> Vec<bool> {
    let mut patience = patience;
    let mut kept = vec![false; units.len()];
    // With nothing kept there is one gap.
    let mut used = mark_chars;
    for index in by_density(units) {
        let unit = &units[index];
        let left = index == 0 || kept[index - 1];
        let right = index + 1 == units.len() || kept[index + 1];
        let chars = unit.chars as usize;
        let next = match (left, right) {
            (true, true) => (used + chars).saturating_sub(mark_chars),
            (false, false) => used + chars + mark_chars,
            _ => used + chars,
        };
        if next <= max_chars {
            used = next;
            kept[index] = true;
        } else {
            patience -= 1;
            if patience == 0 {
                break;
            }
        }
    }
    close_small_gaps(units, &mut kept, mark_chars);
    kept
}

/// Keeps what costs no more than the mark that would stand in its place.
fn close_small_gaps(units: &[Unit], kept: &mut [bool], mark_chars: usize) {
    let mut at = 0;
    while at < units.len() {
        if kept[at] {
            at += 1;
            continue;
        }
        let end = (at..units.len())
            .find(|&next| kept[next])
            .unwrap_or(units.len());
        let chars: usize = units[at..end].iter().map(|unit| unit.chars as usize).sum();
        if chars <= mark_chars {
            kept[at..end].fill(true);
        }
        at = end;
    }
}

/// Indices of the units worth anything, best first, ties in text order. A counting sort: linear.
fn by_density(units: &[Unit]) -> Vec<usize> {
    const BUCKETS: usize = 1 << 14;
    let bucket = |unit: &Unit| {
        let density = u64::from(unit.value) * 64 / (u64::from(unit.chars + UNIT_OVERHEAD));
        BUCKETS - 1 - usize::try_from(density).unwrap_or(BUCKETS).min(BUCKETS - 1)
    };
    let mut starts = vec![0_usize; BUCKETS + 1];
    for unit in units.iter().filter(|unit| unit.value > 0) {
        starts[bucket(unit) + 1] += 1;
    }
    for at in 0..BUCKETS {
        starts[at + 1] += starts[at];
    }
    let mut order = vec![0; starts[BUCKETS]];
    for (index, unit) in units.iter().enumerate().filter(|(_, unit)| unit.value > 0) {
        let place = &mut starts[bucket(unit)];
        order[*place] = index;
        *place += 1;
    }
    order
}
