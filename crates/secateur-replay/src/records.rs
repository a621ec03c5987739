//! Files of sessions, row by row: memory holds one row, however large the file is.

use std::io::{self, BufRead, Read};
use std::path::Path;

use crate::read::{Loaded, file_name, open, read_bytes, read_line, read_row};

/// The longest row, or document over many lines, that is read. Longer ones are named.
const MAX_ROW_BYTES: usize = 64 << 20;

/// A piece of a file that can be read on its own.
#[derive(Debug)]
pub struct Record {
    name: String,
    /// The 1-based line; `None`: the whole file.
    line: Option<usize>,
    /// `None`: it is too long.
    content: Option<Vec<u8>>,
}

impl Record {
    /// Its size; 0 if it is not read.
    pub fn bytes(&self) -> usize {
        self.content.as_ref().map_or(0, Vec::len)
    }

    /// Its sessions.
    pub fn read(&self) -> Loaded {
        let text = self.content.as_deref().ok_or("too long to be read");
        let text = text.and_then(|text| std::str::from_utf8(text).map_err(|_| "not UTF-8"));
        match (text, self.line) {
            (Ok(text), Some(line)) => read_row(&self.name, line, text),
            (Ok(text), None) => read_bytes(&self.name, text.as_bytes()),
            (Err(reason), line) => {
                let line = line.map(|line| format!(":{line}")).unwrap_or_default();
                let mut loaded = Loaded::default();
                loaded.reject(format!("{}{line}", self.name), reason.to_owned());
                loaded
            }
        }
    }
}

/// The records of a file, plain or compressed.
pub struct Records {
    name: String,
    reader: Box<dyn BufRead + Send>,
    line: usize,
    max_row_bytes: usize,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Records({}, line {})", self.name, self.line)
    }
}

impl Records {
    /// Opens a file.
    ///
    /// # Errors
    /// Opening or reading failed.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            name: file_name(path),
            reader: open(path)?,
            line: 0,
            max_row_bytes: MAX_ROW_BYTES,
        })
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn read_next(&mut self) -> io::Result<Option<Record>> {
        loop {
            let mut content = Vec::new();
            let is_whole = read_line(&mut self.reader, &mut content, self.max_row_bytes)?;
            if content.is_empty() {
                return Ok(None);
            }
            self.line += 1;
            if content.trim_ascii().is_empty() {
                continue;
            }
            let is_row = self.line > 1
                || !is_whole
                || serde_json::from_slice::<serde::de::IgnoredAny>(&content).is_ok();
            let content = if is_row {
                is_whole.then_some(content)
            } else {
                self.read_rest(content)?
            };
            return Ok(Some(Record {
                name: self.name.clone(),
                line: is_row.then_some(self.line),
                content,
            }));
        }
    }

    /// All of a file that begins like this: a document over many lines, or one whose first row is broken.
    fn read_rest(&mut self, mut content: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        let mut rest = (&mut self.reader).take(self.max_row_bytes as u64);
        rest.read_to_end(&mut content)?;
        if rest.limit() > 0 {
            return Ok(Some(content));
        }
        drop(content);
        io::copy(&mut self.reader, &mut io::sink())?;
        Ok(None)
    }
}

impl Iterator for Records {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read_next().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &'static str) -> Vec<String> {
        let records = Records {
            name: "f".to_owned(),
            reader: Box::new(text.as_bytes()),
            line: 0,
            max_row_bytes: 80,
        };
        let read = records.map(|record| record.unwrap().read());
        read.flat_map(|loaded| {
            let sessions = loaded.sessions.into_iter().map(|session| session.id);
            let rows = loaded.unreadable.into_iter();
            let rows: Vec<String> = rows
                .map(|row| format!("{} {}", row.place, row.reason))
                .collect();
            sessions.chain(rows).collect::<Vec<String>>()
        })
        .collect()
    }

    const ROW: &str = r#"{"messages":[{"role":"user","content":""},{"role":"assistant"}]}"#;

    #[test]
    fn rows_that_are_too_long_are_named_and_the_others_are_read() {
        let long = format!("{ROW}\n[\"{}\"]\n\n{ROW}", "x".repeat(100));
        let found = places(long.leak());
        assert_eq!(found, ["f:1", "f:2 too long to be read", "f:4"]);
    }

    #[test]
    fn a_document_over_many_lines_is_read_unless_it_is_too_long() {
        let document = ROW.replacen('[', "[\n", 1);
        assert_eq!(places(document.clone().leak()), ["f:1"]);
        let long = document + &" ".repeat(100);
        assert_eq!(places(long.leak()), ["f too long to be read"]);
    }
}
