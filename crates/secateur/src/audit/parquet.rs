//! A small Parquet writer: flat columns, PLAIN encoding, no compression, one page per column and row
//! group. Everything that reads Parquet reads this; `tests/it/audit_cli.rs` has pyarrow read it.
//!
//! The format: the mark `PAR1`, the pages, a footer in Thrift's compact protocol that says where they
//! are, its length, and the mark again. All columns are optional; a page starts with the definition
//! levels (0: null, 1: there is a value) as run lengths, then come the values that are there.

use std::io::{self, Write};

use secateur_ledger::Row;

use super::columns::{COLUMNS, Cell, Column, Kind};

const MARK: &[u8; 4] = b"PAR1";
const RLE: i64 = 3;
const OPTIONAL: i64 = 1;

// Types of the compact protocol.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Where one column of one row group is.
#[derive(Debug)]
struct Chunk {
    offset: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Group {
    rows: usize,
    chunks: Vec<Chunk>,
}

#[derive(Debug)]
pub(crate) struct ParquetWriter<W> {
    out: W,
    offset: u64,
    groups: Vec<Group>,
}

impl<W: Write> ParquetWriter<W> {
    pub(crate) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(MARK)?;
        Ok(Self {
            out,
            offset: MARK.len() as u64,
            groups: Vec::new(),
        })
    }

    /// Writes a row group.
    pub(crate) fn write(&mut self, rows: &[Row]) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut chunks = Vec::with_capacity(COLUMNS.len());
        for column in COLUMNS {
            let page = page(column, rows);
            let size = to_i64(page.len());
            let mut head = Thrift::default();
            head.int(1, I32, 0);
            head.int(2, I32, size);
            head.int(3, I32, size);
            head.open(5);
            head.int(1, I32, to_i64(rows.len()));
            head.int(2, I32, 0);
            head.int(3, I32, RLE);
            head.int(4, I32, RLE);
            head.close();
            head.close();
            self.out.write_all(&head.bytes)?;
            self.out.write_all(&page)?;
            let bytes = (head.bytes.len() + page.len()) as u64;
            chunks.push(Chunk {
                offset: self.offset,
                bytes,
            });
            self.offset += bytes;
        }
        self.groups.push(Group {
            rows: rows.len(),
            chunks,
        });
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<W> {
        let footer = footer(&self.groups);
        self.out.write_all(&footer)?;
        let length = u32::try_from(footer.len()).map_err(io::Error::other)?;
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(MARK)?;
        Ok(self.out)
    }
}

