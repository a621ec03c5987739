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
    /// In a string, after an odd number of backslashes if the flag is set.
    String { is_key: bool, escaped: bool },
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Sieve {
    state: State,
    /// Containers that are open.
    depth: usize,
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
    pub(super) fn feed(&mut self, mut bytes: &[u8], found: &mut dyn FnMut(Found<'_>)) {
        while let Some(&byte) = bytes.first() {
            match self.state {
                State::String {
                    is_key,
                    escaped: false,
                } => {
                    let end = memchr::memchr2(b'"', b'\\', bytes);
                    let text = &bytes[..end.unwrap_or(bytes.len())];
                    self.keep(text);
                    if is_key && self.key.len() <= MAX_KEY_BYTES {
                        let room = MAX_KEY_BYTES + 1 - self.key.len();
                        self.key.extend_from_slice(&text[..text.len().min(room)]);
                    }
                    bytes = &bytes[text.len()..];
                    if let Some(&stop) = bytes.first() {
                        bytes = &bytes[1..];
                        self.keep(&[stop]);
                        if stop == b'\\' {
                            self.state = State::String {
                                is_key,
                                escaped: true,
                            };
                            // Keys that count have no escapes.
                            self.key.resize(MAX_KEY_BYTES + 1, 0);
                        } else {
                            self.end_string(is_key, found);
                        }
                    }
                }
                State::String {
                    is_key,
                    escaped: true,
                } => {
                    self.keep(&[byte]);
                    self.state = State::String {
                        is_key,
                        escaped: false,
                    };
                    bytes = &bytes[1..];
                }
                State::Between => {
                    bytes = &bytes[1..];
                    self.between(byte, found);
                }
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.keeping.is_some() {
            if self.value.len() + bytes.len() > MAX_VALUE_BYTES {
                self.keeping = None;
                self.value = Vec::new();
            } else {
                self.value.extend_from_slice(bytes);
            }
        }
    }

    fn between(&mut self, byte: u8, found: &mut dyn FnMut(Found<'_>)) {
        match byte {
            b'"' => {
                let is_key = self.expects_key;
                if is_key {
                    self.key.clear();
                } else {
                    self.start_value();
                }
                self.keep(&[byte]);
                self.state = State::String {
                    is_key,
                    escaped: false,
                };
            }
            b'{' | b'[' => {
                let is_object = byte == b'{';
                let key = std::mem::take(&mut self.pending);
                if self.keeping.is_none() && key == Key::Usage && is_object {
                    self.keeping = Some((key, self.depth));
                    self.value.clear();
                }
                self.keep(&[byte]);
                // The top level is searched, and so are the objects of a top-level array.
                let parent_is_root_array = self.depth == 1 && !self.is_set(self.objects, 1);
                let is_searched = self.depth == 0 || parent_is_root_array || key == Key::Envelope;
                self.depth += 1;
                self.objects = self.set(self.objects, is_object);
                self.envelopes = self.set(self.envelopes, is_object && is_searched);
                self.expects_key = is_object;
            }
            b'}' | b']' => {
                self.keep(&[byte]);
                self.depth = self.depth.saturating_sub(1);
                self.expects_key = false;
                self.pending = Key::Other;
                if let Some((Key::Usage, depth)) = self.keeping
                    && depth == self.depth
                {
                    self.keeping = None;
                    found(Found::Usage(&self.value));
                }
            }
            b',' => {
                self.keep(&[byte]);
                self.pending = Key::Other;
                self.expects_key = self.is_set(self.objects, self.depth);
            }
            b':' => {
                self.keep(&[byte]);
                self.expects_key = false;
            }
            _ => self.keep(&[byte]),
        }
    }

    fn start_value(&mut self) {
        if std::mem::take(&mut self.pending) == Key::Model && self.keeping.is_none() {
            self.keeping = Some((Key::Model, self.depth));
            self.value.clear();
        }
    }

    fn end_string(&mut self, is_key: bool, found: &mut dyn FnMut(Found<'_>)) {
        self.state = State::Between;
        if is_key {
            self.expects_key = false;
            self.pending = if self.is_set(self.envelopes, self.depth) {
                match self.key.as_slice() {
                    b"usage" | b"usageMetadata" => Key::Usage,
                    b"model" | b"modelVersion" => Key::Model,
                    b"message" | b"response" | b"x_groq" if self.depth == 1 => Key::Envelope,
                    _ => Key::Other,
                }
            } else {
                Key::Other
            };
        } else if let Some((Key::Model, depth)) = self.keeping
            && depth == self.depth
        {
            self.keeping = None;
            if let Ok(name) = std::str::from_utf8(&self.value) {
                let name = name.trim_matches('"');
                if !name.contains('\\') && name.len() <= 200 {
                    found(Found::Model(name));
                }
            }
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
