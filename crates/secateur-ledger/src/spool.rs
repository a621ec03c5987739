//! Rows on disk while the database is slow or gone: append-only segments, synced with every append, so
//! that what was appended survives kill -9 and a power cut. Limited in size.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::frame::{self, Frames, MARK};
use crate::moment::now;
use crate::private;
use crate::record::Record;
use crate::slot::{SLOT, Slot, segment_name, segments};

/// All segments of a process together.
pub(crate) const MAX_SPOOL_BYTES: u64 = 1 << 30;
/// A segment is closed when it is larger.
const SEGMENT_BYTES: u64 = 4 << 20;

#[derive(Debug)]
pub(crate) struct Spool {
    root: PathBuf,
    /// `None`: the disk gave none yet.
    slot: Option<Slot>,
    open: Option<Segment>,
    max_bytes: u64,
    /// Bytes of all segments.
    bytes: u64,
    /// Records in all segments.
    records: usize,
    made: u64,
}

#[derive(Debug)]
struct Segment {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl Spool {
    /// A spool in a folder that is touched once it is needed.
    pub(crate) fn new(root: &Path, max_bytes: u64) -> Self {
        Self {
            root: root.to_owned(),
            slot: None,
            open: None,
            max_bytes,
            bytes: 0,
            records: 0,
            made: 0,
        }
    }

    /// The folder of this process, which is taken with what is in it if there is none yet.
    fn folder(&mut self) -> io::Result<PathBuf> {
        if let Some(slot) = &self.slot {
            return Ok(slot.folder.clone());
        }
        private::create_folder(&self.root, |name| name.starts_with(SLOT))?;
        let slot = Slot::take(&self.root)?;
        let left = segments(&slot.folder)?;
        left.iter().for_each(|path| private::narrow_file(path));
        self.count_in(&left)?;
        let folder = slot.folder.clone();
        self.slot = Some(slot);
        Ok(folder)
    }

    /// Takes what dead processes left.
    pub(crate) fn adopt(&mut self) -> io::Result<()> {
        self.folder()?;
        let adopted = match &self.slot {
            Some(slot) => slot.adopt()?,
            None => Vec::new(),
        };
        self.count_in(&adopted)
    }

    /// Reads segments that another process wrote.
    fn count_in(&mut self, paths: &[PathBuf]) -> io::Result<()> {
        let (mut found_bytes, mut found_records) = (0, 0);
        for path in paths {
            let bytes = fs::read(path)?;
            found_bytes += bytes.len() as u64;
            found_records += Record::count_all(&frame::read(&bytes).records);
        }
        self.bytes += found_bytes;
        self.records += found_records;
        Ok(())
    }

    /// Records in all segments.
    pub(crate) fn records(&self) -> usize {
        self.records
    }

    /// All of them are on disk when this returns; on an error, none.
    pub(crate) fn append(&mut self, records: &[Record]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for record in records {
            frame::push(&mut bytes, record)?;
        }
        if self.bytes + bytes.len() as u64 > self.max_bytes {
            return Err(io::Error::new(
                io::ErrorKind::StorageFull,
                format!("the spool is at its limit of {} bytes", self.max_bytes),
            ));
        }
        let mut segment = match self.open.take() {
            Some(segment) => segment,
            None => self.start()?,
        };
        let written = segment
            .file
            .write_all(&bytes)
            .and_then(|()| segment.file.sync_data());
        if let Err(error) = written {
            self.cut_back(&segment);
            return Err(error);
        }
        segment.bytes += bytes.len() as u64;
        self.bytes += bytes.len() as u64;
        self.records += Record::count_all(records);
        if segment.bytes < SEGMENT_BYTES {
            self.open = Some(segment);
        }
        Ok(())
    }

    /// A half-written end must not stay, and neither must a file with nothing in it. The next append
    /// starts a new one.
    fn cut_back(&mut self, segment: &Segment) {
        let _ = segment.file.set_len(segment.bytes);
        if segment.bytes == MARK.len() as u64 && fs::remove_file(&segment.path).is_ok() {
            self.bytes = self.bytes.saturating_sub(segment.bytes);
        }
    }

