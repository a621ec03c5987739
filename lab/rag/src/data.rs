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
pub(crate) struct Question {
    pub(crate) question: String,
    pub(crate) chunks: Vec<Passage>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Passage {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
    pub(crate) gold: bool,
}

/// A chunk of the code set, which all code questions share.
#[derive(Debug, Deserialize)]
pub(crate) struct CodeChunk {
    pub(crate) id: String,
    pub(crate) text: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CodeQuestion {
    pub(crate) question: String,
    pub(crate) gold: Vec<String>,
}

/// A set of questions with chunks. The chunks are shuffled with a fixed seed: in the files the gold
/// chunk may come first, and a scorer that gives equal scores must not profit from that.
pub(crate) fn questions(folder: &Path, name: &str) -> Result<Vec<Question>, Error> {
    let mut all: Vec<Question> = lines(&folder.join(format!("{name}.jsonl.gz")))?;
    let mut shuffle = Shuffle::new(0x5eca);
    for question in &mut all {
        shuffle.apply(&mut question.chunks);
    }
    Ok(all)
}

pub(crate) fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Error> {
    let reader = BufReader::new(GzDecoder::new(File::open(path)?));
    let mut items = Vec::new();
    for (at, line) in reader.lines().enumerate() {
        let line = line?;
        let item = serde_json::from_str(&line).map_err(|why| {
            Error::new(
                ErrorKind::InvalidData,
                format!("{} line {}: {why}", path.display(), at + 1),
            )
        })?;
        items.push(item);
    }
    Ok(items)
}
