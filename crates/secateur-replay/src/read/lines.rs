//! Lines of a log, read with bounds: a line or file of any size takes a bounded amount of memory.

use std::io::{self, BufRead};

/// Bounds on what is read of one log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// Longer lines are skipped and named.
    pub max_line_bytes: usize,
    /// Reading stops after this many bytes of messages; the rest of the log is not counted, and named.
    pub max_message_bytes: usize,
    /// Reading stops after this many bytes.
    pub max_file_bytes: u64,
}

impl Default for ReadLimits {
    /// 8 MiB a line, 24 MiB of messages, 1 GiB a file.
    fn default() -> Self {
        Self {
            max_line_bytes: 8 << 20,
            max_message_bytes: 24 << 20,
            max_file_bytes: 1 << 30,
        }
    }
}

/// A line, or why it cannot be read.
pub(super) type Line<'l> = Result<&'l str, &'static str>;

/// Hands out the lines that are not empty with their 1-based numbers, until `take` returns false. True: the file is
/// longer than the limit.
pub(super) fn for_each_line(
    reader: impl BufRead,
    limits: &ReadLimits,
    mut take: impl FnMut(usize, Line<'_>) -> bool,
) -> io::Result<bool> {
    let mut reader = reader.take(limits.max_file_bytes);
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        number += 1;
        line.clear();
        let is_whole = read_line(&mut reader, &mut line, limits.max_line_bytes)?;
        if line.is_empty() {
            return Ok(reader.limit() == 0);
        }
        let text = if is_whole {
            std::str::from_utf8(&line).map_err(|_| "not UTF-8")
        } else {
            Err("the line is too long")
        };
        if text.is_ok_and(|text| text.trim().is_empty()) {
            continue;
        }
        if !take(number, text.map(str::trim)) {
            return Ok(false);
        }
    }
}

/// Appends the next line with its end. False: it is longer than `max`, and the rest of it was skipped.
pub(crate) fn read_line(
    reader: &mut impl BufRead,
    line: &mut Vec<u8>,
    max: usize,
) -> io::Result<bool> {
    let mut is_whole = true;
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            return Ok(is_whole);
        }
        let end = memchr::memchr(b'\n', chunk);
        let taken = end.map_or(chunk.len(), |at| at + 1);
        if line.len() + taken > max {
            is_whole = false;
        }
        if is_whole || line.is_empty() {
            line.extend_from_slice(&chunk[..taken.min(max)]);
        }
        reader.consume(taken);
        if end.is_some() {
            return Ok(is_whole);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Lines = Vec<(usize, Result<String, &'static str>)>;

    fn read(text: &[u8], limits: ReadLimits) -> (Lines, bool) {
        let mut lines = Lines::new();
        let reader = io::BufReader::with_capacity(7, text);
        let is_cut = for_each_line(reader, &limits, |number, line| {
            lines.push((number, line.map(str::to_owned)));
            true
        });
        (lines, is_cut.unwrap())
    }

    #[test]
    fn long_and_broken_lines_are_skipped_and_the_next_one_is_read() {
        let limits = ReadLimits {
            max_line_bytes: 20,
            ..ReadLimits::default()
        };
        let text = b"one\n\n012345678901234567890123456789\n\xff\xfe\r\nlast";
        let (lines, is_cut) = read(text, limits);
        let expected = [
            (1, Ok("one".to_owned())),
            (3, Err("the line is too long")),
            (4, Err("not UTF-8")),
            (5, Ok("last".to_owned())),
        ];
        assert_eq!(lines, expected);
        assert!(!is_cut);
    }

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let limits = ReadLimits {
            max_file_bytes: 8,
            ..ReadLimits::default()
        };
        let (lines, is_cut) = read(b"one\ntwo\nthree\n", limits);
        assert_eq!(lines.len(), 2);
        assert!(is_cut);
    }
}
