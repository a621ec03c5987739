//! Cases for every layout, and properties over generated and arbitrary text.

use proptest::prelude::*;

use super::*;

fn titles<'t>(text: &'t str, found: &Chunks) -> Vec<Option<&'t str>> {
    found
        .spans
        .iter()
        .map(|s| s.title.clone().map(|t| &text[t]))
        .collect()
}

fn inners<'t>(text: &'t str, found: &Chunks) -> Vec<&'t str> {
    found.spans.iter().map(|s| &text[s.inner.clone()]).collect()
}

#[test]
fn reads_documents_with_attributes_and_a_question_behind() {
    let text = "<documents>\n<document index=\"1\" title=\"A > B\">one</document>\n<document index=\"2\">two</document>\n<document index=\"3\">three</document>\n</documents>\n\nWhat is two?";
    let found = find_chunks(text).unwrap();
    assert_eq!(found.form, Form::Elements);
    assert_eq!(inners(text, &found), ["one", "two", "three"]);
    assert_eq!(titles(text, &found), [Some("A > B"), None, None]);
    assert_eq!(found.question(text), "What is two?");
}

#[test]
fn a_nested_source_is_a_title_and_not_a_chunk() {
    let one = |n: u8| {
        format!(
            "<document>\n<source>f{n}.txt</source>\n<document_content>\ntext {n}\n</document_content>\n</document>\n"
        )
    };
    let text = format!("Question: which file?\n\n{}{}{}", one(1), one(2), one(3));
    let found = find_chunks(&text).unwrap();
    assert_eq!(
        titles(&text, &found),
        [Some("f1.txt"), Some("f2.txt"), Some("f3.txt")]
    );
    assert_eq!(found.question(&text), "which file?");
}

#[test]
fn code_inside_chunks_does_not_confuse_elements() {
    let text = "<chunk>if a <b && c> d { x[3] }\n---\n<source srcset='a'>\n</chunk>\n<chunk>\n[3] = y\n---\n</chunk>\n<chunk>Vec<chunk_t></chunk>\nWhy?";
    let found = find_chunks(text).unwrap();
    assert_eq!(found.spans.len(), 3);
    assert_eq!(inners(text, &found)[2], "Vec<chunk_t>");
}

#[test]
fn a_stray_tag_of_the_run_is_refused() {
    let text = "<chunk>a <chunk> b</chunk>\n<chunk>c</chunk>\n<chunk>d</chunk>\n<chunk>e</chunk>";
    assert_eq!(find_chunks(text), Err(WhyNot::Ambiguous));
}

#[test]
fn words_between_the_elements_are_refused() {
    let text = "<chunk>a</chunk> and <chunk>b</chunk> and <chunk>c</chunk>";
    assert_eq!(find_chunks(text), Err(WhyNot::Ambiguous));
}

#[test]
fn two_kinds_of_elements_side_by_side_are_refused() {
    let text = "<chunk>a</chunk><chunk>b</chunk><chunk>c</chunk><source>a</source><source>b</source><source>c</source>";
    assert_eq!(find_chunks(text), Err(WhyNot::Ambiguous));
}

#[test]
fn two_elements_are_too_few() {
    assert_eq!(
        find_chunks("<chunk>a</chunk><chunk>b</chunk> what?"),
        Err(WhyNot::TooFew)
    );
    assert_eq!(find_chunks("just a question?"), Err(WhyNot::NoChunks));
}

#[test]
fn reads_document_numbers_with_titles() {
    let text = "Write an answer using the search results.\n\nDocument [1](Title: Uvea (eye)) The uvea.\nDocument [2](Title: Iris) The iris.\nDocument [3](Title: Lens) The lens.\n\nQuestion: what is the uvea\nAnswer:";
    let found = find_chunks(text).unwrap();
    assert_eq!(found.form, Form::Numbered);
    assert_eq!(
        titles(text, &found),
        [Some("Uvea (eye)"), Some("Iris"), Some("Lens")]
    );
    assert_eq!(
        inners(text, &found),
        ["The uvea.", "The iris.", "The lens."]
    );
    assert_eq!(found.question(text), "what is the uvea");
}

#[test]
fn reads_bracket_numbers_inside_a_context_element() {
    let text = "<context>\n[1] first\n\nstill first\n\n[2] second\n```\n[3] = code\n```\n\n[3] third\n</context>\nWhich one?";
    let found = find_chunks(text).unwrap();
    assert_eq!(inners(text, &found)[0], "first\n\nstill first");
    assert_eq!(found.spans.len(), 3);
    assert_eq!(found.question(text), "Which one?");
}

