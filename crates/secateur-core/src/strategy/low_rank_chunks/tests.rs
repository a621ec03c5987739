//! Layouts in every dialect, where the question is, what is left alone, order and counts.

mod forms;

use proptest::prelude::*;
use serde_json::json;

use super::LowRankChunks;
use crate::plan::edit::SkipReason;
use crate::read::dialect::Dialect;
use crate::strategy::tests::bodies::{
    Pruned, Say, body, exchange, model, pruned, pruned_once, user,
};

pub(super) const QUESTION: &str = "Which layer of the eye is vascular?";

/// Passages; the third answers the question.
pub(super) const PASSAGES: [&str; 8] = [
    "Trains in the valley run every hour and stop at each village.",
    "The harbour was widened in 1910 for larger ships.",
    "The uvea is the vascular middle layer of the eye.",
    "Bread rises because yeast makes gas in the dough.",
    "The cornea is the transparent front layer of the eye.",
    "A sonnet has fourteen lines and a turn near its end.",
    "Granite is an igneous rock with coarse grains.",
    "The lens of the eye focuses light on the retina.",
];

pub(super) fn run(dialect: Dialect, says: &[Say], options: &str) -> Pruned {
    let policy = format!("strategies = [\"low-rank-chunks\"]\n[low-rank-chunks]\n{options}\n");
    pruned(dialect, says, &policy)
}

fn once(dialect: Dialect, says: &[Say], options: &str) -> Pruned {
    let policy = format!("strategies = [\"low-rank-chunks\"]\n[low-rank-chunks]\n{options}\n");
    pruned_once(dialect, body(dialect, says).as_bytes(), &policy)
}

pub(super) fn reasons(found: &Pruned) -> Vec<SkipReason> {
    let skips = found.report.plan.skips.iter();
    skips.map(|skip| skip.reason).collect()
}

fn elements(passages: &[&str]) -> String {
    let docs: Vec<String> = passages
        .iter()
        .map(|passage| format!("<document>{passage}</document>"))
        .collect();
    format!("<documents>\n{}\n</documents>", docs.join("\n"))
}

fn numbered(passages: &[&str]) -> String {
    let docs = passages.iter().enumerate();
    let docs: Vec<String> = docs
        .map(|(at, passage)| format!("[{}] {passage}", at + 1))
        .collect();
    docs.join("\n\n")
}

fn ruled(passages: &[&str]) -> String {
    format!("---\n{}\n---", passages.join("\n---\n"))
}

pub(super) fn kept(text: &str) -> Vec<usize> {
    let mut places: Vec<(usize, usize)> = PASSAGES
        .iter()
        .enumerate()
        .filter_map(|(at, passage)| Some((text.find(passage)?, at)))
        .collect();
    places.sort_unstable();
    places.into_iter().map(|(_, at)| at).collect()
}

#[test]
fn every_layout_is_ranked_in_every_dialect() {
    for dialect in Dialect::ALL {
        for context in [elements(&PASSAGES), numbered(&PASSAGES), ruled(&PASSAGES)] {
            let found = run(dialect, &[user(&format!("{context}\n\n{QUESTION}"))], "");
            let places = kept(&found.turns[0]);
            assert_eq!(places[0], 2, "{dialect}: {}", found.turns[0]);
            assert_eq!(places.len(), 3, "{dialect}: {}", found.turns[0]);
            assert!(found.turns[0].ends_with(&format!("\n\n{QUESTION}")));
            assert_eq!((found.report.rag_kept, found.report.rag_dropped), (3, 5));
        }
    }
}

#[test]
fn tags_numbers_and_escapes_of_kept_chunks_keep_their_bytes() {
    let docs = [
        r#"<document index=\"1\">caf\u00e9 trains\/buses</document>"#,
        r#"<document index=\"2\">\u00e9ye: the uv\u0065a is the vascular layer of the eye</document>"#,
        r#"<document index=\"3\">the harbour\ttown</document>"#,
        r#"<document index=\"4\">the layer of the eye is \ud83d\ude42</document>"#,
        r#"<document index=\"5\">bread\u000a</document>"#,
    ];
    let input = format!(
        r#"{{"messages":[{{"role":"user","content":"Context:\u0020\n{}\nQuestion: {QUESTION}"}}]}}"#,
        docs.join("\\n")
    );
    let policy = "strategies = ['low-rank-chunks']\n[low-rank-chunks]\nmin_keep = 2";
    let found = pruned_once(Dialect::OpenaiChat, input.as_bytes(), policy);
    let wanted = format!(
        r#"{{"messages":[{{"role":"user","content":"Context:\u0020\n{}\n{}\nQuestion: {QUESTION}"}}]}}"#,
        docs[1], docs[3]
    );
    assert_eq!(String::from_utf8_lossy(&found.output), wanted);
}

