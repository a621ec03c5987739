//! Cross-validation over sessions: the best setting on some sessions, scored on the others.

use secateur_replay::Totals;

use crate::goal::{GOALS, Goal};

/// What the chosen settings come to on the sessions they were chosen on, and on the others.
struct Validated {
    seen: Totals,
    unseen: Totals,
    chosen: Vec<String>,
}

/// Session n is held out in fold n modulo `folds`.
fn validate(goal: &Goal, candidates: &[(&str, Totals)], folds: usize) -> Validated {
    let mut validated = Validated {
        seen: Totals::default(),
        unseen: Totals::default(),
        chosen: Vec::new(),
    };
    for fold in 0..folds {
        let seen = |t: &Totals| part(t, |n| n % folds != fold);
        let numbered = candidates.iter().enumerate();
        let Some((number, best)) = goal.best(numbered.map(|(n, (_, t))| (n, seen(t)))) else {
            continue;
        };
        let (name, all) = &candidates[number];
        validated.seen.sessions.extend(best.sessions);
        let unseen = part(all, |n| n % folds == fold);
        validated.unseen.sessions.extend(unseen.sessions);
        if !validated.chosen.iter().any(|known| known == name) {
            validated.chosen.push((*name).to_owned());
        }
    }
    validated
}

fn part(t: &Totals, keep: impl Fn(usize) -> bool) -> Totals {
    let numbered = t.sessions.iter().enumerate();
    let kept = numbered.filter(|(n, _)| keep(*n)).map(|(_, s)| s.clone());
    Totals {
        sessions: kept.collect(),
    }
}

/// Two halves, both ways, and five folds.
pub fn print(candidates: &[(&str, Totals)]) {
    for folds in [2, 5] {
        println!("{} settings, {folds} folds", candidates.len());
        println!(
            "{:20} bill   ids    lines   held out: bill   ids    lines",
            "tuned for"
        );
        for goal in GOALS {
            let validated = validate(&goal, candidates, folds);
            let (seen, unseen) = (&validated.seen, &validated.unseen);
            println!(
                "{:20} {:.4} {:.4} {:.4}            {:.4} {:.4} {:.4}  {}",
                goal.to_string(),
                seen.bill(),
                seen.ids(),
                seen.lines(),
                unseen.bill(),
                unseen.ids(),
                unseen.lines(),
                validated.chosen.join(" / ")
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secateur_replay::SessionScore;

    #[test]
    fn a_setting_is_chosen_without_the_sessions_that_score_it() {
        // Each setting is cheap on the sessions of one half only.
        let totals = |costs: [f64; 4]| Totals {
            sessions: costs
                .map(|cost| SessionScore {
                    cost,
                    full_cost: 10.0,
                    ..SessionScore::default()
                })
                .to_vec(),
        };
        let candidates = [
            ("even", totals([1.0, 9.0, 1.0, 9.0])),
            ("odd", totals([9.0, 1.0, 9.0, 1.0])),
        ];
        let validated = validate(&GOALS[0], &candidates, 2);
        assert!((validated.seen.bill() - 0.1).abs() < 1e-9);
        assert!((validated.unseen.bill() - 0.9).abs() < 1e-9);
        assert_eq!(validated.chosen, ["odd", "even"]);
        assert_eq!(validated.unseen.sessions.len(), 4);
    }
}
