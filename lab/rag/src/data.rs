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
    pub(crate) id: String,
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
    pub(crate) id: String,
    pub(crate) question: String,
    pub(crate) gold: Vec<String>,
}

/// The halves of the questions, by a hash of the question's id: constants are chosen on one alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    Tuned,
    HeldOut,
}

impl Half {
    /// FNV-1a, lowest bit of the folded hash.
    pub(crate) fn of(id: &str) -> Self {
        let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        match (hash ^ (hash >> 32)) & 1 {
            0 => Self::Tuned,
            _ => Self::HeldOut,
        }
    }
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
