//! The static embedding table: one short vector per word piece, part of the binary.
//!
//! The file is made by `lab/rag/derive_table.py` and is read in place, without a set-up step.
//! Layout, little-endian: `SRT1`, three `u32` (rows, dimensions, slot bits); a hash table of `u16`
//! (row + 1, or 0) with `2^bits` slots and linear probing; `u32` offsets of the pieces (rows + 1);
//! the pieces; padding to 4 bytes; an `f32` scale per row; the rows as `i8`.

static FILE: &[u8] = include_bytes!("../data/static-table.bin");

/// Dimensions of the vectors. A table with another number is not read.
pub(crate) const DIMENSIONS: usize = 128;

/// Views of the file's parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table {
    slots: &'static [u8],
    offsets: &'static [u8],
    pieces: &'static [u8],
    scales: &'static [u8],
    rows: &'static [u8],
}

impl Table {
    /// The table of this build. `None` when the file does not have the layout above.
    pub(crate) fn shipped() -> Option<Self> {
        let rest = FILE.strip_prefix(b"SRT1")?;
        let (head, rest) = rest.split_at_checked(12)?;
        let (count, dimensions, bits) = (number(head, 0)?, number(head, 1)?, number(head, 2)?);
        if dimensions != DIMENSIONS || bits > 24 {
            return None;
        }
        let (slots, rest) = rest.split_at_checked(2 << bits)?;
        let (offsets, rest) = rest.split_at_checked(4 * (count + 1))?;
        let (pieces, rest) = rest.split_at_checked(number(offsets, count)?)?;
        let padding = (4 - (FILE.len() - rest.len()) % 4) % 4;
        let (scales, rows) = rest.get(padding..)?.split_at_checked(4 * count)?;
        (rows.len() == count * DIMENSIONS).then_some(Self {
            slots,
            offsets,
            pieces,
            scales,
            rows,
        })
    }

    /// The row of a piece, given the hash of the piece.
    pub(crate) fn find(&self, hash: PieceHash, continued: bool, piece: &[u8]) -> Option<usize> {
        let mask = self.slots.len() / 2 - 1;
        let mut at = hash.slot() & mask;
        loop {
            let pair = self.slots.get(2 * at..2 * at + 2)?;
            let row = usize::from(u16::from_le_bytes([pair[0], pair[1]])).checked_sub(1)?;
            let stored = self
                .pieces
                .get(number(self.offsets, row)?..number(self.offsets, row + 1)?)?;
            let same = if continued {
                stored.strip_prefix(b"##") == Some(piece)
            } else {
                stored == piece
            };
            if same {
                return Some(row);
            }
            at = (at + 1) & mask;
        }
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.scales.len() / 4
    }

    /// Adds the vector of a row, times `weight`, to `sum`.
    pub(crate) fn add(&self, row: usize, weight: f32, sum: &mut [f32; DIMENSIONS]) {
        let scale = self.scales.get(4 * row..4 * row + 4);
        let values = self.rows.get(DIMENSIONS * row..DIMENSIONS * (row + 1));
        let (Some(scale), Some(values)) = (scale, values) else {
            return;
        };
        let scale = weight * f32::from_le_bytes([scale[0], scale[1], scale[2], scale[3]]);
        for (sum, value) in sum.iter_mut().zip(values) {
            *sum += scale * f32::from(value.cast_signed());
        }
    }
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(4 * at..4 * at + 4)?;
    usize::try_from(u32::from_le_bytes([four[0], four[1], four[2], four[3]])).ok()
}

/// FNV-1a over the bytes of a piece, taken byte by byte so that every prefix has its hash on the way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PieceHash(u64);

impl PieceHash {
    /// At the start of a word, or after a first piece (where pieces are stored with `##`).
    pub(crate) fn start(continued: bool) -> Self {
        let fresh = Self(0xcbf2_9ce4_8422_2325);
        if continued {
            fresh.with(b'#').with(b'#')
        } else {
            fresh
        }
    }

    pub(crate) fn with(self, byte: u8) -> Self {
        Self((self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    }

    fn slot(self) -> usize {
        usize::try_from((self.0 ^ (self.0 >> 32)) & 0xffff_ffff).unwrap_or(0)
    }
}