#[test]
fn the_question_may_come_before_the_context_or_in_another_block() {
    let context = elements(&PASSAGES);
    for dialect in Dialect::ALL {
        let found = run(dialect, &[user(&format!("{QUESTION}\n\n{context}"))], "");
        assert_eq!(kept(&found.turns[0])[0], 2, "{dialect}");
    }
    let texts = [
        ("Use the context.", context.as_str(), QUESTION),
        (QUESTION, "Here it is:", context.as_str()),
    ];
    for (first, second, third) in texts {
        let blocks: Vec<_> = [first, second, third]
            .iter()
            .map(|text| json!({"type": "text", "text": text}))
            .collect();
        let input = json!({"messages": [{"role": "user", "content": blocks}]}).to_string();
        let policy = "strategies = ['low-rank-chunks']";
        let found = pruned_once(Dialect::AnthropicMessages, input.as_bytes(), policy);
        assert_eq!(kept(&found.turns[0])[0], 2);
        assert_eq!(found.report.rag_dropped, 5);
    }
}

#[test]
fn context_in_the_turn_before_is_ranked_by_the_question_after_it() {
    let leads = ["Here are the documents:", "Here are the documents."];
    let cases = leads
        .iter()
        .flat_map(|lead| Dialect::ALL.map(|dialect| (lead, dialect)));
    for (lead, dialect) in cases {
        let context = format!("{lead}\n{}", elements(&PASSAGES));
        let says = [user(&context), model("Ready."), user(QUESTION)];
        let found = run(dialect, &says, "");
        assert_eq!(kept(&found.turns[0])[0], 2, "{dialect}");
        let waits = run(dialect, &says[..1], "");
        assert_eq!(reasons(&waits), [SkipReason::NoQuestion], "{dialect}");
        assert_eq!((waits.report.rag_kept, waits.report.rag_dropped), (0, 0));
    }
}

#[test]
fn what_was_cut_once_does_not_come_back_with_the_next_question() {
    let first = user(&format!("{}\n\n{QUESTION}", elements(&PASSAGES)));
    for dialect in Dialect::ALL {
        let one = run(dialect, std::slice::from_ref(&first), "");
        let says = [first.clone(), model("The uvea."), user("And the cornea?")];
        let two = run(dialect, &says, "");
        assert_eq!(one.turns[0], two.turns[0], "{dialect}");
        let last_only = run(dialect, &says, "earlier_turns = false");
        assert_eq!(kept(&last_only.turns[0]).len(), 3, "{dialect}");
        let says = [
            first.clone(),
            model("The uvea."),
            user("And?"),
            model("Yes."),
            user("Thanks."),
        ];
        let last_only = run(dialect, &says, "earlier_turns = false");
        assert_eq!(kept(&last_only.turns[0]).len(), PASSAGES.len(), "{dialect}");
    }
}

