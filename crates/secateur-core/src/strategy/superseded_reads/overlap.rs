//! Which lines of an older read a newer read of the same file shows.

use std::ops::Range;

use super::lines::Lines;

/// The stretches of `older` that `newer` covers, in order.
///
/// Lines that occur once in both are laid side by side, in the longest order that both share.
/// Between two of them the newer read shows what is in the file now, provided that it has no gap
/// there; outside, lines count only while they are alike.
pub(super) fn shared_stretches(older: &Lines, newer: &Lines) -> Vec<Range<usize>> {
    let pairs: Vec<(usize, usize)> = older.twins(newer).collect();
    let chain = longest_rising(&pairs);
    let mut stretches: Vec<Range<usize>> = Vec::new();
    let mut before: Option<(usize, usize)> = None;
    for (old, new) in chain {
        let bridges = before.is_some_and(|(old_before, new_before)| {
            // Without numbers a text may have been cut short in the middle.
            let is_even = old - old_before == new - new_before;
            let has_no_gap = newer.line(new_before).segment == newer.line(new).segment
                && older.line(old_before).segment == older.line(old).segment;
            has_no_gap && (newer.is_listing || is_even)
        });
        match stretches.last_mut() {
            Some(last) if bridges => last.end = old + 1,
            _ => {
                if let (Some(last), Some((old_before, new_before))) = (stretches.last_mut(), before)
                {
                    last.end = forward(older, newer, old_before, new_before) + 1;
                }
                let start = backward(older, newer, old, new);
                let floor = stretches.last().map_or(0, |last| last.end);
                stretches.push(start.max(floor)..old + 1);
            }
        }
        before = Some((old, new));
    }
    if let (Some(last), Some((old, new))) = (stretches.last_mut(), before) {
        last.end = forward(older, newer, old, new) + 1;
    }
    stretches
}

/// The first line of the alike run that ends at this pair.
fn backward(older: &Lines, newer: &Lines, mut old: usize, mut new: usize) -> usize {
    while old > 0 && new > 0 && is_alike(older, newer, old - 1, new - 1) {
        old -= 1;
        new -= 1;
    }
    old
}

/// The last line of the alike run that starts at this pair.
fn forward(older: &Lines, newer: &Lines, mut old: usize, mut new: usize) -> usize {
    while old + 1 < older.len() && new + 1 < newer.len() && is_alike(older, newer, old + 1, new + 1)
    {
        old += 1;
        new += 1;
    }
    old
}

fn is_alike(older: &Lines, newer: &Lines, old: usize, new: usize) -> bool {
    older.is_of_file(old) && newer.is_of_file(new) && older.code(old) == newer.code(new)
}

/// The longest subsequence whose second members rise. The first members rise already.
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // `ends[n]`: index of the pair that ends the best run of n + 1 pairs.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, &(_, new)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&end| pairs[end].1 < new);
        previous.push(length.checked_sub(1).map(|before| ends[before]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut run = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(at) = next {
        run.push(pairs[at]);
        next = previous[at];
    }
    run.reverse();
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As pairs of first line and end, which read better than lists of ranges.
    fn shared(older: &Lines, newer: &Lines) -> Vec<(usize, usize)> {
        let stretches = shared_stretches(older, newer).into_iter();
        stretches
            .map(|stretch| (stretch.start, stretch.end))
            .collect()
    }

    fn listing(lines: Range<usize>, shift: usize, changed: Option<usize>) -> Lines {
        let text: String = lines
            .map(|at| {
                let what = if Some(at) == changed {
                    "changed"
                } else {
                    "original"
                };
                format!("{:>6}→    let {what}_{at} = compute({at});\n", at + shift)
            })
            .collect();
        Lines::of_text(&text)
    }

    #[test]
    fn only_the_lines_that_both_show_are_shared() {
        assert_eq!(
            shared(&listing(1..201, 0, None), &listing(150..401, 0, None)),
            [(149, 200)]
        );
        assert_eq!(
            shared(&listing(1..101, 0, None), &listing(1..101, 0, None)),
            [(0, 100)]
        );
        assert!(shared(&listing(1..101, 0, None), &listing(101..201, 0, None)).is_empty());
    }

    #[test]
    fn lines_that_moved_out_of_the_newer_read_stay() {
        // Ten lines were put in at the top: the newer read of 60 lines shows old lines 1 to 50.
        let newer: String = (1..=10)
            .map(|at| format!("{at:>6}→    let added_{at} = 0;\n"))
            .chain(
                (1..=50)
                    .map(|at| format!("{:>6}→    let original_{at} = compute({at});\n", at + 10)),
            )
            .collect();
        let found = shared(&listing(1..101, 0, None), &Lines::of_text(&newer));
        assert_eq!(found, [(0, 50)]);
    }

    #[test]
    fn an_edited_line_between_shared_ones_goes_and_one_at_the_end_stays() {
        let older = listing(1..11, 0, None);
        assert_eq!(shared(&older, &listing(1..11, 0, Some(5))), [(0, 10)]);
        assert_eq!(shared(&older, &listing(1..11, 0, Some(10))), [(0, 9)]);
    }

    #[test]
    fn a_gap_in_the_newer_read_is_not_bridged() {
        let newer: String = (1..21)
            .chain(80..101)
            .map(|at| format!("{at:>6}→    let original_{at} = compute({at});\n"))
            .collect();
        let found = shared(&listing(1..101, 0, None), &Lines::of_text(&newer));
        assert_eq!(found, [(0, 20), (79, 100)]);
        // Without numbers the same: unequal many lines in between.
        let plain = |range: &mut dyn Iterator<Item = usize>| -> Lines {
            let text: String = range
                .map(|at| format!("let original_{at} = 1;\n"))
                .collect();
            Lines::of_text(&text)
        };
        let newer = plain(&mut (1..21).chain(80..101));
        assert_eq!(shared(&plain(&mut (1..101)), &newer), [(0, 20), (79, 100)]);
    }

    #[test]
    fn the_longest_order_wins_over_a_line_that_moved() {
        assert_eq!(
            longest_rising(&[(0, 90), (1, 1), (2, 2), (3, 3), (4, 0)]),
            [(1, 1), (2, 2), (3, 3)]
        );
        assert!(longest_rising(&[]).is_empty());
    }
}
