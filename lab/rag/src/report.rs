//! The tables of RESULTS.md.

use std::fmt::Write;

use secateur_rank::Rule;

use crate::contender::Contender;
use crate::data::{CodeChunk, CodeQuestion, Half, Question};
use crate::measure::{Ranked, best_share, found, half, kept, rank_code, rank_questions};
use crate::timing::shortest;

/// All question sets.
#[derive(Debug)]
pub(crate) struct Sets {
    pub(crate) prose: Vec<(&'static str, Vec<Question>)>,
    pub(crate) pool: Vec<CodeChunk>,
    pub(crate) code: Vec<CodeQuestion>,
}

fn shares(found: &[f64]) -> String {
    let parts: Vec<String> = found.iter().map(|x| format!("{:.1}", x * 100.0)).collect();
    parts.join(" / ")
}

pub(crate) fn what_is_found(contenders: &[Contender], sets: &Sets) -> String {
    let mut out = String::from("| scorer | ");
    for (name, _) in &sets.prose {
        let _ = write!(out, "{name} @1/3/5/10 | ");
    }
    out.push_str("code Pass@5/10/20 |\n| --- | --- | --- | --- | --- |\n");
    for contender in contenders {
        let _ = write!(out, "| {} |", contender.name());
        for (_, questions) in &sets.prose {
            let ranked = rank_questions(contender, questions, true);
            let _ = write!(out, " {} |", shares(&found(&ranked, &[1, 3, 5, 10]).0));
        }
        let ranked = rank_code(contender, &sets.pool, &sets.code, false);
        let _ = writeln!(out, " {} |", shares(&found(&ranked, &[5, 10, 20]).0));
    }
    out
}

pub(crate) fn variants(contenders: &[Contender], sets: &Sets) -> String {
    let mut out = String::from(
        "| scorer | nq20 @5, no titles | musique @10, no titles | hotpot @5, no titles | code Pass@5/10/20, document known |\n| --- | --: | --: | --: | --- |\n",
    );
    for contender in contenders {
        let _ = write!(out, "| {} |", contender.name());
        for ((_, questions), depth) in sets.prose.iter().zip([5, 10, 5]) {
            let ranked = rank_questions(contender, questions, false);
            let _ = write!(out, " {} |", shares(&found(&ranked, &[depth]).0));
        }
        let ranked = rank_code(contender, &sets.pool, &sets.code, true);
        let _ = writeln!(out, " {} |", shares(&found(&ranked, &[5, 10, 20]).0));
    }
    out
}

pub(crate) fn what_is_kept(contenders: &[Contender], sets: &Sets) -> String {
    let mut out = String::from(
        "| scorer | set | dropped | questions with all gold kept |\n| --- | --- | --: | --: |\n",
    );
    for contender in contenders {
        let mut row = |set: &str, ranked: &[Ranked]| {
            let kept = kept(ranked, &Rule::default());
            let _ = writeln!(
                out,
                "| {} | {set} | {:.1} % | {:.1} % |",
                contender.name(),
                kept.dropped * 100.0,
                kept.all_gold * 100.0
            );
        };
        for (name, questions) in &sets.prose {
            row(name, &rank_questions(contender, questions, true));
        }
        row("code", &rank_code(contender, &sets.pool, &sets.code, false));
    }
    out
}

/// All sets ranked, with their names.
fn ranked_sets(contender: &Contender, sets: &Sets) -> Vec<(&'static str, Vec<Ranked>)> {
    let prose = sets.prose.iter();
    prose
        .map(|(name, questions)| (*name, rank_questions(contender, questions, true)))
        .chain([("code", rank_code(contender, &sets.pool, &sets.code, false))])
        .collect()
}

/// What is found and kept on each half of the questions.
pub(crate) fn halves(contenders: &[Contender], sets: &Sets) -> String {
    let mut out = String::from(
        "| scorer | set | found, tuned half | found, held-out half | dropped / all gold kept, tuned half | held-out half |\n\
         | --- | --- | --: | --: | --: | --: |\n",
    );
    for contender in contenders {
        for ((set, ranked), depth) in ranked_sets(contender, sets).iter().zip([5, 10, 5, 10]) {
            let _ = write!(out, "| {} | {set} @{depth} |", contender.name());
            for which in [Half::Tuned, Half::HeldOut] {
                let found = found(half(ranked, which), &[depth]);
                let _ = write!(out, " {} |", shares(&found.0));
            }
            for which in [Half::Tuned, Half::HeldOut] {
                let kept = kept(half(ranked, which), &Rule::default());
                let (dropped, all_gold) = (kept.dropped * 100.0, kept.all_gold * 100.0);
                let _ = write!(out, " {dropped:.1} / {all_gold:.1} |");
            }
            out.push('\n');
        }
    }
    out
}

/// What the ranking allows: questions with all gold among the best share of their chunks.
pub(crate) fn curve(contenders: &[Contender], sets: &Sets) -> String {
    let mut out = String::from("| scorer | set | questions |");
    let dropped: Vec<u8> = (3..=9).rev().map(|tenths| 100 - 10 * tenths).collect();
    for percent in &dropped {
        let _ = write!(out, " {percent} % dropped |");
    }
    out.push_str("\n| --- | --- | --- | --: | --: | --: | --: | --: | --: | --: |\n");
    for contender in contenders {
        for (set, ranked) in ranked_sets(contender, sets).iter().take(sets.prose.len()) {
            let mut row = |name: &str, questions: &[&Ranked]| {
                let _ = write!(out, "| {} | {set} | {name} |", contender.name());
                for percent in &dropped {
                    let share = 1.0 - f64::from(*percent) / 100.0;
                    let kept = best_share(questions.iter().copied(), share);
                    let _ = write!(out, " {:.1} |", kept * 100.0);
                }
                out.push('\n');
            };
            row("all", &ranked.iter().collect::<Vec<_>>());
            row("held out", &half(ranked, Half::HeldOut).collect::<Vec<_>>());
        }
    }
    out
}

/// What other values of one option of the drop rule keep.
pub(crate) fn rules(contender: &Contender, sets: &Sets) -> String {
    let ranked = ranked_sets(contender, sets);
    let mut out = String::from(
        "| rule | nq20, tuned | held out | musique, tuned | held out | hotpot, tuned | held out | code, tuned | held out |\n\
         | --- | --: | --: | --: | --: | --: | --: | --: | --: |\n",
    );
    let mut row = |name: String, rule: Rule| {
        let _ = write!(out, "| {name} ");
        for (_, set) in &ranked {
            for which in [Half::Tuned, Half::HeldOut] {
                let kept = kept(half(set, which), &rule);
                let (dropped, all_gold) = (kept.dropped * 100.0, kept.all_gold * 100.0);
                let _ = write!(out, "| {dropped:.1} / {all_gold:.1} ");
            }
        }
        out.push_str("|\n");
    };
    row("default".to_owned(), Rule::default());
    for keep_share in [0.0, 0.3, 0.35, 0.4, 0.5] {
        let rule = Rule {
            keep_share,
            ..Rule::default()
        };
        row(format!("keep_share {keep_share}"), rule);
    }
    for min_score in [0.3, 0.34, 0.36, 0.4, 0.42, 0.46] {
        let rule = Rule {
            min_score,
            ..Rule::default()
        };
        row(format!("min_score {min_score}"), rule);
    }
    for keep_mass in [0.8, 0.9, 0.93, 0.98, 1.0] {
        let rule = Rule {
            keep_mass,
            ..Rule::default()
        };
        row(format!("keep_mass {keep_mass}"), rule);
    }
    out
}

/// How scores go with length on nq20, among the chunks that are not gold: no scorer may use it.
pub(crate) fn length(contenders: &[Contender], sets: &Sets) -> String {
    let mut out = String::from("| scorer | correlation of score and length |\n| --- | --: |\n");
    let Some((_, questions)) = sets.prose.first() else {
        return out;
    };
    for contender in contenders {
        let ranked = rank_questions(contender, questions, true);
        let (mut both, mut lengths, mut scores) = (0.0, 0.0, 0.0);
        for (question, ranked) in questions.iter().zip(&ranked) {
            let others: Vec<(f64, f64)> = question
                .chunks
                .iter()
                .zip(&ranked.scores)
                .filter(|(chunk, _)| !chunk.gold)
                .map(|(chunk, score)| (chunk.text.len() as f64, f64::from(*score)))
                .collect();
            let count = others.len().max(1) as f64;
            let length: f64 = others.iter().map(|(length, _)| length).sum::<f64>() / count;
            let score: f64 = others.iter().map(|(_, score)| score).sum::<f64>() / count;
            for (one, other) in others {
                let (one, other) = (one - length, other - score);
                both += one * other;
                lengths += one * one;
                scores += other * other;
            }
        }
        let correlation = both / (lengths * scores).sqrt().max(f64::MIN_POSITIVE);
        let _ = writeln!(out, "| {} | {correlation:.2} |", contender.name());
    }
    out
}

pub(crate) fn what_it_costs(contenders: &[Contender], sets: &Sets) -> String {
    let mut out = String::from(
        "| scorer | 20 chunks | 100 chunks | × plain BM25 |\n| --- | --: | --: | --: |\n",
    );
    let Some((_, questions)) = sets.prose.first() else {
        return out;
    };
    let time = |contender, count| shortest(contender, questions, count, 20_000 / count);
    let base = time(&Contender::PlainBm25, 20);
    for contender in contenders {
        let (a, b) = (time(contender, 20), time(contender, 100));
        let ratio = a.as_secs_f64() / base.as_secs_f64();
        let _ = writeln!(
            out,
            "| {} | {} µs | {} µs | {ratio:.2} |",
            contender.name(),
            a.as_micros(),
            b.as_micros()
        );
    }
    out
}
