//! Opens files, plain or compressed with gzip.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

/// Bytes that are read from the disk at once.
const BUFFER_BYTES: usize = 256 << 10;

/// Opens a file; what is read from it is not compressed any more.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn BufRead + Send>> {
    let mut file = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
    let is_compressed = file.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    if is_compressed {
        let content = flate2::bufread::MultiGzDecoder::new(file);
        return Ok(Box::new(BufReader::new(content)));
    }
    Ok(Box::new(file))
}

/// The first bytes of a file, `max_bytes` at most.
pub(crate) fn head(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    open(path)?.take(max_bytes).read_to_end(&mut head)?;
    Ok(head)
}
