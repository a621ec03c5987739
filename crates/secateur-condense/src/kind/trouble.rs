//! How much each line of a log is worth: what it says about trouble, how rare its shape is, how close
//! it is to a failure or a bad end.

use crate::shapes::ByShape;
use crate::traits::Traits;
use crate::units::Unit;

/// From this score on a line is a failure that carries its surroundings with it.
pub(super) const STRONG: u16 = 50;
/// How many lines a failure lights up after and before itself.
const BEHIND: usize = 12;
const BEFORE: usize = 4;
/// The same after a line that says how a run ended.
const BEHIND_OUTCOME: usize = 2;
/// Failures this close to one another make a list.
const LIST_REACH: usize = 8;
/// What occurs more often than this does not end a run.
const ROUTINE: u32 = 4;
/// How many lines before a bad end are worth something by their place.
const BEFORE_OUTCOME: usize = 40;
/// How far back the command of a failure is searched for.
const COMMAND_REACH: usize = 200;

/// How often a shape occurs, and how often it did so far.
#[derive(Debug, Default, Clone, Copy)]
struct Occurrences {
    total: u32,
    seen: u32,
}

pub(super) fn weigh(text: &str, units: &mut [Unit], traits: &[Traits]) {
    let mut shapes: ByShape<Occurrences> = ByShape::default();
    for line in traits.iter().filter(|line| !line.blank) {
        shapes.entry(line.shape).or_default().total += 1;
    }
    let declared = step_declarations(text, units);
    let mut own: Vec<u32> = vec![0; units.len()];
    let mut totals: Vec<u32> = vec![0; units.len()];
    for (index, line) in traits.iter().enumerate() {
        if line.blank {
            continue;
        }
        let Some(occurrences) = shapes.get_mut(&line.shape) else {
            continue;
        };
        occurrences.seen += 1;
        totals[index] = occurrences.total;
        own[index] = worth(line, *occurrences);
        if declared[index] {
            own[index] /= 5;
        }
    }
    let outcomes: Vec<usize> = (0..units.len())
        .filter(|&index| traits[index].outcome && !declared[index] && totals[index] <= ROUTINE)
        .collect();
    draw_to_outcomes(&mut own, &outcomes);
    let strong: Vec<usize> = (0..units.len())
        .filter(|&index| own[index] >= u32::from(STRONG) * 10)
        .collect();
    boost_ends(&mut own, &strong);
    let mut values = own.clone();
    spread(
        &mut values,
        &own,
        &Surroundings {
            traits,
            totals: &totals,
            declared: &declared,
        },
        &strong,
    );
    light_commands(&mut values, &own, traits, &totals, &strong);
    light_before_outcomes(&mut values, traits, &outcomes);
    light_edges(&mut values, traits, !outcomes.is_empty());
    for (unit, value) in units.iter_mut().zip(values) {
        unit.value = value;
    }
}

/// Lines between a step's header and the end of its group: the script and its environment.
fn step_declarations(text: &str, units: &[Unit]) -> Vec<bool> {
    let bytes = text.as_bytes();
    let mut inside = false;
    units
        .iter()
        .map(|unit| {
            let line = &bytes[unit.body_span()];
            if line.starts_with(b"##[group]Run ") {
                inside = true;
            } else if line.starts_with(b"##[") {
                inside = false;
            }
            inside
        })
        .collect()
}

/// Trouble shortly before a bad end is more likely its cause, most of all before the last one.
fn draw_to_outcomes(own: &mut [u32], outcomes: &[usize]) {
    let mut next = 0;
    for (index, worth) in own.iter_mut().enumerate() {
        while next < outcomes.len() && outcomes[next] < index {
            next += 1;
        }
        let Some(&outcome) = outcomes.get(next) else {
            break;
        };
        let last = next + 1 == outcomes.len();
        *worth = match (outcome - index, last) {
            (0..=40, true) => *worth * 2,
            (0..=40, false) | (41..=300, true) => *worth * 3 / 2,
            (41..=300, false) => *worth * 5 / 4,
            _ => *worth,
        };
    }
}