    fn start(&mut self) -> io::Result<Segment> {
        let folder = self.folder()?;
        self.made += 1;
        let path = segment_name(&folder, now(), self.made);
        let mut file = private::file_options()
            .create_new(true)
            .append(true)
            .open(&path)?;
        if let Err(error) = file.write_all(MARK) {
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        // The file's name must survive a power cut as well.
        let _ = File::open(&folder).and_then(|folder| folder.sync_all());
        let bytes = MARK.len() as u64;
        self.bytes += bytes;
        Ok(Segment { path, file, bytes })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The oldest segment. The one that is being written is closed first.
    pub(crate) fn oldest(&mut self) -> io::Result<Option<PathBuf>> {
        let Some(slot) = &self.slot else {
            return Ok(None);
        };
        let oldest = segments(&slot.folder)?.into_iter().next();
        if let (Some(oldest), Some(open)) = (&oldest, &self.open)
            && *oldest == open.path
        {
            self.open = None;
        }
        if oldest.is_none() {
            (self.bytes, self.records) = (0, 0);
        }
        Ok(oldest)
    }

    /// Takes a segment that cannot be read out of the way without destroying it.
    pub(crate) fn set_aside(&mut self, path: &Path) -> io::Result<()> {
        let length = fs::metadata(path)?.len();
        fs::rename(path, path.with_extension("unreadable"))?;
        self.bytes = self.bytes.saturating_sub(length);
        if self.is_empty() {
            // What it held was counted while it could still be read.
            self.records = 0;
        }
        Ok(())
    }

    /// Removes a segment that holds so many records.
    pub(crate) fn remove(&mut self, path: &Path, records: usize) -> io::Result<()> {
        let length = fs::metadata(path)?.len();
        fs::remove_file(path)?;
        self.bytes = self.bytes.saturating_sub(length);
        self.records = self.records.saturating_sub(records);
        Ok(())
    }
}

/// The records of a segment; a torn end is left out.
pub(crate) fn load(path: &Path) -> io::Result<Frames> {
    Ok(frame::read(&fs::read(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    fn record(id: usize) -> Record {
        let row = Row {
            id: format!("{id}"),
            ..Row::default()
        };
        Record::Row(Box::new(row))
    }

    fn opened(root: &Path, max_bytes: u64) -> Spool {
        let mut spool = Spool::new(root, max_bytes);
        spool.adopt().unwrap();
        spool
    }

    fn drain(spool: &mut Spool) -> usize {
        let mut count = 0;
        while let Some(path) = spool.oldest().unwrap() {
            let records = load(&path).unwrap().records.len();
            spool.remove(&path, records).unwrap();
            count += records;
        }
        count
    }

    #[test]
    fn records_come_back_in_order_also_after_a_torn_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = opened(folder.path(), MAX_SPOOL_BYTES);
        spool.append(&[record(1), record(2)]).unwrap();
        spool.append(&[record(3)]).unwrap();
        let path = spool.oldest().unwrap().unwrap();
        let length = fs::metadata(&path).unwrap().len();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(length - 3)
            .unwrap();
        assert_eq!(load(&path).unwrap().records, [record(1), record(2)]);
        spool.append(&[record(4)]).unwrap();
        assert_eq!(drain(&mut spool), 3);
        assert!(spool.oldest().unwrap().is_none() && spool.is_empty());
    }

    #[test]
    fn a_full_spool_refuses_and_keeps_what_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = opened(folder.path(), 10_000);
        let mut kept = 0;
        while spool.append(&[record(kept)]).is_ok() {
            kept += 1;
        }
        assert!(kept > 2);
        assert_eq!(drain(&mut spool), kept);
        spool.append(&[record(0)]).unwrap();
    }

    #[test]
    fn processes_share_a_folder_and_inherit_from_the_dead() {
        let folder = tempfile::tempdir().unwrap();
        let mut one = opened(folder.path(), MAX_SPOOL_BYTES);
        let mut two = opened(folder.path(), MAX_SPOOL_BYTES);
        one.append(&[record(1)]).unwrap();
        two.append(&[record(2)]).unwrap();
        two.adopt().unwrap();
        assert_eq!(two.records(), 1, "the other is alive");
        drop(one);
        two.adopt().unwrap();
        assert_eq!(two.records(), 2);
        assert_eq!(drain(&mut two), 2);
        assert_eq!(two.records(), 0);
    }
}
