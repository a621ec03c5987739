//! The scanner: one pass, no tree, strict grammar.

use super::Span;
use super::error::{JsonError, JsonProblem};
use super::limits::{Limits, MAX_DEPTH, bit, set_bit};
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
use super::literal::closing_quote;
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
pub(super) use super::literal::closing_quote_of_compact;
use super::strings::{count_chars, next_special, skip_space};
use super::text::{Excess, JsonStr};

/// What kind of value starts here, by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{`
    Object,
    /// `[`
    Array,
    /// `"`
    String,
    /// A digit or `-`.
    Number,
    /// `t` or `f`.
    Bool,
    /// `n`.
    Null,
}

/// A place in a body that is known to be valid UTF-8.
#[derive(Debug)]
pub struct Cursor<'a> {
    body: &'a str,
    at: usize,
    depth: usize,
    max_depth: usize,
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte of `body`.
    ///
    /// # Errors
    /// A body that is too large, empty, marked with a BOM, or not UTF-8.
    pub fn new(body: &'a [u8], limits: &Limits) -> Result<Self, JsonError> {
        let fail = |problem, at| Err(JsonError { problem, at });
        let max_bytes = limits.max_bytes.min(u32::MAX as usize - 1);
        if body.len() > max_bytes {
            return fail(JsonProblem::TooLarge(max_bytes), max_bytes);
        }
        if body.starts_with(b"\xef\xbb\xbf") {
            return fail(JsonProblem::ByteOrderMark, 0);
        }
        let Ok(body) = simdutf8::basic::from_utf8(body) else {
            // The slower check is asked only to find the place.
            let at = simdutf8::compat::from_utf8(body)
                .err()
                .map_or(0, |error| error.valid_up_to());
            return fail(JsonProblem::InvalidUtf8, at);
        };
        Ok(Self::over(body, limits.max_depth))
    }

    /// Starts at the first byte of a text that is already known to be UTF-8.
    #[must_use]
    pub fn over(body: &'a str, max_depth: usize) -> Self {
        Self {
            body,
            at: 0,
            depth: 0,
            max_depth: max_depth.min(MAX_DEPTH),
        }
    }

    /// Another cursor at the same position, to read ahead.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self { ..*self }
    }

    /// The whole body.
    #[must_use]
    pub fn body(&self) -> &'a str {
        self.body
    }

    /// Byte offset of the next byte to be read.
    #[must_use]
    pub fn at(&self) -> u32 {
        offset(self.at)
    }

    fn error(&self, problem: JsonProblem) -> JsonError {
        let problem = match problem {
            // Whatever was expected, a body that is over was cut off.
            _ if self.at >= self.body.len() && self.body.trim_ascii().is_empty() => {
                JsonProblem::Empty
            }
            _ if self.at >= self.body.len() => JsonProblem::UnexpectedEnd,
            other => other,
        };
        JsonError {
            problem,
            at: self.at,
        }
    }

    #[inline(always)]
    fn byte(&self) -> Option<u8> {
        self.body.as_bytes().get(self.at).copied()
    }

    #[inline(always)]
    fn space(&mut self) {
        self.at = skip_space(self.body.as_bytes(), self.at);
    }

    /// The kind of the next value; the cursor is then at its first byte.
    ///
    /// # Errors
    /// No value starts here.
    pub fn peek(&mut self) -> Result<Kind, JsonError> {
        self.space();
        match self.byte() {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            _ => Err(self.error(JsonProblem::NotAValue)),
        }
    }

    /// Checks that nothing but white space is left.
    ///
    /// # Errors
    /// Trailing bytes.
    pub fn finish(mut self) -> Result<(), JsonError> {
        self.space();
        if self.at < self.body.len() {
            return Err(self.error(JsonProblem::TrailingBytes));
        }
        Ok(())
    }

    /// Reads an object; `each` gets every key and must read exactly that key's value.
    ///
    /// # Errors
    /// Not an object, malformed, too deep, or whatever `each` returns.
    pub fn object<E: From<JsonError>>(
        &mut self,
        mut each: impl FnMut(&mut Self, JsonStr) -> Result<(), E>,
    ) -> Result<Span, E> {
        self.space();
        let start = self.at();
        self.open(b'{', "an object")?;
        self.space();
        if self.byte() != Some(b'}') {
            loop {
                self.space();
                let key = self.string()?;
                self.colon()?;
                each(self, key)?;
                if !self.comma(b'}', "`,` or `}`")? {
                    break;
                }
            }
        }
        self.at += 1;
        self.depth -= 1;
        Ok(Span::new(start, self.at()))
    }

    /// Reads an array; `each` gets every index and must read exactly that element.
    ///
    /// # Errors
    /// Not an array, malformed, too deep, or whatever `each` returns.
    pub fn array<E: From<JsonError>>(
        &mut self,
        mut each: impl FnMut(&mut Self, usize) -> Result<(), E>,
    ) -> Result<Span, E> {
        self.space();
        let start = self.at();
        self.open(b'[', "an array")?;
        self.space();
        if self.byte() != Some(b']') {
            let mut index = 0;
            loop {
                self.space();
                each(self, index)?;
                index += 1;
                if !self.comma(b']', "`,` or `]`")? {
                    break;
                }
            }
        }
        self.at += 1;
        self.depth -= 1;
        Ok(Span::new(start, self.at()))
    }

    fn open(&mut self, bracket: u8, what: &'static str) -> Result<(), JsonError> {
        if self.byte() != Some(bracket) {
            // A body that is no JSON at all gets that said, not a complaint about its shape.
            self.peek()?;
            return Err(self.error(JsonProblem::Expected(what)));
        }
        if self.depth >= self.max_depth {
            return Err(self.error(JsonProblem::TooDeep(self.max_depth)));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn colon(&mut self) -> Result<(), JsonError> {
        self.space();
        if self.byte() != Some(b':') {
            return Err(self.error(JsonProblem::Expected("`:`")));
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    /// True after a comma; false on the closing bracket, which is left to the caller.
    fn comma(&mut self, close: u8, what: &'static str) -> Result<bool, JsonError> {
        self.space();
        match self.byte() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == close => Ok(false),
            _ => Err(self.error(JsonProblem::Expected(what))),
        }
    }

    /// Reads a string literal.
    ///
    /// # Errors
    /// Not a string, or malformed.
    #[inline]
    pub fn string(&mut self) -> Result<JsonStr, JsonError> {
        self.space();
        if self.byte() != Some(b'"') {
            return Err(self.error(JsonProblem::Expected("a string")));
        }
        self.at += 1;
        let start = self.at();
        let bytes = self.body.as_bytes();
        let (end, excess) = match closing_quote(bytes, self.at) {
            Some(found) => found,
            None => self.string_byte_by_byte()?,
        };
        self.at = end + 1;
        Ok(JsonStr::new(Span::new(start, offset(end)), excess))
    }

    /// The slow way through a literal, which finds out what is wrong with it and where.
    #[cold]
    fn string_byte_by_byte(&mut self) -> Result<(usize, Excess), JsonError> {
        let bytes = self.body.as_bytes();
        let start = self.at;
        let mut excess = Excess::default();
        loop {
            self.at = next_special(bytes, self.at);
            match bytes.get(self.at) {
                Some(b'"') => {
                    let raw = &bytes[start..self.at];
                    excess.chars += offset(raw.len() - count_chars(raw));
                    return Ok((self.at, excess));
                }
                Some(b'\\') => self.escape(&mut excess)?,
                Some(_) => return Err(self.error(JsonProblem::ControlCharacter)),
                None => return Err(self.error(JsonProblem::UnexpectedEnd)),
            }
        }
    }

    /// Steps over one escape; counts what it has beyond the decoded character.
    ///
    /// A surrogate pair is one escape. A lone surrogate is accepted (JSON's grammar allows it and
    /// the bytes are passed on as they are) and decodes to U+FFFD.
    fn escape(&mut self, excess: &mut Excess) -> Result<(), JsonError> {
        let bytes = self.body.as_bytes();
        match bytes.get(self.at + 1) {
            Some(kind @ (b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')) => {
                self.at += 2;
                excess.has_others |= matches!(kind, b'/' | b'b' | b'f' | b'r');
                excess.chars += 1;
                excess.bytes += 1;
                Ok(())
            }
            Some(b'u') => {
                excess.has_others = true;
                let first = self.hex(self.at + 2)?;
                self.at += 6;
                if (0xd800..0xdc00).contains(&first)
                    && bytes.get(self.at..self.at + 2) == Some(b"\\u")
                {
                    let second = self.hex(self.at + 2)?;
                    if (0xdc00..0xe000).contains(&second) {
                        self.at += 6;
                        excess.chars += 11;
                        excess.bytes += 8;
                        return Ok(());
                    }
                }
                excess.chars += 5;
                excess.bytes += match first {
                    0..0x80 => 5,
                    0x80..0x800 => 4,
                    _ => 3,
                };
                Ok(())
            }
            _ => Err(self.error(JsonProblem::BadEscape)),
        }
    }

    fn hex(&self, at: usize) -> Result<u32, JsonError> {
        super::unescape::hex4(self.body.as_bytes(), at).ok_or_else(|| {
            if at + 4 > self.body.len() {
                JsonError {
                    problem: JsonProblem::UnexpectedEnd,
                    at: self.body.len(),
                }
            } else {
                self.error(JsonProblem::BadEscape)
            }
        })
    }

    /// Steps over the next value, whatever it is, checking its grammar.
    ///
    /// # Errors
    /// Malformed or too deep.
    pub fn skip(&mut self) -> Result<Span, JsonError> {
        self.space();
        let start = self.at();
        let base = self.depth;
        // One bit for each open container: set for an object.
        let mut objects = [0u64; MAX_DEPTH / 64];
        'value: loop {
            match self.peek()? {
                Kind::Object => {
                    self.open(b'{', "an object")?;
                    self.space();
                    if self.byte() != Some(b'}') {
                        set_bit(&mut objects, self.depth, true);
                        self.string()?;
                        self.colon()?;
                        continue 'value;
                    }
                    self.at += 1;
                    self.depth -= 1;
                }
                Kind::Array => {
                    self.open(b'[', "an array")?;
                    self.space();
                    if self.byte() != Some(b']') {
                        set_bit(&mut objects, self.depth, false);
                        continue 'value;
                    }
                    self.at += 1;
                    self.depth -= 1;
                }
                Kind::String => {
                    self.string()?;
                }
                Kind::Number => self.number()?,
                Kind::Bool | Kind::Null => self.word()?,
            }
            while self.depth > base {
                let in_object = bit(&objects, self.depth);
                let (close, what) = if in_object {
                    (b'}', "`,` or `}`")
                } else {
                    (b']', "`,` or `]`")
                };
                if self.comma(close, what)? {
                    if in_object {
                        self.space();
                        self.string()?;
                        self.colon()?;
                    }
                    continue 'value;
                }
                self.at += 1;
                self.depth -= 1;
            }
            return Ok(Span::new(start, self.at()));
        }
    }

    fn word(&mut self) -> Result<(), JsonError> {
        for word in ["true", "false", "null"] {
            if self.body.as_bytes()[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(());
            }
        }
        Err(self.error(JsonProblem::NotAValue))
    }

    fn number(&mut self) -> Result<(), JsonError> {
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        match self.byte() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.error(JsonProblem::BadNumber)),
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.some_digits()?;
        }
        // `01` and `1x` must not pass as a number followed by something else.
        match self.byte() {
            Some(b'0'..=b'9' | b'.' | b'+' | b'-' | b'a'..=b'z' | b'A'..=b'Z') => {
                Err(self.error(JsonProblem::BadNumber))
            }
            _ => Ok(()),
        }
    }

    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Result<(), JsonError> {
        let before = self.at;
        self.digits();
        if self.at == before {
            return Err(self.error(JsonProblem::BadNumber));
        }
        Ok(())
    }

    /// Reads a boolean; anything else is stepped over and gives `None`.
    ///
    /// # Errors
    /// Malformed JSON.
    pub fn bool(&mut self) -> Result<Option<bool>, JsonError> {
        let span = self.skip()?;
        Ok(match span.of(self.body) {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        })
    }

    /// Reads a string; anything else is stepped over and gives `None`.
    ///
    /// # Errors
    /// Malformed JSON.
    pub fn string_or_skip(&mut self) -> Result<Option<JsonStr>, JsonError> {
        if self.peek()? == Kind::String {
            return self.string().map(Some);
        }
        self.skip()?;
        Ok(None)
    }
}

/// Machines without windows of bits walk every literal byte by byte.
#[cfg(not(all(target_arch = "x86_64", not(feature = "portable"))))]
fn closing_quote(_: &[u8], _: usize) -> Option<(usize, Excess)> {
    None
}

#[cfg(not(all(target_arch = "x86_64", not(feature = "portable"))))]
pub(super) fn closing_quote_of_compact(_: &[u8], _: usize) -> Option<(usize, Excess)> {
    None
}

/// Offsets fit 32 bits because `Cursor::new` bounds the body.
#[inline(always)]
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