fn to_i64(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

fn page(column: &Column, rows: &[Row]) -> Vec<u8> {
    let cells: Vec<Cell> = rows.iter().map(column.get).collect();
    let mut levels = Vec::new();
    for run in cells.chunk_by(|one, other| (*one == Cell::Null) == (*other == Cell::Null)) {
        varint(&mut levels, (run.len() as u64) << 1);
        levels.push(u8::from(run.first() != Some(&Cell::Null)));
    }
    let mut page = Vec::new();
    page.extend_from_slice(
        &u32::try_from(levels.len())
            .unwrap_or(u32::MAX)
            .to_le_bytes(),
    );
    page.append(&mut levels);
    let mut bits = 0_usize;
    for cell in cells {
        match cell {
            Cell::Null => {}
            Cell::Int(number) => page.extend_from_slice(&number.to_le_bytes()),
            Cell::Real(number) => page.extend_from_slice(&number.to_le_bytes()),
            Cell::Text(text) => {
                page.extend_from_slice(
                    &u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes(),
                );
                page.extend_from_slice(text.as_bytes());
            }
            Cell::Bool(is) => {
                if bits.is_multiple_of(8) {
                    page.push(0);
                }
                if let Some(last) = page.last_mut() {
                    *last |= u8::from(is) << (bits % 8);
                }
                bits += 1;
            }
        }
    }
    page
}

/// The physical type, and what it stands for where that is more.
fn types(kind: Kind) -> (i64, Option<i64>) {
    match kind {
        Kind::Bool => (0, None),
        Kind::Int => (2, None),
        Kind::Time => (2, Some(9)),
        Kind::Real => (5, None),
        Kind::Text => (6, Some(0)),
    }
}

fn footer(groups: &[Group]) -> Vec<u8> {
    let mut out = Thrift::default();
    out.int(1, I32, 1);
    out.list(2, STRUCT, COLUMNS.len() + 1);
    out.enter();
    out.text(4, "row");
    out.int(5, I32, to_i64(COLUMNS.len()));
    out.close();
    for column in COLUMNS {
        let (physical, logical) = types(column.kind);
        out.enter();
        out.int(1, I32, physical);
        out.int(3, I32, OPTIONAL);
        out.text(4, column.name);
        if let Some(logical) = logical {
            out.int(6, I32, logical);
        }
        out.close();
    }
    out.int(3, I64, to_i64(groups.iter().map(|group| group.rows).sum()));
    out.list(4, STRUCT, groups.len());
    for group in groups {
        out.enter();
        out.list(1, STRUCT, group.chunks.len());
        for (column, chunk) in COLUMNS.iter().zip(&group.chunks) {
            let (offset, bytes) = (chunk.offset.cast_signed(), chunk.bytes.cast_signed());
            out.enter();
            out.int(2, I64, offset);
            out.open(3);
            out.int(1, I32, types(column.kind).0);
            out.list(2, I32, 2);
            out.zigzag(0);
            out.zigzag(RLE);
            out.list(3, BINARY, 1);
            out.binary(column.name);
            out.int(4, I32, 0);
            out.int(5, I64, to_i64(group.rows));
            out.int(6, I64, bytes);
            out.int(7, I64, bytes);
            out.int(9, I64, offset);
            out.close();
            out.close();
        }
        let bytes: u64 = group.chunks.iter().map(|chunk| chunk.bytes).sum();
        out.int(2, I64, bytes.cast_signed());
        out.int(3, I64, to_i64(group.rows));
        out.close();
    }
    out.text(6, concat!("secateur ", env!("CARGO_PKG_VERSION")));
    out.close();
    out.bytes
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push((number & 0x7f) as u8);
}

/// Thrift's compact protocol, as far as it is needed. Field numbers are written as steps from the last.
#[derive(Debug, Default)]
struct Thrift {
    bytes: Vec<u8>,
    last: u8,
    outer: Vec<u8>,
}

impl Thrift {
    fn field(&mut self, number: u8, kind: u8) {
        self.bytes.push((number - self.last) << 4 | kind);
        self.last = number;
    }

    fn zigzag(&mut self, number: i64) {
        varint(
            &mut self.bytes,
            ((number << 1) ^ (number >> 63)).cast_unsigned(),
        );
    }

    fn int(&mut self, number: u8, kind: u8, value: i64) {
        self.field(number, kind);
        self.zigzag(value);
    }

    fn binary(&mut self, text: &str) {
        varint(&mut self.bytes, text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn text(&mut self, number: u8, text: &str) {
        self.field(number, BINARY);
        self.binary(text);
    }

    fn list(&mut self, number: u8, kind: u8, len: usize) {
        self.field(number, LIST);
        match u8::try_from(len) {
            Ok(short @ 0..15) => self.bytes.push(short << 4 | kind),
            _ => {
                self.bytes.push(0xf0 | kind);
                varint(&mut self.bytes, len as u64);
            }
        }
    }

    /// A struct as a field.
    fn open(&mut self, number: u8) {
        self.field(number, STRUCT);
        self.enter();
    }

    /// A struct as an element of a list.
    fn enter(&mut self) {
        self.outer.push(self.last);
        self.last = 0;
    }

    /// Ends a struct, the outermost one too.
    fn close(&mut self) {
        self.bytes.push(0);
        self.last = self.outer.pop().unwrap_or(0);
    }
}