#[test]
fn under_rounds_a_turn_is_decided_when_it_arrives() {
    let policy = "strategies = ['low-rank-chunks']";
    let rounds = |says: &[Say], dialect| {
        let gate =
            "cadence = 'rounds'\n[m7]\nenabled = true\nmin_messages = 0\nmin_body_chars = 0\n";
        let policy = crate::policy::Policy::resolve(None, Some(&format!("{gate}{policy}")), &[]);
        let request = crate::Request {
            dialect: Some(dialect),
            ..crate::Request::default()
        };
        let input = body(dialect, says);
        crate::prune(input.as_bytes(), &request, &policy.unwrap())
            .body
            .into_owned()
    };
    let ask = |question: &str| user(&format!("{}\n\n{question}", elements(&PASSAGES)));
    let says = [
        ask(QUESTION),
        model("The uvea."),
        user(&elements(&PASSAGES)),
        model("Ready."),
        user("How many lines has a sonnet?"),
        model("Fourteen."),
        ask("Why does bread rise?"),
    ];
    for dialect in Dialect::ALL {
        let mut before: Vec<u8> = Vec::new();
        for upto in [1, 3, 5, 7] {
            let out = rounds(&says[..upto], dialect);
            // The list and the body end with `]` and `}`, and the model comes before or after it.
            let list = String::from_utf8(out.clone()).unwrap();
            let end = list.rfind(']').unwrap();
            assert!(out.starts_with(&before), "{dialect}, {upto} turns");
            before = out[..end].to_vec();
        }
        let out = String::from_utf8(rounds(&says, dialect)).unwrap();
        // The second context was sent whole before its question was, so it stays whole.
        assert_eq!(out.matches("A sonnet has fourteen lines").count(), 1);
        assert_eq!(out.matches("yeast makes gas").count(), 2);
    }
}

#[test]
fn context_in_tool_results_is_ranked_only_when_asked_for() {
    let mut says = vec![user(QUESTION)];
    says.extend(exchange("knowledge_base", &elements(&PASSAGES)));
    for dialect in Dialect::ALL {
        let off = run(dialect, &says, "");
        assert_eq!(kept(&off.turns[2]).len(), PASSAGES.len(), "{dialect}");
        let on = run(dialect, &says, "in_tool_results = true");
        assert_eq!(kept(&on.turns[2]).first(), Some(&2), "{dialect}");
        assert_eq!(on.report.rag_dropped, 5, "{dialect}");
    }
    let mut says = vec![user(QUESTION)];
    says.extend(exchange("Read", &ruled(&PASSAGES)));
    for dialect in Dialect::ALL {
        let file = run(dialect, &says, "in_tool_results = true");
        assert_eq!(kept(&file.turns[2]).len(), PASSAGES.len(), "{dialect}");
    }
}

/// With one or two chunks left, a second run would read them as a part of the question.
#[test]
fn a_question_that_ranks_other_texts_is_found_again() {
    for context in [elements(&PASSAGES[..4]), ruled(&PASSAGES[..4])] {
        let asks = format!("{context}\n\n{QUESTION}");
        let mut says = vec![user(&asks)];
        says.extend(exchange("knowledge_base", &elements(&PASSAGES)));
        let waits = [user(&context), model("Ready."), user(&asks)];
        for dialect in Dialect::ALL {
            let alone = run(dialect, &says, "max_keep = 1");
            assert_eq!(kept(&alone.turns[0]), [2], "{dialect}");
            let shared = run(dialect, &says, "max_keep = 1\nin_tool_results = true");
            assert_eq!(kept(&shared.turns[0]).len(), 3, "{dialect}");
            assert_eq!(kept(&shared.turns[2]), [2], "{dialect}");
            let later = run(dialect, &waits, "max_keep = 1");
            assert_eq!(kept(&later.turns[0]).len(), 4, "{dialect}");
            assert_eq!(kept(&later.turns[2]).len(), 3, "{dialect}");
        }
    }
}

/// Such a search finds lines or names, and the next line may belong to the one before.
#[test]
fn what_a_search_of_files_prints_is_no_retrieved_context() {
    let dialect = Dialect::AnthropicMessages;
    let policy = "strategies = [\"low-rank-chunks\"]\n[low-rank-chunks]\nin_tool_results = true\n";
    let result = |tool: &str, input: serde_json::Value, text: &str| {
        let body = json!({"messages": [
            {"role": "user", "content": QUESTION},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": tool, "input": input}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": text}]},
        ]});
        let found = pruned_once(dialect, body.to_string().as_bytes(), policy);
        kept(&found.turns[2]).len()
    };
    for text in [ruled(&PASSAGES), numbered(&PASSAGES), elements(&PASSAGES)] {
        for command in [
            json!("rg -n layer notes"),
            json!("cd notes && rg --no-filename layer | head -50"),
            json!("find notes -name '*.md'"),
            json!(["bash", "-lc", "grep -rn layer notes"]),
        ] {
            let input = json!({ "command": command });
            assert_eq!(result("bash", input, &text), PASSAGES.len(), "{command}");
        }
        for tool in ["Grep", "Glob", "LS", "search_files", "mcp__repo__grep"] {
            let input = json!({"pattern": "layer"});
            assert_eq!(result(tool, input, &text), PASSAGES.len(), "{tool}");
        }
        for tool in [
            "knowledge_base",
            "web_search",
            "search_documents",
            "find_articles",
        ] {
            let input = json!({"query": "layers of the eye"});
            assert_eq!(result(tool, input, &text), 3, "{tool}");
        }
    }
}

