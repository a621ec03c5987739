//! `secateur rank`: how the chunks of a context score against a question.

use std::path::Path;

use secateur_core::strategy::LowRankChunks;
use secateur_rank::chunks::{Chunks, Form, WhyNot, find_chunks};
use secateur_rank::{Chunk, Ranker, Rule, Scorer, select};
use serde_json::{Value, json};

use crate::args::{RankArgs, RankScorer};
use crate::failure::Failure;
use crate::input::write_stdout;
use crate::table::{amber_cell, green_cell, table};

pub(crate) fn run(args: &RankArgs) -> Result<(), Failure> {
    let text = read(&args.file)?;
    let context = Context::of(&text, args.question.as_deref())
        .map_err(|why| Failure::bad_input(format!("{}: {why}", name(&args.file))))?;
    let scorer = match args.scorer {
        RankScorer::Lexical => Scorer::Lexical,
        RankScorer::Hybrid => Scorer::Hybrid,
    };
    let chunks: Vec<Chunk<'_>> = context.chunks.iter().map(Entry::chunk).collect();
    let scores = Ranker::new(scorer).scores(&context.question, &chunks);
    let kept = select(&scores, &args.rule());
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&one, &other| scores[other].total_cmp(&scores[one]));
    let rows: Vec<Row<'_>> = order
        .into_iter()
        .map(|at| Row {
            number: at + 1,
            score: scores[at],
            is_kept: kept.contains(&at),
            entry: &context.chunks[at],
        })
        .collect();
    let shown = if args.json {
        as_json(&context, &rows)
    } else {
        as_table(&context, &rows)
    };
    write_stdout(shown.as_bytes())
}

impl RankArgs {
    fn rule(&self) -> Rule {
        let default = Rule::default();
        Rule {
            min_score: self.min_score.unwrap_or(default.min_score),
            min_keep: self.min_keep.unwrap_or(default.min_keep),
            keep_share: self.keep_share.unwrap_or(default.keep_share),
            max_keep: self.max_keep.unwrap_or(default.max_keep),
            keep_mass: self.keep_mass.unwrap_or(default.keep_mass),
        }
    }
}

struct Entry {
    title: Option<String>,
    text: String,
}

impl Entry {
    fn chunk(&self) -> Chunk<'_> {
        Chunk {
            title: self.title.as_deref(),
            text: &self.text,
        }
    }
}

struct Context {
    question: String,
    layout: &'static str,
    chunks: Vec<Entry>,
}

struct Row<'c> {
    number: usize,
    score: f32,
    is_kept: bool,
    entry: &'c Entry,
}

impl Context {
    /// JSON with `question` and `chunks`, or a text with chunks and a question around them.
    fn of(text: &str, asked: Option<&str>) -> Result<Self, String> {
        let mut context = match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(object)) => Self::of_json(&object)?,
            _ => Self::of_text(text)?,
        };
        if let Some(asked) = asked {
            asked.clone_into(&mut context.question);
        }
        if context.question.trim().is_empty() {
            return Err("no question found; give one with --question".into());
        }
        Ok(context)
    }

    fn of_json(object: &serde_json::Map<String, Value>) -> Result<Self, String> {
        let Some(Value::Array(chunks)) = object.get("chunks") else {
            return Err("the JSON has no list \"chunks\"".into());
        };
        let entry = |(at, chunk): (usize, &Value)| match chunk {
            Value::String(text) => Ok(Entry {
                title: None,
                text: text.clone(),
            }),
            Value::Object(members) => {
                let member = |key: &str| Some(members.get(key)?.as_str()?.to_owned());
                let text = member("text").or_else(|| member("content"));
                let text = text.ok_or_else(|| format!("chunks[{at}] has no string \"text\""))?;
                Ok(Entry {
                    title: member("title"),
                    text,
                })
            }
            _ => Err(format!(
                "chunks[{at}] is neither a string nor an object with \"text\""
            )),
        };
        Ok(Self {
            question: object
                .get("question")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            layout: "json",
            chunks: chunks
                .iter()
                .enumerate()
                .map(entry)
                .collect::<Result<_, _>>()?,
        })
    }

    fn of_text(text: &str) -> Result<Self, String> {
        let found: Chunks = find_chunks(text).map_err(|why| match why {
            WhyNot::NoChunks => {
                "no chunks found: neither JSON with \"question\" and \"chunks\", nor a \
                 text with <document> elements, numbered chunks or rules between them"
                    .to_owned()
            }
            WhyNot::TooFew => "fewer than 3 chunks found".to_owned(),
            WhyNot::Ambiguous => {
                "ambiguous-chunks: the text can be cut in more than one way".to_owned()
            }
        })?;
        let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default().to_owned();
        Ok(Self {
            question: found.question(text).to_owned(),
            layout: match found.form {
                Form::Elements => "elements",
                Form::Numbered => "numbered",
                Form::Ruled => "ruled",
            },
            chunks: found
                .spans
                .iter()
                .map(|span| Entry {
                    title: span.title.clone().map(part),
                    text: part(span.inner.clone()),
                })
                .collect(),
        })
    }
}

