//! Five-fold check that the default weights are no luck: the best weights of a grid on four fifths of the
//! questions, measured on the last fifth, beside the defaults on the same fifth.

use secateur_rank::{Ranker, Scorer, Weights};

use crate::contender::Contender;
use crate::measure::{Ranked, found};

const FOLDS: usize = 5;

/// Mean held-out objective of the chosen weights, and of the defaults.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HeldOut {
    pub(crate) chosen: f64,
    pub(crate) default: f64,
}

/// `rank` ranks all sets with one contender; a set comes with the depth at which it is judged.
pub(crate) fn held_out(
    scorer: Scorer,
    rank: impl Fn(&Contender) -> Vec<(Vec<Ranked>, usize)>,
) -> HeldOut {
    let mut grid = vec![Weights::default()];
    for (link, name) in [(1.0, 0.5), (2.0, 0.6), (2.0, 1.0), (3.0, 1.5)] {
        for letters in [0.0, 0.8] {
            for (opening, asked_title) in [(0.3, 0.0), (0.8, 0.6)] {
                grid.push(Weights {
                    link,
                    name,
                    letters,
                    opening,
                    asked_title,
                    ..Weights::default()
                });
            }
        }
    }
    // Per grid point and fold: the sum over the sets of the share found at the set's depth.
    let table: Vec<[f64; FOLDS]> = grid
        .iter()
        .map(|weights| {
            let sets = rank(&Contender::Ours(
                "grid",
                Ranker::with_weights(scorer, *weights),
            ));
            let mut objective = [0.0; FOLDS];
            for (mut ranked, depth) in sets {
                let fifths = (0..FOLDS)
                    .map(|fold| split(&mut ranked, fold))
                    .collect::<Vec<_>>();
                for (sum, fifth) in objective.iter_mut().zip(&fifths) {
                    *sum += found(fifth, &[depth]).0[0];
                }
            }
            objective
        })
        .collect();
    let mut result = HeldOut::default();
    for fold in 0..FOLDS {
        let seen = |row: &[f64; FOLDS]| row.iter().sum::<f64>() - row[fold];
        let best = table.iter().max_by(|a, b| seen(a).total_cmp(&seen(b)));
        result.chosen += best.map_or(0.0, |row| row[fold]) / FOLDS as f64;
        result.default += table[0][fold] / FOLDS as f64;
    }
    result
}

/// Takes every remaining question of a fold out of the list; the last fold gets what is left.
fn split(ranked: &mut Vec<Ranked>, fold: usize) -> Vec<Ranked> {
    let left = FOLDS - fold;
    let all = std::mem::take(ranked);
    let mut taken = Vec::new();
    for (at, question) in all.into_iter().enumerate() {
        if at % left == 0 {
            taken.push(question);
        } else {
            ranked.push(question);
        }
    }
    taken
}
