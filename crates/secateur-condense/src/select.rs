//! Which units fit: greedy by value per character, with the price of the marks between them.

use super::units::{UNIT_OVERHEAD, Unit};

/// Chooses units, in the order of [`by_density`], whose characters and gap marks stay within `max_chars`.
///
/// Stops after `patience` units that do not fit: what is read in one piece is not to be filled up with
/// crumbs.
pub(super) fn select(
    units: &[Unit],
    order: &[usize],
    max_chars: usize,
    mark_chars: usize,
    patience: usize,
) -> Vec<bool> {
    let mut patience = patience;
    let mut kept = vec![false; units.len()];
    // With nothing kept there is one gap.
    let mut used = mark_chars;
    for &index in order {
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

/// Keeps what costs no more than the mark that would replace it.
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

/// Densities above this are alike.
const MOST_DENSE: u64 = (1 << 14) - 1;

/// Below this many units sorting by comparison is faster than by counting.
const FEW: usize = 4096;

/// Indices of the units worth anything, best first, ties in text order. Many are sorted by counting: linear.
pub(super) fn by_density(units: &[Unit]) -> Vec<usize> {
    let lightness = |unit: &Unit| {
        let density = u64::from(unit.value) * 64 / (u64::from(unit.chars + UNIT_OVERHEAD));
        usize::try_from(MOST_DENSE - density.min(MOST_DENSE)).unwrap_or(0)
    };
    let worth_anything = units.iter().enumerate().filter(|(_, unit)| unit.value > 0);
    if units.len() < FEW {
        let mut order: Vec<(usize, usize)> = worth_anything
            .map(|(index, unit)| (lightness(unit), index))
            .collect();
        order.sort_unstable();
        return order.into_iter().map(|(_, index)| index).collect();
    }
    let mut starts = vec![0_usize; usize::try_from(MOST_DENSE).unwrap_or(0) + 2];
    for (_, unit) in worth_anything.clone() {
        starts[lightness(unit) + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut order = vec![0; starts.last().copied().unwrap_or(0)];
    for (index, unit) in worth_anything {
        let place = &mut starts[lightness(unit)];
        order[*place] = index;
        *place += 1;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Glue;

    #[test]
    fn few_and_many_units_come_in_the_same_order() {
        let unit = |at: u32| Unit {
            start: at,
            body: at,
            end: at + 1,
            chars: 1 + at % 7,
            lines: 1,
            value: at * 7919 % 1013,
            shape: 0,
            glue: Glue::None,
        };
        let many: Vec<Unit> = (0..5000).map(unit).collect();
        let few: Vec<usize> = by_density(&many[..FEW - 1]);
        let is_among_few = |index: &usize| *index < FEW - 1;
        let of_many: Vec<usize> = by_density(&many).into_iter().filter(is_among_few).collect();
        assert_eq!(few, of_many);
    }
}
