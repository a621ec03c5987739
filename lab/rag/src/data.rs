//! Reads the question sets.

use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind};
use std::path::Path;

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::shuffle::Shuffle;

/// A question with its own list of chunks.
#[derive(Debug, Deserialize)]
pub struct Question {
    pub question: String,
    pub chunks: Vec<Passage>,
}

#[derive(Debug, Deserialize)]
pub struct Passage {
    pub title: Option<String>,
    pub text: String,
    pub gold: bool,
}

/// A chunk of the code set, which all code questions share.
#[derive(Debug, Deserialize)]
pub struct CodeChunk {
    pub id: String,
    pub text: String,
}

#[derive(Debug, Deserialize)]
pub struct CodeQuestion {
    pub question: String,
    pub gold: Vec<String>,
}

/// A set of questions with chunks. The chunks are shuffled with a fixed seed: in the files the gold
/// chunk may come first, and a scorer that gives equal scores must not profit from that.
pub fn questions(folder: &Path, name: &str) -> Result<Vec<Question>, Error> {
    let mut all: Vec<Question> = lines(&folder.join(format!("{name}.jsonl.gz")))?;
    let mut shuffle = Shuffle::new(0x5eca);
    for question in &mut all {
        shuffle.apply(&mut question.chunks);
    }
    Ok(all)
}

pub fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Error> {
    let reader = BufReader::new(GzDecoder::new(File::open(path)?));
    let mut items = Vec::new();
    for (at, line) in reader.lines().enumerate() {
        let line = line?;
        let item = serde_json::from_str(&line).map_err(|why| {
            Error::new(ErrorKind::InvalidData, format!("{} line {}: {why}", path.display(), at + 1))
        })?;
        items.push(item);
    }
    Ok(items)
}