#[test]
fn a_number_out_of_turn_is_content() {
    let text = "[1] see\n[3] for more\n\n[2] b\n\n[3] c\n\nWhy?";
    let found = find_chunks(text).unwrap();
    assert_eq!(inners(text, &found), ["see\n[3] for more", "b", "c"]);
}

#[test]
fn the_same_number_twice_is_refused() {
    assert_eq!(
        find_chunks("[1] a\n[2] b\n[2] b again\n[3] c"),
        Err(WhyNot::Ambiguous)
    );
}

#[test]
fn reads_source_lines_cut_by_rules() {
    let text = "Source 1: a\n---\nSource 2: b\n---\nSource 3: c\n---\n\nWhat?";
    let found = find_chunks(text).unwrap();
    assert_eq!(found.form, Form::Numbered);
    assert_eq!(
        found.arranged(text, &[2, 0]),
        "Source 3: c\n---\nSource 1: a\n---\n\nWhat?"
    );
}

#[test]
fn sentences_with_numbers_are_not_markers() {
    let text = "Source 1 of the Nile\nSource 2 of the Nile\nSource 3 of the Nile\n1. a\n2. b\n3. c";
    assert_eq!(find_chunks(text), Err(WhyNot::NoChunks));
}

#[test]
fn rules_in_open_text_leave_the_ends_alone() {
    let text = "Use this:\n---\na\n---\nb\n---\nc\n---\nWhat is b?";
    let found = find_chunks(text).unwrap();
    assert_eq!(inners(text, &found), ["a", "b", "c"]);
    assert_eq!(found.question(text), "What is b?");
    assert_eq!(
        found.arranged(text, &[1]),
        "Use this:\n---\nb\n---\nWhat is b?"
    );
}

#[test]
fn rules_in_fenced_code_do_not_cut() {
    let text =
        "<context>\na\n\n***\n\n```yaml\nx: 1\n***\ny: 2\n```\n\n***\n\nc\n</context>\nWhat?";
    let found = find_chunks(text).unwrap();
    assert_eq!(found.spans.len(), 3);
    assert!(inners(text, &found)[1].contains("y: 2"));
}

#[test]
fn both_kinds_of_rules_at_once_are_refused() {
    let text = "<context>\na\n---\nb\n---\nc\n***\nd\n***\ne\n</context>";
    assert_eq!(find_chunks(text), Err(WhyNot::Ambiguous));
}

#[test]
fn repeated_headings_cut_but_a_normal_outline_does_not() {
    let text = "What is b?\n\n## Result\na\n\n## Result\nb\n\n## Result\nc";
    assert_eq!(inners(text, &find_chunks(text).unwrap()), ["a", "b", "c"]);
    assert_eq!(
        find_chunks("## Task\na\n\n## Rules\nb\n\n## Output\nc"),
        Err(WhyNot::NoChunks)
    );
    let numbered = "What?\n\n## Result 1: Uvea\na\n\n## Result 2\nb\n\n## Result 3\nc";
    assert_eq!(
        titles(numbered, &find_chunks(numbered).unwrap())[0],
        Some("Uvea")
    );
}

#[test]
fn sentences_of_the_template_are_no_question() {
    let chunks = "<chunk>a</chunk>\n<chunk>b</chunk>\n<chunk>c</chunk>";
    for (before, behind, question) in [
        ("Here are the documents.", "", ""),
        ("", "Use the context above to answer the question.", ""),
        ("Here are the retrieved passages.", "Please answer.", ""),
        (
            "Explain the supply of the uvea.",
            "Answer using only the sources above.",
            "Explain the supply of the uvea.",
        ),
        (
            "",
            "These are the documents. Tell me about the uvea. Cite your sources.",
            "Tell me about the uvea.",
        ),
        (
            "Why is the uvea dark?",
            "Can you answer the question from the documents?",
            "Why is the uvea dark?",
        ),
        ("Version 2.0 notes.", "", "Version 2.0 notes."),
    ] {
        let text = format!("{before}\n\n{chunks}\n\n{behind}");
        let found = find_chunks(&text).unwrap();
        assert_eq!(found.question(&text), question, "{before} … {behind}");
    }
}

#[test]
fn huge_inputs_stay_linear() {
    let many: String = (1..=10_000)
        .map(|i| format!("[{i}] text of {i}\n\n"))
        .collect();
    assert_eq!(find_chunks(&many).unwrap().spans.len(), 10_000);
    for hostile in [
        "<chunk>",
        "</chunk>",
        "Question:\n",
        "Use the context. ",
        "```\n",
        "[1] ",
        "---\n",
        "<chunk ",
        "# a\n",
        "(",
    ] {
        let _ = find_chunks(&hostile.repeat(200_000));
    }
}

