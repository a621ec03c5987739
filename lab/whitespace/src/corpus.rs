//! The texts of the data folder, by corpus.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::Value;

/// Where a text stands in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    System,
    User,
    Assistant,
    ToolResult,
}

#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) place: Place,
    pub(crate) text: String,
}

/// Texts that would go out in one request.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) texts: Vec<Text>,
}

#[derive(Debug)]
pub(crate) struct Corpus {
    pub(crate) name: &'static str,
    pub(crate) sessions: Vec<Session>,
}

type Failure = Box<dyn std::error::Error>;

/// Every corpus of the data folder.
pub(crate) fn load(data: &Path) -> Result<Vec<Corpus>, Failure> {
    let mut all = Vec::new();
    for (name, file, read) in [
        (
            "claude-code sessions",
            "sessions/claude-code.jsonl.gz",
            messages as Reader,
        ),
        ("pi session", "sessions/pi-large-session.jsonl.gz", messages),
        ("tau2 sessions", "sessions/tau2-openai.jsonl.gz", messages),
        ("system prompts", "prompts/prompts.jsonl.gz", prompt),
        ("CI logs as results", "logs/ci-logs.jsonl.gz", log),
        ("RAG chunks as results", "rag/nq20.jsonl.gz", every_string),
        (
            "code chunks as results",
            "rag/code-chunks.jsonl.gz",
            every_string,
        ),
        ("recorded requests", "wire/recordings.jsonl.gz", recorded),
    ] {
        let mut sessions = Vec::new();
        for line in BufReader::new(GzDecoder::new(File::open(data.join(file))?)).lines() {
            let row: Value = serde_json::from_str(&line?)?;
            let mut texts = Vec::new();
            read(&row, &mut texts);
            if !texts.is_empty() {
                sessions.push(Session { texts });
            }
        }
        all.push(Corpus { name, sessions });
    }
    Ok(all)
}

type Reader = fn(&Value, &mut Vec<Text>);

fn push(texts: &mut Vec<Text>, place: Place, text: &str) {
    texts.push(Text {
        place,
        text: text.to_owned(),
    });
}

fn prompt(row: &Value, texts: &mut Vec<Text>) {
    if let Some(text) = row["text"].as_str() {
        push(texts, Place::System, text);
    }
}

fn log(row: &Value, texts: &mut Vec<Text>) {
    if let Some(text) = row["log"].as_str() {
        push(texts, Place::ToolResult, text);
    }
}

fn every_string(row: &Value, texts: &mut Vec<Text>) {
    match row {
        Value::String(text) => push(texts, Place::ToolResult, text),
        Value::Array(list) => list.iter().for_each(|item| every_string(item, texts)),
        Value::Object(members) => members.values().for_each(|item| every_string(item, texts)),
        _ => {}
    }
}

fn recorded(row: &Value, texts: &mut Vec<Text>) {
    let request = &row["request"];
    match &request["system"] {
        Value::String(text) => push(texts, Place::System, text),
        blocks => blocks_of(blocks, Place::System, texts),
    }
    if let Some(text) = request["instructions"].as_str() {
        push(texts, Place::System, text);
    }
    blocks_of(&request["systemInstruction"]["parts"], Place::System, texts);
    messages(request, texts);
    for list in ["input", "contents"] {
        for item in request[list].as_array().into_iter().flatten() {
            message(item, texts);
        }
    }
    if let Some(text) = request["input"].as_str() {
        push(texts, Place::User, text);
    }
}

fn messages(row: &Value, texts: &mut Vec<Text>) {
    for item in row["messages"].as_array().into_iter().flatten() {
        message(item, texts);
    }
}

fn message(item: &Value, texts: &mut Vec<Text>) {
    let place = match item["role"].as_str() {
        Some("system" | "developer") => Place::System,
        Some("assistant" | "model") => Place::Assistant,
        Some("tool" | "function") => Place::ToolResult,
        _ => Place::User,
    };
    match &item["content"] {
        Value::String(text) => push(texts, place, text),
        blocks => blocks_of(blocks, place, texts),
    }
    blocks_of(&item["parts"], place, texts);
    if let Some(text) = item["output"].as_str() {
        push(texts, Place::ToolResult, text);
    }
}

fn blocks_of(blocks: &Value, place: Place, texts: &mut Vec<Text>) {
    for block in blocks.as_array().into_iter().flatten() {
        if let Some(text) = block["text"].as_str() {
            push(texts, place, text);
        }
        if block["type"] == "tool_result" {
            match &block["content"] {
                Value::String(text) => push(texts, Place::ToolResult, text),
                inner => blocks_of(inner, Place::ToolResult, texts),
            }
        }
        let response = &block["functionResponse"]["response"];
        every_string(response, texts);
    }
}
