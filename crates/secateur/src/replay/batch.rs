//! Files in batches, so that memory is bounded by a batch and not by all that there is to replay.

use std::path::{Path, PathBuf};

use secateur_replay::{Session, Unreadable};

use crate::failure::Failure;

/// A batch is full at this many bytes of messages. One file is never split.
const BATCH_BYTES: usize = 64 << 20;

/// Some files' sessions.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) sessions: Vec<Session>,
    pub(super) unreadable: Vec<Unreadable>,
    /// Bytes of the files of all batches before.
    pub(super) bytes_before: u64,
    /// Bytes of the files of this one.
    pub(super) bytes: u64,
}

/// See the module.
pub(super) struct Batches<'f> {
    files: std::slice::Iter<'f, PathBuf>,
    read_bytes: u64,
    total_bytes: u64,
}

impl<'f> Batches<'f> {
    pub(super) fn new(files: &'f [PathBuf]) -> Result<Self, Failure> {
        let sizes: Result<Vec<u64>, Failure> = files.iter().map(|path| size(path)).collect();
        Ok(Self {
            files: files.iter(),
            read_bytes: 0,
            total_bytes: sizes?.iter().sum(),
        })
    }

    pub(super) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }
}

impl Iterator for Batches<'_> {
    type Item = Result<Batch, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut batch = Batch {
            bytes_before: self.read_bytes,
            ..Batch::default()
        };
        let mut held = 0;
        while held < BATCH_BYTES
            && let Some(path) = self.files.next()
        {
            let read = secateur_replay::read_path(path)
                .map_err(|error| Failure::bad_input(error.to_string()))
                .and_then(|loaded| Ok((loaded, size(path)?)));
            let (loaded, bytes) = match read {
                Ok(read) => read,
                Err(failure) => return Some(Err(failure)),
            };
            batch.bytes += bytes;
            self.read_bytes += bytes;
            let messages = loaded.sessions.iter().flat_map(|session| &session.messages);
            held += messages.map(|message| message.raw.len()).sum::<usize>();
            batch.sessions.extend(loaded.sessions);
            batch.unreadable.extend(loaded.unreadable);
        }
        let is_empty = batch.sessions.is_empty() && batch.unreadable.is_empty();
        (batch.bytes > 0 || !is_empty).then_some(Ok(batch))
    }
}

fn size(path: &Path) -> Result<u64, Failure> {
    std::fs::metadata(path)
        .map(|facts| facts.len())
        .map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", path.display())))
}
