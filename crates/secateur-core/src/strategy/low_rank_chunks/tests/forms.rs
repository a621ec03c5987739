//! Every form of context that is known, in every dialect, and every place for the question.

use serde_json::{Value, json};

use super::{PASSAGES, QUESTION, kept, reasons, run};
use crate::plan::edit::SkipReason;
use crate::read::dialect::Dialect;
use crate::strategy::tests::bodies::{Pruned, model, pruned_once, user};

/// A form: how a chunk is written, what separates two, and what surrounds all.
struct Form {
    name: &'static str,
    chunk: fn(usize, &str) -> String,
    between: &'static str,
    around: (&'static str, &'static str),
}

const fn form(
    name: &'static str,
    chunk: fn(usize, &str) -> String,
    between: &'static str,
    around: (&'static str, &'static str),
) -> Form {
    Form {
        name,
        chunk,
        between,
        around,
    }
}

const NONE: (&str, &str) = ("", "");
const FORMS: [Form; 20] = [
    form(
        "context",
        |_, text| format!("<context>{text}</context>"),
        "\n",
        NONE,
    ),
    form(
        "document",
        |_, text| format!("<document>\n{text}\n</document>"),
        "\n\n",
        NONE,
    ),
    form(
        "documents with attributes",
        |at, text| format!("<document index=\"{at}\" title=\"T > {at}\">{text}</document>"),
        "\n",
        ("<documents>\n", "\n</documents>"),
    ),
    form(
        "documents with nested tags",
        |at, text| {
            format!(
                "<document>\n<source>{at}.txt</source>\n<document_content>\n{text}\n</document_content>\n</document>"
            )
        },
        "\n",
        ("<documents>\n", "\n</documents>"),
    ),
    form(
        "chunk",
        |at, text| format!("<chunk id='{at}'>{text}</chunk>"),
        "",
        NONE,
    ),
    form(
        "chunks in a context",
        |_, text| format!("<chunk>{text}</chunk>"),
        "\n",
        ("<context>\n", "\n</context>"),
    ),
    form(
        "source",
        |_, text| format!("<source>{text}</source>"),
        "\n",
        NONE,
    ),
    form(
        "search results",
        |at, text| format!("<search_result>\n<title>T{at}</title>\n{text}\n</search_result>"),
        "\n",
        ("<search_results>\n", "\n</search_results>"),
    ),
    form(
        "code inside",
        |at, text| format!("<chunk>{text}\n```\nif a[{at}] <b> c {{}}\n---\n```\n</chunk>"),
        "\n",
        NONE,
    ),
    form(
        "document numbers with titles",
        |at, text| format!("Document [{at}](Title: Note ({at})) {text}"),
        "\n",
        NONE,
    ),
    form(
        "bracketed numbers",
        |at, text| format!("[{at}] {text}"),
        "\n\n",
        NONE,
    ),
    form(
        "bracketed numbers in a context",
        |at, text| format!("[{at}] {text}\n\nMore."),
        "\n\n",
        ("<context>\n", "\n</context>"),
    ),
    form(
        "source numbers",
        |at, text| format!("Source {at}: {text}"),
        "\n\n",
        NONE,
    ),
    form(
        "source numbers and rules",
        |at, text| format!("Source {at}:\n{text}"),
        "\n---\n",
        NONE,
    ),
    form(
        "numbered headings",
        |at, text| format!("## Result {at}: N{at}\n{text}"),
        "\n\n",
        NONE,
    ),
    form(
        "rules",
        |_, text| text.to_owned(),
        "\n---\n",
        ("---\n", "\n---"),
    ),
    form(
        "starred rules",
        |_, text| text.to_owned(),
        "\n\n***\n\n",
        ("***\n\n", "\n\n***"),
    ),
    form(
        "rules in a context",
        |at, text| format!("# Page {at}\n{text}"),
        "\n\n---\n\n",
        ("<context>\n", "\n</context>"),
    ),
    form(
        "one heading",
        |_, text| format!("### Excerpt\n{text}"),
        "\n\n",
        NONE,
    ),
    form(
        "one heading in documents",
        |_, text| format!("# Hit\n\n{text}"),
        "\n",
        ("<documents>\n", "\n</documents>"),
    ),
];

impl Form {
    fn chunks(&self) -> Vec<String> {
        let passages = PASSAGES.iter().enumerate();
        passages
            .map(|(at, text)| (self.chunk)(at + 1, text))
            .collect()
    }

    fn write(&self, chunks: &[String]) -> String {
        let (before, behind) = self.around;
        format!("{before}{}{behind}", chunks.join(self.between))
    }
}