fn as_table(context: &Context, rows: &[Row<'_>]) -> String {
    let mut shown = table(&["score", "chunk", "", "title", "begins with"]);
    for row in rows {
        let fate = if row.is_kept {
            green_cell("kept")
        } else {
            amber_cell("dropped")
        };
        shown.add_row(vec![
            format!("{:.3}", row.score).into(),
            row.number.into(),
            fate,
            row.entry.title.clone().unwrap_or_default().into(),
            beginning(&row.entry.text).into(),
        ]);
    }
    let kept = rows.iter().filter(|row| row.is_kept).count();
    format!(
        "Question: {}\n{} chunks ({}), {kept} kept by the drop rule of {}\n\n{shown}\n",
        context.question.trim(),
        rows.len(),
        context.layout,
        LowRankChunks::ID,
    )
}

fn as_json(context: &Context, rows: &[Row<'_>]) -> String {
    let chunks: Vec<Value> = rows
        .iter()
        .map(|row| {
            let score = (f64::from(row.score) * 1e6).round() / 1e6;
            json!({"chunk": row.number, "score": score, "kept": row.is_kept, "title": row.entry.title})
        })
        .collect();
    let shown = json!({"question": context.question, "layout": context.layout, "chunks": chunks});
    format!("{shown:#}\n")
}

/// The first words, on one line.
fn beginning(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn name(file: &Path) -> String {
    if file == Path::new("-") {
        "standard input".into()
    } else {
        file.display().to_string()
    }
}

fn read(file: &Path) -> Result<String, Failure> {
    let text = if file == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(file)
    };
    text.map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", name(file))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_json_with_strings_and_objects() {
        let text = r#"{"question":"q?","chunks":["a",{"title":"T","text":"b"},{"content":"c"}]}"#;
        let context = Context::of(text, None).unwrap();
        let texts: Vec<_> = context.chunks.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, ["a", "b", "c"]);
        assert_eq!(context.chunks[1].title.as_deref(), Some("T"));
        assert_eq!(context.question, "q?");
    }

    #[test]
    fn reads_a_text_with_chunks_and_takes_the_question_from_it_or_from_the_flag() {
        let text = "[1] one\n\n[2] two\n\n[3] three\n\nWhich is two?";
        let context = Context::of(text, None).unwrap();
        assert_eq!((context.chunks.len(), context.layout), (3, "numbered"));
        assert_eq!(context.question, "Which is two?");
        assert_eq!(Context::of(text, Some("else")).unwrap().question, "else");
    }

    #[test]
    fn says_what_is_missing() {
        let say = |text: &str| Context::of(text, None).err().unwrap();
        assert!(say("plain words").starts_with("no chunks found"));
        assert!(say(r#"{"question":"q"}"#).contains("no list"));
        assert!(say(r#"{"chunks":["a"]}"#).contains("--question"));
        assert!(say(r#"{"question":"q","chunks":[1]}"#).starts_with("chunks[0]"));
    }
}