fn check(text: &str) -> Result<(), TestCaseError> {
    let Ok(found) = find_chunks(text) else {
        return Ok(());
    };
    prop_assert!(found.spans.len() >= MIN_CHUNKS);
    let mut at = 0;
    for span in &found.spans {
        prop_assert!(at <= span.extent.start && span.extent.start < span.extent.end);
        prop_assert!(span.extent.start <= span.inner.start && span.inner.end <= span.extent.end);
        prop_assert!(
            text.get(span.extent.clone()).is_some() && text.get(span.inner.clone()).is_some()
        );
        if let Some(title) = span.title.clone() {
            prop_assert!(span.extent.start <= title.start && title.end <= span.extent.end);
            prop_assert!(text.get(title).is_some());
        }
        at = span.extent.end;
    }
    prop_assert!(at <= text.len());
    let all: Vec<usize> = (0..found.spans.len()).collect();
    prop_assert_eq!(found.arranged(text, &all), text);
    prop_assert!(found.cuts(&all).is_empty());
    let _ = found.question(text);
    Ok(())
}

/// The pieces that layouts are made of, in any order.
fn piece() -> impl Strategy<Value = String> {
    const FIXED: [&str; 28] = [
        "<context>",
        "</context>",
        "<document title=\"é\">",
        "</document>",
        "<chunk>",
        "</chunk>",
        "<source>",
        "</source>",
        "[1] ",
        "[2] ",
        "[3] ",
        "[4] ",
        "Document [1](Title: x) ",
        "Source 1: ",
        "Source 2: ",
        "Source 3: ",
        "\n",
        "\n\n",
        "---\n",
        "\n---\n",
        "***\n",
        "## Result\n",
        "```\n",
        "Question: ",
        "why?",
        "中文",
        "\u{a0}",
        "  ",
    ];
    prop_oneof![
        proptest::sample::select(&FIXED[..]).prop_map(str::to_owned),
        "[a-z é?]{0,8}"
    ]
}

proptest! {
    #[test]
    fn any_string_gives_sound_ranges(text in "\\PC*") {
        check(&text)?;
    }

    #[test]
    fn any_mix_of_markers_gives_sound_ranges(pieces in proptest::collection::vec(piece(), 0..60)) {
        check(&pieces.concat())?;
    }

    #[test]
    fn made_runs_are_found_whole(
        bodies in proptest::collection::vec("[a-z]{1,9}( [a-z]{1,9}){0,6}", 3..12),
        layout in 0_usize..5,
    ) {
        let cut = |i: usize, body: &str| match layout {
            0 => format!("<document index=\"{i}\">{body}</document>\n"),
            1 => format!("[{i}] {body}\n"),
            2 => format!("Document [{i}](Title: t{i}) {body}\n\n"),
            3 => format!("Source {i}: {body}\n\n"),
            _ => format!("{body}\n\n---\n\n"),
        };
        let run: String = bodies.iter().zip(1..).map(|(body, i)| cut(i, body)).collect();
        let lead = if layout == 4 { "Read.\n\n---\n\n" } else { "Read.\n\n" };
        let text = format!("{lead}{run}\nQuestion: what is it?");
        let found = find_chunks(&text).unwrap();
        prop_assert_eq!(inners(&text, &found), bodies.iter().map(String::as_str).collect::<Vec<_>>());
        prop_assert_eq!(found.question(&text), "what is it?");
        let kept = [0, bodies.len() - 1];
        let mut cut_text = text.clone();
        for range in found.cuts(&kept).into_iter().rev() {
            cut_text.replace_range(range, "");
        }
        for (i, body) in bodies.iter().enumerate() {
            if kept.contains(&i) {
                prop_assert!(cut_text.contains(body.as_str()));
            }
        }
        prop_assert!(cut_text.starts_with(lead) && cut_text.ends_with("\nQuestion: what is it?"));
        let backwards: Vec<usize> = (0..bodies.len()).rev().collect();
        let turned = found.arranged(&text, &backwards);
        prop_assert_eq!(turned.len(), text.len());
        if layout == 0 || layout == 4 {
            let again = find_chunks(&turned).unwrap();
            let expected: Vec<&str> = bodies.iter().rev().map(String::as_str).collect();
            prop_assert_eq!(inners(&turned, &again), expected);
        }
    }
}