/// The context with the chunks that stay, written as the whole context was.
fn expected(form: &Form, found: &str) -> String {
    let chunks = form.chunks();
    let stay: Vec<String> = kept(found).iter().map(|&at| chunks[at].clone()).collect();
    form.write(&stay)
}

#[test]
fn every_form_keeps_exact_bytes_wherever_the_question_is() {
    let cue = format!("Question: {QUESTION}");
    for form in &FORMS {
        for dialect in Dialect::ALL {
            let context = form.write(&form.chunks());
            let behind = |context: &str| format!("Read  this.\n\n{context}\n\n{cue}\n");
            let before = |context: &str| format!("{cue}\n\n{context}\n\n");
            for write in [&behind as &dyn Fn(&str) -> String, &before] {
                let found = run(dialect, &[user(&write(&context))], "");
                let case = format!("{}, {dialect}: {}", form.name, found.turns[0]);
                assert_eq!(kept(&found.turns[0])[..1], [2], "{case}");
                assert_eq!(kept(&found.turns[0]).len(), 3, "{case}");
                assert_eq!(
                    found.turns[0],
                    write(&expected(form, &found.turns[0])),
                    "{case}"
                );
                assert_eq!(
                    (found.report.rag_kept, found.report.rag_dropped),
                    (3, 5),
                    "{case}"
                );
            }
            // Without a line that opens a question, a last numbered or headed chunk ends with the text.
            let turns = [user(&context), model("Ready."), user(QUESTION)];
            let found = run(dialect, &turns, "");
            if reasons(&found) != [SkipReason::AmbiguousChunks] {
                assert_eq!(
                    found.turns[0],
                    expected(form, &found.turns[0]),
                    "{}",
                    form.name
                );
                assert_eq!(kept(&found.turns[0])[..1], [2], "{}, {dialect}", form.name);
            }
        }
    }
}

/// A user turn with several blocks.
fn in_blocks(dialect: Dialect, texts: &[&str]) -> String {
    let blocks = |kind: &str| -> Vec<Value> {
        let block = |text: &&str| json!({"type": kind, "text": text});
        texts.iter().map(block).collect()
    };
    let turn = match dialect {
        Dialect::AnthropicMessages | Dialect::OpenaiChat => {
            json!({"role": "user", "content": blocks("text")})
        }
        Dialect::OpenaiResponses => json!({"role": "user", "content": blocks("input_text")}),
        Dialect::GeminiGenerateContent => {
            let parts: Vec<Value> = texts.iter().map(|text| json!({"text": text})).collect();
            json!({"role": "user", "parts": parts})
        }
    };
    json!({dialect.facts().list_key: [turn]}).to_string()
}

fn twice(dialect: Dialect, body: &str, options: &str) -> Pruned {
    let policy = format!("strategies = ['low-rank-chunks']\n[low-rank-chunks]\n{options}");
    let found = pruned_once(dialect, body.as_bytes(), &policy);
    let again = pruned_once(dialect, &found.output, &policy);
    assert_eq!(again.turns, found.turns, "{dialect}: not idempotent");
    found
}

#[test]
fn one_chunk_per_block_is_ranked_in_every_dialect() {
    let forms = [0, 2, 3, 4, 6, 7, 9, 10, 12, 14, 18].map(|at: usize| &FORMS[at]);
    for form in forms {
        for dialect in Dialect::ALL {
            let chunks = form.chunks();
            let around = |stay: &[usize]| {
                let mut texts = vec!["Use what  follows."];
                texts.extend(stay.iter().map(|&at| chunks[at].as_str()));
                texts.push(QUESTION);
                in_blocks(dialect, &texts)
            };
            let all: Vec<usize> = (0..chunks.len()).collect();
            let found = twice(dialect, &around(&all), "");
            let stay = kept(&found.turns[0]);
            assert_eq!(
                stay[..1],
                [2],
                "{}, {dialect}: {}",
                form.name,
                found.turns[0]
            );
            assert_eq!(stay.len(), 3, "{}, {dialect}", form.name);
            let out = String::from_utf8_lossy(&found.output);
            assert_eq!(out, around(&stay), "{}, {dialect}", form.name);
            assert_eq!((found.report.rag_kept, found.report.rag_dropped), (3, 5));
        }
    }
}

