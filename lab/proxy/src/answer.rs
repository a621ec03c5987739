//! A response as it comes in, read just far enough to know its status and where it ends.

use crate::Outcome;

#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// Before the empty line; what came so far.
    Head(Vec<u8>),
    /// So many bytes are to come.
    Length(usize),
    /// In the line with a chunk's size, after these digits.
    Size(usize),
    /// In what may stand behind the size.
    Extension(usize),
    /// So many bytes of a chunk and of the line's end behind it are to come.
    Chunk(usize),
    /// Behind the last chunk; so many bytes of the line at hand came.
    Trailer(usize),
    Done,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Answer {
    place: Place,
    status: u16,
}

impl Answer {
    pub(crate) fn new() -> Self {
        Self {
            place: Place::Head(Vec::new()),
            status: 0,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.place == Place::Done
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Takes the next bytes in.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Outcome<()> {
        while let Some(&byte) = bytes.first() {
            let mut used = 1;
            match &mut self.place {
                Place::Head(seen) => {
                    let before = seen.len();
                    seen.extend_from_slice(bytes);
                    let from = before.saturating_sub(3);
                    let Some(at) = seen[from..].windows(4).position(|end| end == b"\r\n\r\n")
                    else {
                        return Ok(());
                    };
                    let end = from + at + 4;
                    used = end - before;
                    let head = std::str::from_utf8(&seen[..end])?.to_owned();
                    self.read_head(&head)?;
                }
                Place::Length(left) => {
                    used = bytes.len().min(*left);
                    *left -= used;
                    if *left == 0 {
                        self.place = Place::Done;
                    }
                }
                Place::Size(size) => match char::from(byte).to_digit(16) {
                    Some(digit) => *size = *size << 4 | digit as usize,
                    None => self.place = Place::Extension(*size),
                },
                Place::Extension(size) if byte == b'\n' => {
                    self.place = match *size {
                        0 => Place::Trailer(0),
                        size => Place::Chunk(size + 2),
                    };
                }
                Place::Extension(_) => {}
                Place::Chunk(left) => {
                    used = bytes.len().min(*left);
                    *left -= used;
                    if *left == 0 {
                        self.place = Place::Size(0);
                    }
                }
                Place::Trailer(length) => match byte {
                    b'\n' if *length == 0 => self.place = Place::Done,
                    b'\n' => *length = 0,
                    b'\r' => {}
                    _ => *length += 1,
                },
                Place::Done => return Err("bytes behind the response".into()),
            }
            bytes = &bytes[used..];
        }
        Ok(())
    }

    fn read_head(&mut self, head: &str) -> Outcome<()> {
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        self.status = status.ok_or("no status")?.parse()?;
        self.place = Place::Length(0);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            if name.eq_ignore_ascii_case("content-length") {
                self.place = Place::Length(value.trim().parse()?);
            }
            if name.eq_ignore_ascii_case("transfer-encoding") {
                self.place = Place::Size(0);
                break;
            }
        }
        if self.place == Place::Length(0) {
            self.place = Place::Done;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_ends_where_it_should_however_it_is_cut() {
        for text in [
            "HTTP/1.1 200 OK\r\ncontent-length: 11\r\nx: y\r\n\r\nhello\r\n\r\n12",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhel\r\n\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n\r\n",
        ] {
            for step in 1..text.len() {
                let mut answer = Answer::new();
                let mut fed = 0;
                for part in text.as_bytes().chunks(step) {
                    assert!(!answer.is_done());
                    answer.feed(part).unwrap();
                    fed += part.len();
                    assert_eq!(answer.is_done(), fed == text.len(), "{text} by {step}");
                }
                assert!(answer.is_success());
            }
        }
    }
}