#[test]
fn doubt_is_a_skip() {
    let two = format!(
        "<chunk>{}</chunk><chunk>{}</chunk>\n{QUESTION}",
        PASSAGES[0], PASSAGES[1]
    );
    let stray = format!("{}</document>\n\n{QUESTION}", elements(&PASSAGES));
    let gap = format!("[1] a\n\n[2] b\n\n[3] c\n\n[7] d\n\n{QUESTION}");
    for text in [two, stray, gap] {
        for dialect in Dialect::ALL {
            let found = run(dialect, &[user(&text)], "");
            assert_eq!(reasons(&found), [SkipReason::AmbiguousChunks], "{text}");
        }
    }
}

#[test]
fn a_task_about_the_whole_context_keeps_it() {
    let context = elements(&PASSAGES);
    let tasks = [
        "Summarize the documents about the eye.",
        "Please translate this into French.",
        "What do all of the documents say about the eye?",
    ];
    for task in tasks {
        let found = run(
            Dialect::OpenaiChat,
            &[user(&format!("{context}\n\n{task}"))],
            "",
        );
        assert_eq!(reasons(&found), [SkipReason::NoQuestion], "{task}");
    }
}

#[test]
fn equal_chunks_and_a_question_without_words_change_nothing() {
    for dialect in Dialect::ALL {
        let same = elements(&[PASSAGES[2]; 6]);
        let found = run(dialect, &[user(&format!("{same}\n\n{QUESTION}"))], "");
        assert!(found.report.plan.edits.is_empty(), "{dialect}");
        let found = run(
            dialect,
            &[user(&format!("{}\n\n???", elements(&PASSAGES)))],
            "",
        );
        assert_eq!(reasons(&found), [SkipReason::NoQuestion], "{dialect}");
    }
}

#[test]
fn code_and_other_scripts_inside_chunks_are_ranked_whole() {
    let code = [
        "fn area(r: f64) -> f64 {\n\n    // <chunk> is a tag\n    r * r\n}",
        "```md\n---\n[1] not a marker\n```\nfn parse_header(line: &str) -> Header {\n\n    todo()\n}",
        "fn sum(a: u8) -> u8 { a }",
        "fn draw() {}",
        "fn stop() {}",
    ];
    let says = [user(&format!(
        "{}\n\nWhere is parseHeader?",
        elements(&code)
    ))];
    let found = run(Dialect::AnthropicMessages, &says, "min_keep = 1");
    let start = format!("<documents>\n<document>{}</document>", code[1]);
    assert!(found.turns[0].starts_with(&start), "{}", found.turns[0]);

    let chinese = [
        "火车每小时一班。",
        "葡萄膜是眼睛的血管层。",
        "面包会发酵。",
        "港口很大。",
    ];
    let says = [user(&format!(
        "{}\n\n眼睛的哪一层有血管？",
        elements(&chinese)
    ))];
    let found = run(Dialect::GeminiGenerateContent, &says, "min_keep = 1");
    assert!(found.turns[0].contains(chinese[1]) && !found.turns[0].contains(chinese[3]));

    let arabic = [
        "القطار سريع.",
        "العنبية هي الطبقة الوعائية للعين.",
        "الخبز طازج.",
        "الميناء كبير.",
    ];
    let says = [user(&format!(
        "{}\n\nما هي الطبقة الوعائية؟",
        elements(&arabic)
    ))];
    let found = run(Dialect::OpenaiResponses, &says, "min_keep = 1");
    assert!(found.turns[0].contains(arabic[1]) && !found.turns[0].contains(arabic[3]));
}

