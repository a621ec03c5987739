//! A JSON walker that keeps nothing but the path, and the few values that are asked for.
//!
//! `usage`, `usageMetadata`, `model` and `modelVersion` are found at the top level, and one level
//! below `message` (Anthropic's first event), `response` (the events of the Responses API) and `x_groq`. A
//! top-level array is looked into (Gemini's streams without SSE). The same words inside an answer's
//! text are strings, and inside a tool's arguments they are deeper, so they are not found.

/// Longest value that is kept.
const MAX_VALUE_BYTES: usize = 16 << 10;

/// Longest key that is compared.
const MAX_KEY_BYTES: usize = 16;

/// A value that was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found<'f> {
    /// An object of counts, as JSON text.
    Usage(&'f [u8]),
    /// A model's name.
    Model(&'f str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Key {
    #[default]
    Other,
    Usage,
    Model,
    /// An object in which to look.
    Envelope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum State {
    /// Between tokens; a key may come if the innermost container is an object.
    #[default]
    Between,
    /// In a container where nothing is looked for: only its end counts.
    Skip,
    /// In a string, after an odd number of backslashes if the flag is set.
    String { is_key: bool, escaped: bool },
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Sieve {
    state: State,
    /// Containers that are open.
    depth: usize,
    /// The depth to come back to, in a container where nothing is looked for.
    skip_to: Option<usize>,
    /// Which of the outermost containers are objects, and in which of them a search is on.
    objects: u64,
    envelopes: u64,
    expects_key: bool,
    key: Vec<u8>,
    pending: Key,
    /// The value being kept, and the depth at which it ends.
    value: Vec<u8>,
    keeping: Option<(Key, usize)>,
}

impl Sieve {
    /// Walks on over `bytes`.
    pub(super) fn feed(&mut self, bytes: &[u8], found: &mut dyn FnMut(Found<'_>)) {
        let (mut at, mut kept_from) = (0, 0);
        while let Some(&byte) = bytes.get(at) {
            match self.state {
                State::String {
                    is_key,
                    escaped: false,
                } => {
                    let text = &bytes[at..];
                    let end = string_end(text);
                    let text = &text[..end.unwrap_or(text.len())];
                    at += text.len();
                    match bytes.get(at) {
                        None if is_key => self.begin_key(text),
                        None => {}
                        Some(b'\\') => {
                            self.state = State::String {
                                is_key,
                                escaped: true,
                            };
                            // Keys that count have no escapes.
                            self.key.resize(MAX_KEY_BYTES + 1, 0);
                        }
                        Some(_) if is_key => self.end_key(text),
                        Some(_) => self.end_text(&bytes[kept_from..=at], found),
                    }
                    at += 1;
                }
                State::String {
                    is_key,
                    escaped: true,
                } => {
                    self.state = State::String {
                        is_key,
                        escaped: false,
                    };
                    at += 1;
                }
                State::Skip => {
                    at += self.skip(&bytes[at..]);
                    if self.state == State::Between {
                        self.close(&bytes[kept_from..at], found);
                    }
                }
                State::Between => {
                    let was_keeping = self.keeping.is_some();
                    match byte {
                        b'"' => {
                            let is_key = self.expects_key;
                            self.start_string();
                            if !was_keeping && self.keeping.is_some() {
                                kept_from = at;
                            }
                            // Most strings are whole and plain, and over at once.
                            let text = &bytes[at + 1..];
                            if let Some(end) = string_end(text).filter(|&end| text[end] == b'"') {
                                at += 1 + end;
                                if is_key {
                                    self.end_key(&text[..end]);
                                } else {
                                    self.end_text(&bytes[kept_from..=at], found);
                                }
                            }
                        }
                        b'{' | b'[' => self.open(byte == b'{'),
                        b'}' | b']' => self.close(&bytes[kept_from..=at], found),
                        b',' => {
                            self.pending = Key::Other;
                            self.expects_key = self.is_set(self.objects, self.depth);
                        }
                        b':' => self.expects_key = false,
                        _ => {}
                    }
                    if !was_keeping && self.keeping.is_some() {
                        kept_from = at;
                    }
                    at += 1;
                }
            }
        }
        if self.keeping.is_some() {
            self.keep(&bytes[kept_from..]);
        }
    }

    /// Keeps the part of a value that came in the chunk that is over.
    fn keep(&mut self, part: &[u8]) {
        if self.value.len() + part.len() > MAX_VALUE_BYTES {
            self.keeping = None;
            self.value = Vec::new();
        } else {
            self.value.extend_from_slice(part);
        }
    }

    /// A value is over, `last` being the part of it in this chunk: hands all of it to `then`.
    fn take(&mut self, last: &[u8], then: impl FnOnce(&[u8])) {
        self.keeping = None;
        if self.value.len() + last.len() > MAX_VALUE_BYTES {
            self.value = Vec::new();
        } else if self.value.is_empty() {
            then(last);
        } else {
            self.value.extend_from_slice(last);
            then(&self.value);
        }
    }

    /// Walks to the end of the container that is skipped, which is then to be closed; or to the end of the
    /// bytes; or into a string that is not plain or not whole. How far it got.
    fn skip(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'"' => {
                    let text = &bytes[at..];
                    match string_end(text) {
                        Some(end) if text[end] == b'"' => at += end + 1,
                        _ => {
                            self.state = State::String {
                                is_key: false,
                                escaped: false,
                            };
                            return at;
                        }
                    }
                }
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    if self.skip_to == Some(self.depth - 1) {
                        self.skip_to = None;
                        self.state = State::Between;
                        return at;
                    }
                    self.depth -= 1;
                }
                _ => {}
            }
        }
        at
    }

    fn start_string(&mut self) {
        let is_key = self.expects_key;
        if is_key {
            self.key.clear();
        } else if std::mem::take(&mut self.pending) == Key::Model && self.keeping.is_none() {
            self.keeping = Some((Key::Model, self.depth));
            self.value.clear();
        }
        self.state = State::String {
            is_key,
            escaped: false,
        };
    }

    fn open(&mut self, is_object: bool) {
        let key = std::mem::take(&mut self.pending);
        if self.keeping.is_none() && key == Key::Usage && is_object {
            self.keeping = Some((key, self.depth));
            self.value.clear();
        }
        // The top level is searched, and so are the objects of a top-level array.
        let parent_is_root_array = self.depth == 1 && !self.is_set(self.objects, 1);
        let is_searched = self.depth == 0 || parent_is_root_array || key == Key::Envelope;
        self.depth += 1;
        self.objects = self.set(self.objects, is_object);
        self.envelopes = self.set(self.envelopes, is_object && is_searched);
        self.expects_key = is_object;
        let is_root_array = self.depth == 1 && !is_object;
        let is_looked_into = is_root_array || (is_object && is_searched);
        if !is_looked_into {
            self.skip_to = Some(self.depth - 1);
            self.state = State::Skip;
        }
    }

    fn close(&mut self, last: &[u8], found: &mut dyn FnMut(Found<'_>)) {
        self.depth = self.depth.saturating_sub(1);
        self.expects_key = false;
        self.pending = Key::Other;
        if self.keeping == Some((Key::Usage, self.depth)) {
            self.take(last, |json| found(Found::Usage(json)));
        }
    }

    /// The first part of a key; the rest comes with the next chunk.
    fn begin_key(&mut self, text: &[u8]) {
        let room = (MAX_KEY_BYTES + 1).saturating_sub(self.key.len());
        self.key.extend_from_slice(&text[..text.len().min(room)]);
    }

    fn end_key(&mut self, text: &[u8]) {
        self.state = State::Between;
        self.expects_key = false;
        self.pending = Key::Other;
        if !self.is_set(self.envelopes, self.depth) {
            return;
        }
        if !self.key.is_empty() {
            self.begin_key(text);
        }
        let key = if self.key.is_empty() { text } else { &self.key };
        self.pending = match key {
            b"usage" | b"usageMetadata" => Key::Usage,
            b"model" | b"modelVersion" => Key::Model,
            b"message" | b"response" | b"x_groq" if self.depth == 1 => Key::Envelope,
            _ => Key::Other,
        };
    }

    fn end_text(&mut self, last: &[u8], found: &mut dyn FnMut(Found<'_>)) {
        self.state = match self.skip_to {
            Some(_) => State::Skip,
            None => State::Between,
        };
        if self.keeping == Some((Key::Model, self.depth)) {
            self.take(last, |value| {
                let Ok(name) = std::str::from_utf8(value) else {
                    return;
                };
                let name = name.trim_matches('"');
                if !name.contains('\\') && name.len() <= 200 {
                    found(Found::Model(name));
                }
            });
        }
    }

    /// Only the outermost 60 levels are told apart; nothing is looked for below them.
    fn set(&self, bits: u64, value: bool) -> u64 {
        if self.depth > 60 {
            return bits;
        }
        let mask = 1 << self.depth;
        if value { bits | mask } else { bits & !mask }
    }

    fn is_set(&self, bits: u64, depth: usize) -> bool {
        depth <= 60 && bits & (1 << depth) != 0
    }
}

/// Where a string ends, or its next escape begins.
fn string_end(text: &[u8]) -> Option<usize> {
    const NEAR: usize = 16;
    // Most keys and names are shorter than what it takes to start a search.
    for (number, word) in text.chunks_exact(8).take(NEAR / 8).enumerate() {
        let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
        let ends = zero_bytes(word ^ every_byte(b'"')) | zero_bytes(word ^ every_byte(b'\\'));
        if ends != 0 {
            return Some(number * 8 + ends.trailing_zeros() as usize / 8);
        }
    }
    let from = (text.len() / 8 * 8).min(NEAR);
    Some(from + memchr::memchr2(b'"', b'\\', text.get(from..)?)?)
}

const fn every_byte(byte: u8) -> u64 {
    0x0101_0101_0101_0101 * byte as u64
}

/// The highest bits of the bytes that are zero. Above the lowest of them there may be others.
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(every_byte(1)) & !word & every_byte(0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_ends_where_its_first_quote_or_escape_is() {
        for length in 0..40 {
            for end in 0..length {
                for stop in [b'"', b'\\'] {
                    // Neighbours of both in every byte, and others behind the first.
                    let mut text: Vec<u8> = (0..length)
                        .map(|at| [b'!', b'#', b'[', b']', 0xa2, 0xdc][at % 6])
                        .collect();
                    text[end] = stop;
                    text[length - 1] = b'"';
                    let expected = memchr::memchr2(b'"', b'\\', &text);
                    assert_eq!(string_end(&text), expected, "{text:?}");
                }
            }
            assert_eq!(string_end(&vec![b'x'; length]), None);
        }
    }
}