#[test]
fn blocks_keep_their_order_and_their_doubt() {
    let dialect = Dialect::OpenaiChat;
    let numbered: Vec<String> = FORMS[10].chunks();
    let mut texts: Vec<&str> = numbered.iter().map(String::as_str).collect();
    texts.push(QUESTION);
    let policy = "strategies = ['low-rank-chunks']\n[low-rank-chunks]\norder = 'original'";
    let found = pruned_once(dialect, in_blocks(dialect, &texts).as_bytes(), policy);
    assert_eq!(kept(&found.turns[0]), [2, 4, 7]);
    // A gap in the numbers: one of the blocks may be something else.
    texts.remove(3);
    let found = twice(dialect, &in_blocks(dialect, &texts), "");
    assert!(found.report.plan.edits.is_empty());
    assert!(reasons(&found).contains(&SkipReason::AmbiguousChunks));
    // Blocks without a mark are what a user says.
    let mut texts = PASSAGES.to_vec();
    texts.push(QUESTION);
    let found = twice(dialect, &in_blocks(dialect, &texts), "");
    assert_eq!(reasons(&found), [SkipReason::NothingToCut]);
    // Nothing is asked.
    let elements = FORMS[0].chunks();
    let texts: Vec<&str> = elements.iter().map(String::as_str).collect();
    let found = twice(dialect, &in_blocks(dialect, &texts), "");
    assert_eq!(reasons(&found), [SkipReason::NoQuestion]);
}

#[test]
fn a_block_with_a_cache_marker_stays_where_it_is() {
    let chunks = FORMS[4].chunks();
    let blocks = |texts: &[&str], marked: usize| {
        let mut blocks: Vec<Value> = texts
            .iter()
            .map(|text| json!({"type": "text", "text": text}))
            .collect();
        blocks[marked]["cache_control"] = json!({"type": "ephemeral"});
        json!({"messages": [{"role": "user", "content": blocks}]}).to_string()
    };
    let mut texts: Vec<&str> = chunks.iter().map(String::as_str).collect();
    texts.push(QUESTION);
    let found = twice(Dialect::AnthropicMessages, &blocks(&texts, 7), "");
    let mut stay: Vec<&str> = kept(&found.turns[0]).iter().map(|&at| texts[at]).collect();
    assert_eq!(stay.len(), 3);
    stay.push(QUESTION);
    assert_eq!(String::from_utf8_lossy(&found.output), blocks(&stay, 2));
}

#[test]
fn plain_text_documents_are_ranked_with_in_tool_results() {
    let dialect = Dialect::AnthropicMessages;
    let form = &FORMS[2];
    let body = |data: &str, extra: &Value| {
        let source = json!({"type": "text", "media_type": "text/plain", "data": data});
        let mut document = json!({"type": "document", "source": source, "title": "Notes"});
        if let Value::Object(extra) = extra {
            for (key, value) in extra {
                document[key] = value.clone();
            }
        }
        let content = json!([document, {"type": "text", "text": QUESTION}]);
        json!({"messages": [{"role": "user", "content": content}]}).to_string()
    };
    let data = format!("Is this asked?\n\n{}\nThe end.", form.write(&form.chunks()));
    let input = body(&data, &json!({}));
    let found = twice(dialect, &input, "in_tool_results = true");
    let out = String::from_utf8_lossy(&found.output).into_owned();
    assert_eq!(kept(&out).len(), 3, "{out}");
    let stays = data.replace(&form.write(&form.chunks()), &expected(form, &out));
    assert_eq!(out, body(&stays, &json!({})));
    for (body, options) in [
        (input, ""),
        (
            body(&data, &json!({"citations": {"enabled": true}})),
            "in_tool_results = true",
        ),
        (
            body(&data, &json!({"source": {"type": "base64", "data": data}})),
            "in_tool_results = true",
        ),
    ] {
        let found = twice(dialect, &body, options);
        assert!(found.report.plan.edits.is_empty(), "{body}");
    }
}

#[test]
fn results_in_blocks_are_ranked_as_one_text() {
    let chunks = FORMS[1].chunks();
    let blocks = |texts: &[String]| -> Vec<Value> {
        let block = |text: &String| json!({"type": "text", "text": text});
        texts.iter().map(block).collect()
    };
    let input = json!({"messages": [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "kb", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c", "content": blocks(&chunks)}]},
    ]});
    let found = twice(
        Dialect::AnthropicMessages,
        &input.to_string(),
        "in_tool_results = true",
    );
    let stay: Vec<&str> = kept(&found.turns[2])
        .iter()
        .map(|&at| chunks[at].as_str())
        .collect();
    assert_eq!(stay.len(), 3);
    assert_eq!(found.turns[2], stay.join("\n"));
}
