//! Retrieval benchmark: what the ranker finds, keeps and costs on real questions.
//!
//! `cargo run --release -p lab-rag` prints the tables; with `--write` they become `lab/rag/RESULTS.md`.
//! `--data <folder>` names the folder with the question sets (default `../shared/data/rag`).
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command that prints its tables"
)]

mod contender;
mod data;
mod measure;
mod report;
mod shuffle;
mod timing;

use std::io::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contender::Contender;
use report::Sets;
use secateur_rank::{Ranker, Scorer, Weights};

fn main() -> ExitCode {
    let mut folder = PathBuf::from("../shared/data/rag");
    let mut write = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        match flag.as_str() {
            "--write" => write = true,
            "--data" => folder = arguments.next().unwrap_or_default().into(),
            _ => {
                eprintln!("unknown argument {flag}; known: --data <folder>, --write");
                return ExitCode::FAILURE;
            }
        }
    }
    if !folder.is_dir() {
        println!(
            "{} is absent: nothing measured. Name the folder with --data.",
            folder.display()
        );
        return ExitCode::SUCCESS;
    }
    let keep = |text: String| match write {
        true => std::fs::write("lab/rag/RESULTS.md", &text).map(|()| text),
        false => Ok(text),
    };
    match run(&folder).and_then(keep) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path) -> Result<String, Error> {
    let mut prose = Vec::new();
    for name in ["nq20", "musique", "hotpot"] {
        prose.push((name, data::questions(folder, name)?));
    }
    let pool = data::lines(&folder.join("code-chunks.jsonl.gz"))?;
    let code = data::lines(&folder.join("code-questions.jsonl.gz"))?;
    let sets = Sets { prose, pool, code };
    let words = Weights {
        words: 1.0,
        title: 0.0,
        asked_title: 0.0,
        letters: 0.0,
        nearness: 0.0,
        opening: 0.0,
        link: 0.0,
        name: 0.0,
        steps: 0,
        neighbour: 0.0,
        meaning: 0.0,
    };
    let all = Weights::default();
    let lexical =
        |name, weights| Contender::Ours(name, Ranker::with_weights(Scorer::Lexical, weights));
    let ours = [
        Contender::Ours("lexical", Ranker::new(Scorer::Lexical)),
        Contender::Ours("hybrid", Ranker::new(Scorer::Hybrid)),
    ];
    let steps = [
        Contender::Shuffled,
        Contender::Shortest,
        Contender::PlainBm25,
        lexical("our words alone", words),
        lexical(
            "lexical without titles' words",
            Weights {
                title: 0.0,
                asked_title: 0.0,
                opening: 0.0,
                ..all
            },
        ),
        lexical(
            "lexical without letters",
            Weights {
                letters: 0.0,
                ..all
            },
        ),
        lexical(
            "lexical without nearness",
            Weights {
                nearness: 0.0,
                ..all
            },
        ),
        lexical(
            "lexical without opening",
            Weights {
                opening: 0.0,
                ..all
            },
        ),
        lexical("lexical without links", Weights { link: 0.0, ..all }),
        lexical("lexical without shared names", Weights { name: 0.0, ..all }),
        lexical(
            "lexical without neighbours",
            Weights {
                neighbour: 0.0,
                ..all
            },
        ),
    ];
    let hybrid =
        |name, weights| Contender::Ours(name, Ranker::with_weights(Scorer::Hybrid, weights));
    let with_meaning = [
        hybrid(
            "meaning alone",
            Weights {
                words: 0.0,
                meaning: 1.0,
                ..words
            },
        ),
        hybrid(
            "our words and meaning",
            Weights {
                meaning: all.meaning,
                ..words
            },
        ),
        hybrid(
            "hybrid without titles' words",
            Weights {
                title: 0.0,
                asked_title: 0.0,
                opening: 0.0,
                ..all
            },
        ),
        hybrid(
            "hybrid without links and names",
            Weights {
                link: 0.0,
                name: 0.0,
                ..all
            },
        ),
        hybrid(
            "hybrid without neighbours",
            Weights {
                neighbour: 0.0,
                ..all
            },
        ),
    ];
    let [by_words, by_both] = ours.clone();
    let contenders: Vec<Contender> = steps
        .into_iter()
        .chain([by_words])
        .chain(with_meaning)
        .chain([by_both])
        .collect();
    let timed: Vec<Contender> = [Contender::PlainBm25]
        .into_iter()
        .chain(ours.clone())
        .collect();
    let judged: Vec<Contender> = timed.clone();
    Ok(format!(
        "# Retrieval results\n\n\
         - **Question:** how many of the chunks that answer a question does each scorer rank first, and what does the drop rule lose?\n\
         - **Command:** `cargo run --release -p lab-rag -- --write`\n\
         - **Machine, date:** only the last table depends on the machine, one core; measured when this page was last committed\n\
         - **Reading:** [ranking.md](../ranking.md). All figures are in percent.\n\
         \n\
         Chunks of a question are \
         shuffled with a fixed seed first. recall@k and Pass@k: the share of a question's gold chunks among the first k, averaged over the \
         questions. Shortest-first is a control: on nq20 gold chunks are short, and no scorer may use that.\n\n\
         ## Found\n\n{}\n## Tuned and held out\n\nA question's half is a hash of its id. How meaning is \
         weighed (rarity of pieces, its weight, no letters beside it) and keep_share were chosen on the tuned half alone; the weights of the \
         lexical evidence, min_score and keep_mass are older and were chosen on all questions. With 120 questions a half, one figure of nq20 is uncertain by 4 points; with 25, of musique and \
         hotpot, by 6.\n\n{}\n\
         ## Without titles, and with known documents\n\n{}\n## Kept by the default drop rule\n\n{}\n\
         ## Kept by other rules, hybrid\n\nShare of the chunks dropped / share of the questions with all gold kept, with one option of the \
         default rule changed.\n\n{}\n\
         ## What the rankings allow\n\nShare of the questions with all gold kept when the same share of every question's chunks is dropped.\n\n{}\n\
         ## Length\n\nOn nq20, among the chunks that are not gold, each against the mean of its question.\n\n{}\n\
         ## Time\n\nShortest of many rounds on one core, on nq20's chunks of about 100 words.\n\n{}",
        report::what_is_found(&contenders, &sets),
        report::halves(&judged, &sets),
        report::variants(&ours, &sets),
        report::what_is_kept(&ours, &sets),
        report::rules(&ours[1], &sets),
        report::curve(&judged, &sets),
        report::length(&judged, &sets),
        report::what_it_costs(&timed, &sets),
    ))
}
