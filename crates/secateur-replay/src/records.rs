//! Files of sessions, row by row: memory holds one row, however large the file is.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::read::{Loaded, file_name, read_bytes, read_row};

/// Rows longer than this are not read.
const MAX_ROW_BYTES: u64 = 1 << 30;

/// A piece of a file that can be read on its own.
#[derive(Debug)]
pub struct Record {
    name: String,
    /// The 1-based line; `None`: the whole file.
    line: Option<usize>,
    content: Vec<u8>,
}

impl Record {
    /// Its size.
    pub fn bytes(&self) -> usize {
        self.content.len()
    }

    /// Its sessions.
    pub fn read(&self) -> Loaded {
        let Some(line) = self.line else {
            return read_bytes(&self.name, &self.content);
        };
        match std::str::from_utf8(&self.content) {
            Ok(text) => read_row(&self.name, line, text),
            Err(_) => {
                let mut loaded = Loaded::default();
                loaded.reject(format!("{}:{line}", self.name), "not UTF-8".to_owned());
                loaded
            }
        }
    }
}

/// The records of a file; gzip or plain.
pub struct Records {
    name: String,
    reader: Box<dyn BufRead + Send>,
    line: usize,
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
        let mut file = BufReader::new(File::open(path)?);
        let is_compressed = file.fill_buf()?.starts_with(&[0x1f, 0x8b]);
        let reader: Box<dyn BufRead + Send> = if is_compressed {
            Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(file)))
        } else {
            Box::new(file)
        };
        Ok(Self {
            name: file_name(path),
            reader,
            line: 0,
        })
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn read_next(&mut self) -> io::Result<Option<Record>> {
        loop {
            let mut content = Vec::new();
            let mut row = (&mut self.reader).take(MAX_ROW_BYTES);
            if row.read_until(b'\n', &mut content)? == 0 {
                return Ok(None);
            }
            self.line += 1;
            if content.trim_ascii().is_empty() {
                continue;
            }
            let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(&content).is_ok();
            let is_row = self.line > 1 || is_json;
            if !is_row {
                // A document over many lines, or a file that begins with a broken row.
                (&mut self.reader)
                    .take(MAX_ROW_BYTES)
                    .read_to_end(&mut content)?;
            }
            return Ok(Some(Record {
                name: self.name.clone(),
                line: is_row.then_some(self.line),
                content,
            }));
        }
    }
}

impl Iterator for Records {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read_next().transpose()
    }
}
