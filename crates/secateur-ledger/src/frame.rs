//! A spool segment's bytes: a mark, then frames of length, checksum and JSON. Whatever a killed process
//! left half-written at the end is told from whole frames and cut off.

use crate::record::Record;

/// Starts every segment. Another layout would get another number.
pub(crate) const MARK: &[u8] = b"secateur-spool-1\n";

/// Longer frames are not written, so a length beyond it is damage.
const MAX_FRAME_BYTES: usize = 8 << 20;
const HEAD_BYTES: usize = 8;

/// Adds a record to `out`.
pub(crate) fn push(out: &mut Vec<u8>, record: &Record) -> Result<(), serde_json::Error> {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD_BYTES]);
    if let Err(error) = serde_json::to_writer(&mut *out, record) {
        out.truncate(start);
        return Err(error);
    }
    let body = out.get(start + HEAD_BYTES..).unwrap_or_default();
    let sum = crc32fast::hash(body).to_le_bytes();
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes();
    for (slot, byte) in out
        .iter_mut()
        .skip(start)
        .zip(length.into_iter().chain(sum))
    {
        *slot = byte;
    }
    Ok(())
}

/// What is in a segment.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    pub(crate) records: Vec<Record>,
    /// Whole frames that hold no record that this program knows.
    pub(crate) unknown: usize,
    /// Bytes up to the end of the last whole frame.
    pub(crate) sound_bytes: usize,
    /// It does not start as a segment does, and is no torn start of one either.
    pub(crate) is_foreign: bool,
}

/// Reads up to the first frame that is not whole.
pub(crate) fn read(bytes: &[u8]) -> Frames {
    let mut frames = Frames::default();
    let Some(mut rest) = bytes.strip_prefix(MARK) else {
        frames.is_foreign = !MARK.starts_with(bytes);
        return frames;
    };
    while let Some((head, tail)) = rest.split_first_chunk::<HEAD_BYTES>() {
        let [a, b, c, d, sum @ ..] = *head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let Some(body) = tail.get(..length).filter(|_| length <= MAX_FRAME_BYTES) else {
            break;
        };
        if crc32fast::hash(body) != u32::from_le_bytes(sum) {
            break;
        }
        match serde_json::from_slice(body) {
            Ok(record) => frames.records.push(record),
            Err(_) => frames.unknown += 1,
        }
        rest = tail.get(length..).unwrap_or_default();
    }
    frames.sound_bytes = bytes.len() - rest.len();
    frames
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    fn record(id: usize) -> Record {
        Record::Row(Box::new(Row {
            id: format!("row {id}"),
            ..Row::default()
        }))
    }

    #[test]
    fn a_segment_cut_anywhere_gives_back_its_whole_frames() {
        let mut bytes = MARK.to_vec();
        let mut ends = vec![bytes.len()];
        for id in 0..5 {
            push(&mut bytes, &record(id)).unwrap();
            ends.push(bytes.len());
        }
        for cut in 0..=bytes.len() {
            let frames = read(&bytes[..cut]);
            let whole = ends
                .iter()
                .filter(|&&end| end <= cut)
                .count()
                .saturating_sub(1);
            assert_eq!(frames.records.len(), whole, "cut at {cut}");
            assert!(
                frames
                    .records
                    .iter()
                    .enumerate()
                    .all(|(id, found)| *found == record(id))
            );
            assert_eq!(frames.unknown, 0);
        }
    }

    #[test]
    fn a_flipped_bit_ends_the_segment_there() {
        let mut bytes = MARK.to_vec();
        push(&mut bytes, &record(0)).unwrap();
        let first = bytes.len();
        push(&mut bytes, &record(1)).unwrap();
        for at in first..bytes.len() {
            let mut bent = bytes.clone();
            bent[at] ^= 0x10;
            let frames = read(&bent);
            assert_eq!(frames.records.len(), 1, "bit in byte {at}");
            assert_eq!(frames.sound_bytes, first);
        }
    }

    #[test]
    fn a_record_of_another_version_is_counted_and_passed_over() {
        let mut bytes = MARK.to_vec();
        let body = br#"{"Unheard":{}}"#;
        bytes.extend_from_slice(&u32::try_from(body.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
        bytes.extend_from_slice(body);
        push(&mut bytes, &record(1)).unwrap();
        let frames = read(&bytes);
        assert_eq!((frames.records.len(), frames.unknown), (1, 1));
        assert!(!read(&bytes[..5]).is_foreign && read(b"secateur-spool-2\n").is_foreign);
    }
}
