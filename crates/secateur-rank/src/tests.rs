//! The ranker as a whole: what it prefers, and that no input upsets it.

use proptest::prelude::*;

use super::*;

const BOTH: [Scorer; 2] = [Scorer::Lexical, Scorer::Hybrid];

fn untitled<'a>(texts: &[&'a str]) -> Vec<Chunk<'a>> {
    texts
        .iter()
        .map(|&text| Chunk { title: None, text })
        .collect()
}

fn best(scorer: Scorer, question: &str, chunks: &[Chunk<'_>]) -> usize {
    let scores = Ranker::new(scorer).scores(question, chunks);
    select(&scores, &Rule::default())[0]
}

#[test]
fn finds_the_method_by_a_part_of_its_name() {
    let chunks = untitled(&[
        "fn write_all(&mut self) {}",
        "impl Cache { fn evictOldest(&mut self) {} }",
        "struct Reader { buffer: Vec<u8> }",
    ]);
    for scorer in BOTH {
        assert_eq!(
            best(scorer, "How does it evict the oldest entry?", &chunks),
            1
        );
    }
}

#[test]
fn words_that_all_chunks_share_still_count() {
    let chunks = untitled(&[
        "nobel prize physics x",
        "nobel prize physics physics nobel prize",
        "nobel prize",
        "nobel prize",
    ]);
    let scores = Ranker::new(Scorer::Lexical).scores("nobel prize", &chunks);
    assert!(scores.iter().all(|score| *score > 0.3), "{scores:?}");
}

#[test]
fn a_chunk_that_the_best_chunk_names_comes_second() {
    let chunk = |title, text| Chunk {
        title: Some(title),
        text,
    };
    let chunks = [
        chunk(
            "Stamp collecting",
            "A hobby of many people in the first half of the century.",
        ),
        chunk(
            "Dorvania Society",
            "It was founded in 1892. Its first head was G. Hall.",
        ),
        chunk(
            "Quarterly of Optics",
            "The Quarterly of Optics is published by the Dorvania Society.",
        ),
        chunk("Moss", "Moss grows on stones near rivers."),
    ];
    for scorer in BOTH {
        let scores = Ranker::new(scorer)
            .scores("Who led the publisher of the Quarterly of Optics?", &chunks);
        assert_eq!(select(&scores, &Rule::default())[..2], [2, 1], "{scores:?}");
    }
}

#[test]
fn length_alone_is_no_evidence() {
    let long = "unrelated words about nothing in particular ".repeat(40);
    let chunks = untitled(&["short", &long, "tiny text", "another brief one"]);
    let scores = Ranker::new(Scorer::Lexical).scores("zebra migration", &chunks);
    assert_eq!(scores, [0.0; 4]);
}

#[test]
fn an_empty_question_and_equal_chunks_give_no_ranking() {
    let chunks = untitled(&["same text here"; 6]);
    for scorer in BOTH {
        for question in ["", "???", "same text", "the of"] {
            let scores = Ranker::new(scorer).scores(question, &chunks);
            assert!(
                scores
                    .windows(2)
                    .all(|pair| pair[0].to_bits() == pair[1].to_bits()),
                "{question:?} {scores:?}"
            );
            assert_eq!(select(&scores, &Rule::default()).len(), 6);
        }
        assert!(Ranker::new(scorer).scores("question", &[]).is_empty());
    }
}

#[test]
fn ranks_chinese_japanese_and_arabic() {
    let cases = [
        (
            "北京的人口是多少？",
            ["上海是一座城市。", "北京人口约两千万。", "苹果是水果。"],
        ),
        (
            "富士山の高さは？",
            [
                "桜は春に咲く。",
                "富士山の高さは3776メートルです。",
                "京都は古い都です。",
            ],
        ),
        (
            "ما هي عاصمة مصر؟",
            ["التفاح فاكهة.", "القاهرة هي عاصمة مصر.", "النيل نهر طويل."],
        ),
    ];
    for (question, texts) in cases {
        for scorer in BOTH {
            assert_eq!(best(scorer, question, &untitled(&texts)), 1, "{question}");
        }
    }
}

#[test]
fn many_chunks_and_a_huge_one_are_ranked() {
    let huge = "lorem ipsum Dolor sit amet ".repeat(200_000);
    let mut texts = vec!["what the question asks about"; 10_000];
    texts[17] = &huge;
    let titles: Vec<String> = (0..texts.len())
        .map(|i| format!("Common title {i}"))
        .collect();
    let chunks: Vec<Chunk<'_>> = texts
        .iter()
        .zip(&titles)
        .map(|(&text, title)| Chunk {
            title: Some(title),
            text,
        })
        .collect();
    for scorer in BOTH {
        let scores = Ranker::new(scorer).scores("what is the common question?", &chunks);
        assert_eq!(scores.len(), 10_000);
        assert!(scores[17] < scores[18]);
    }
}

#[test]
fn scores_have_the_same_bits_everywhere() {
    let chunks = [
        Chunk {
            title: Some("Uvea"),
            text: "The uvea is the vascular middle layer of the eye.",
        },
        Chunk {
            title: Some("Cornea"),
            text: "The cornea is the transparent front layer.",
        },
        Chunk {
            title: None,
            text: "Rivers carry water.",
        },
    ];
    let bits = |scorer| -> Vec<u32> {
        let scores = Ranker::new(scorer).scores("Which layer of the eye is vascular?", &chunks);
        scores.iter().map(|score| score.to_bits()).collect()
    };
    let changed = "a change here changes what users keep";
    let lexical = [0x3f80_0000, 0x3e78_f724, 0];
    assert_eq!(bits(Scorer::Lexical), lexical, "{changed}");
    let hybrid = match cfg!(feature = "static-table") {
        true => [0x3f80_0000, 0x3eaf_51cc, 0],
        false => lexical,
    };
    assert_eq!(bits(Scorer::Hybrid), hybrid, "{changed}");
}

#[cfg(feature = "static-table")]
#[test]
fn meaning_finds_a_chunk_that_shares_no_word() {
    let chunks = untitled(&[
        "The committee discussed the budget of the town for the coming year.",
        "A physician examined the sick child and prescribed medicine.",
        "Trains to the coast leave the station twice an hour.",
        "The orchestra played a symphony in the concert hall.",
    ]);
    let question = "Which doctor treated the ill kid?";
    assert_eq!(best(Scorer::Hybrid, question, &chunks), 1);
}

/// Twice the input takes about twice the time: a pass that is quadratic takes four times it.
#[test]
fn time_is_linear_in_the_number_of_chunks() {
    let texts: Vec<String> = (0..8000)
        .map(|at| {
            format!(
                "Note {at} of Mr Stone{} speaks of rain and of Lake Ember.",
                at % 97
            )
        })
        .collect();
    let titles: Vec<String> = (0..8000)
        .map(|at| format!("Stone{} {}", at % 97, at / 5))
        .collect();
    let chunks: Vec<Chunk<'_>> = texts
        .iter()
        .zip(&titles)
        .map(|(text, title)| Chunk {
            title: Some(title),
            text,
        })
        .collect();
    let time = |chunks: &[Chunk<'_>]| {
        let once = |_| {
            let start = std::time::Instant::now();
            std::hint::black_box(
                Ranker::new(Scorer::Hybrid).scores("What does Stone7 say?", chunks),
            );
            start.elapsed().as_secs_f64()
        };
        (0..5).map(once).fold(f64::INFINITY, f64::min)
    };
    let (some, all) = (time(&chunks[..1000]), time(&chunks));
    assert!(
        all < 8.0 * some * 3.0,
        "{some} s for 1000 chunks, {all} s for 8000"
    );
}

proptest! {
    #[test]
    fn any_input_gives_finite_scores_between_0_and_1(
        question in "\\PC{0,60}",
        chunks in proptest::collection::vec((proptest::option::of("\\PC{0,12}"), "\\PC{0,80}"), 0..12),
    ) {
        let chunks: Vec<Chunk<'_>> =
            chunks.iter().map(|(title, text)| Chunk { title: title.as_deref(), text }).collect();
        for scorer in BOTH {
            let scores = Ranker::new(scorer).scores(&question, &chunks);
            prop_assert_eq!(scores.len(), chunks.len());
            prop_assert!(scores.iter().all(|s| s.is_finite() && (0.0..=1.0).contains(s)));
        }
    }
}