/// A line's own worth in tenths: its score, less for each earlier line of the same shape.
fn worth(line: &Traits, occurrences: Occurrences) -> u32 {
    let Occurrences { total, seen } = occurrences;
    let mut worth = u32::from(line.score) * 10;
    if line.location && line.score == 0 {
        worth += 40;
    }
    worth = less_if_routine(worth, total);
    if seen > 1 && seen < total {
        worth = worth * 2 / (1 + seen.min(40));
    } else if seen > 1 {
        worth = worth * 3 / 4;
    }
    worth + 10 / total.min(10)
}

/// A shape that fills the log is its routine, whatever words it uses.
fn less_if_routine(worth: u32, total: u32) -> u32 {
    worth * 8 / (8 + (total / 4).min(56))
}

/// The first failures name the cause, the last ones the outcome; each list of failures says most in its
/// first lines.
fn boost_ends(own: &mut [u32], strong: &[usize]) {
    let count = strong.len();
    let mut in_list = 0;
    let mut previous = None;
    for (rank, &index) in strong.iter().enumerate() {
        in_list = match previous {
            Some(previous) if index - previous <= LIST_REACH => in_list + 1,
            _ => 0,
        };
        previous = Some(index);
        let near = rank.min(count - 1 - rank);
        if near < 6 || in_list < 2 {
            own[index] += own[index] / 2;
        } else if near > 30 && in_list > 8 {
            own[index] = own[index] * 2 / 3;
        }
    }
}

/// What is known of the lines around a failure.
struct Surroundings<'a> {
    traits: &'a [Traits],
    totals: &'a [u32],
    declared: &'a [bool],
}

impl Surroundings<'_> {
    /// What a line gets of a failure's worth: nothing if it is blank, less if its shape is routine.
    fn share(&self, index: usize, share: u32) -> u32 {
        if self.traits[index].blank {
            return 0;
        }
        less_if_routine(share, self.totals[index])
    }
}

/// Lines near a failure share its worth.
fn spread(values: &mut [u32], own: &[u32], around: &Surroundings<'_>, strong: &[usize]) {
    for &index in strong {
        // Behind a bad end comes something else.
        let behind = if around.traits[index].outcome {
            BEHIND_OUTCOME
        } else {
            BEHIND
        };
        let mut share = own[index] / 2;
        for next in index + 1..(index + 1 + behind).min(values.len()) {
            if around.declared[next] {
                break;
            }
            values[next] = values[next].max(around.share(next, share) + own[next] / 2);
            share = share * 5 / 6;
        }
        let mut share = own[index] / 3;
        for back in (index.saturating_sub(BEFORE)..index).rev() {
            values[back] = values[back].max(around.share(back, share) + own[back] / 2);
            share /= 2;
        }
    }
}

/// The last command before a failure is worth about as much as the failure, if it is not run all the time.
fn light_commands(
    values: &mut [u32],
    own: &[u32],
    traits: &[Traits],
    totals: &[u32],
    strong: &[usize],
) {
    let mut command = None;
    let mut at = 0;
    for &index in strong {
        while at < index {
            if traits[at].command {
                command = Some(at);
            }
            at += 1;
        }
        if let Some(command) = command.filter(|&command| index - command <= COMMAND_REACH) {
            values[command] = values[command].max(own[index] / (1 + totals[command].max(1)));
        }
    }
}

/// The lines before a bad end, most of all before the last one.
fn light_before_outcomes(values: &mut [u32], traits: &[Traits], outcomes: &[usize]) {
    for (rank, &index) in outcomes.iter().enumerate() {
        let mut worth: u32 = if rank + 1 == outcomes.len() { 500 } else { 250 };
        for back in (0..index)
            .rev()
            .filter(|&back| !traits[back].blank)
            .take(BEFORE_OUTCOME)
        {
            values[back] = values[back].max(worth);
            worth = worth * 14 / 15;
        }
    }
}

/// The first and the last lines say what ran and how it ended.
fn light_edges(values: &mut [u32], traits: &[Traits], has_outcome: bool) {
    let mut worth = 200;
    for index in 0..values.len().min(3) {
        values[index] = values[index].max(worth);
        worth /= 2;
    }
    let (mut worth, lines) = if has_outcome {
        (200, 4)
    } else {
        (500, BEFORE_OUTCOME)
    };
    for index in (0..values.len())
        .rev()
        .filter(|&index| !traits[index].blank)
        .take(lines)
    {
        values[index] = values[index].max(worth);
        worth = worth * 9 / 10;
    }
}