#[test]
fn order_and_limits_are_as_the_options_say() {
    let says = [user(&format!("{}\n\n{QUESTION}", elements(&PASSAGES)))];
    let dialect = Dialect::OpenaiChat;
    let found = once(dialect, &says, "order = 'original'");
    assert!(kept(&found.turns[0]).is_sorted() && found.report.rag_kept == 3);
    let found = run(dialect, &says, "max_keep = 1");
    assert_eq!(kept(&found.turns[0]), [2]);
    let found = run(dialect, &says, "min_keep = 6");
    assert_eq!(kept(&found.turns[0]).len(), 6);
    // Nothing goes: the order alone changes, and the length does not.
    let found = run(
        dialect,
        &says,
        "min_score = 0.0\nkeep_mass = 1.0\nmin_keep = 8",
    );
    assert_eq!(kept(&found.turns[0]).len(), 8);
    assert_eq!(kept(&found.turns[0])[0], 2);
    assert_eq!(found.report.before.bytes, found.report.after.bytes);
    assert_eq!((found.report.rag_kept, found.report.rag_dropped), (8, 0));
}

#[test]
fn ten_thousand_chunks_are_ranked() {
    let chunks: Vec<String> = (0..10_000)
        .map(|at| format!("Note {at} speaks of stone {} and of rain.", at * 7 % 1000))
        .collect();
    let refs: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let says = [user(&format!(
        "{}\n\nWhich note speaks of stone 21?",
        elements(&refs)
    ))];
    let found = run(Dialect::OpenaiChat, &says, "max_keep = 20");
    assert_eq!(found.report.rag_kept, 20);
    assert!(found.turns[0].contains("speaks of stone 21 "));
}

#[test]
fn the_defaults_are_those_of_the_ranker() {
    let (ours, rule) = (LowRankChunks::default(), secateur_rank::Rule::default());
    assert_eq!(
        ours.min_score,
        f64::from(rule.min_score * 100.0).round() / 100.0
    );
    assert_eq!(
        ours.keep_mass,
        f64::from(rule.keep_mass * 100.0).round() / 100.0
    );
    assert_eq!(
        ours.keep_share,
        f64::from(rule.keep_share * 100.0).round() / 100.0
    );
    assert_eq!(ours.min_keep, rule.min_keep);
    let is_hybrid = ours.scorer == super::ChunkScorer::Hybrid;
    assert_eq!(
        is_hybrid,
        secateur_rank::Scorer::default() == secateur_rank::Scorer::Hybrid
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing outside the chunks changes, chunks stay whole, and a second run changes nothing.
    #[test]
    fn any_context_comes_out_arranged(
        words in prop::collection::vec(prop::collection::vec(0..40_usize, 1..25), 3..30),
        asked in prop::collection::vec(0..40_usize, 1..6),
        layout in 0..3_usize,
        min_keep in 0..6_usize,
        min_score in 0..10_u32,
    ) {
        let word = |at: &usize| format!("w{}x", at * at % 97);
        let text = |words: &[usize]| words.iter().map(word).collect::<Vec<_>>().join(" ");
        let chunks: Vec<String> = words
            .iter()
            .enumerate()
            .map(|(at, words)| format!("Chunk{at} {}.", text(words)))
            .collect();
        let refs: Vec<&str> = chunks.iter().map(String::as_str).collect();
        let context = match layout {
            0 => elements(&refs),
            1 => numbered(&refs),
            _ => ruled(&refs),
        };
        let question = format!("\n\nQuestion: what of {}?", text(&asked));
        let text = format!("Read this.\n\n{context}{question}");
        let options = format!("min_keep = {min_keep}\nmin_score = 0.{min_score}");
        for dialect in Dialect::ALL {
            let found = run(dialect, &[user(&text)], &options);
            prop_assert!(found.turns[0].starts_with("Read this.\n\n"));
            prop_assert!(found.turns[0].ends_with(&question));
            let left = chunks.iter().filter(|chunk| found.turns[0].contains(chunk.as_str())).count();
            let (kept, dropped) = (found.report.rag_kept, found.report.rag_dropped);
            prop_assert!(found.report.plan.edits.is_empty() || left == kept);
            prop_assert!(found.report.plan.edits.is_empty() || kept + dropped == chunks.len());
        }
    }
}
