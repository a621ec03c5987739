//! Reads a script for calls of tools and the literals that they are given.

/// Stands in a text for what is known only when the script runs.
pub(super) const HOLE: &str = "${";

/// A value that a script spells out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    /// Texts only.
    List(Vec<String>),
    Object(Vec<(String, Literal)>),
    /// Anything else.
    Unknown,
}

/// Objects nested deeper than this are not read.
const MAX_DEPTH: usize = 8;
/// Names that are given a text, as `const cmd = "ls"`; more are forgotten.
const MAX_NAMES: usize = 64;

/// A place in a script.
pub(super) struct Reader<'s> {
    script: &'s str,
    at: usize,
    /// Texts that names were given.
    names: Vec<(&'s str, String)>,
}

impl<'s> Reader<'s> {
    pub(super) fn of(script: &'s str) -> Self {
        Self {
            script,
            at: 0,
            names: Vec::new(),
        }
    }

    /// Moves after the next `tools.NAME(` and returns the name; inner `None` at the end, outer `None` if a string
    /// does not end, so that code and text cannot be distinguished.
    #[expect(
        clippy::option_option,
        reason = "the outer one says that the script cannot be followed"
    )]
    pub(super) fn next_call(&mut self) -> Option<Option<String>> {
        loop {
            self.skip_blank()?;
            let Some(byte) = self.peek() else {
                return Some(None);
            };
            match byte {
                b'"' | b'\'' | b'`' => {
                    self.text()?;
                }
                byte if is_name(byte) => {
                    let follows_dot = self.script[..self.at].ends_with('.');
                    let word = self.word();
                    if word == "tools" && !follows_dot {
                        if let Some(tool) = self.tool()? {
                            return Some(Some(tool));
                        }
                    } else if matches!(word, "const" | "let" | "var") {
                        self.name_text()?;
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    /// Behind `tools`: the name of the tool, if it is called.
    #[expect(clippy::option_option, reason = "as in next_call")]
    fn tool(&mut self) -> Option<Option<String>> {
        self.skip_blank()?;
        let name = match self.peek() {
            Some(b'.') => {
                self.at += 1;
                self.skip_blank()?;
                self.word().to_owned()
            }
            Some(b'[') => {
                self.at += 1;
                self.skip_blank()?;
                if !matches!(self.peek(), Some(b'"' | b'\'' | b'`')) {
                    return Some(None);
                }
                let name = self.text()?;
                self.skip_blank()?;
                if !self.take(b']') {
                    return Some(None);
                }
                name
            }
            _ => return Some(None),
        };
        self.skip_blank()?;
        Some(self.take(b'(').then_some(name))
    }

    /// Behind `const`: remembers a name that is given a text.
    fn name_text(&mut self) -> Option<()> {
        self.skip_blank()?;
        let name = self.word();
        self.skip_blank()?;
        if name.is_empty() || !self.take(b'=') || self.peek() == Some(b'=') {
            return Some(());
        }
        self.skip_blank()?;
        if matches!(self.peek(), Some(b'"' | b'\'' | b'`'))
            && let Literal::Text(text) = self.value(0)
            && self.names.len() < MAX_NAMES
        {
            self.names.push((name, text));
        }
        Some(())
    }

    /// The argument of a call, after its bracket. Does not move: what is not understood may hold calls.
    pub(super) fn argument(&mut self) -> Literal {
        let start = self.at;
        let value = self.value(0);
        // Behind an argument comes the end of the call, or one that matters less.
        let is_whole = self.skip_blank().is_some() && matches!(self.peek(), Some(b')' | b','));
        if is_whole {
            return value;
        }
        self.at = start;
        Literal::Unknown
    }

    /// A value, and texts that are added to it.
    fn value(&mut self, depth: usize) -> Literal {
        let mut value = self.simple_value(depth);
        loop {
            let before = self.at;
            if self.skip_blank().is_none() || !self.take(b'+') {
                self.at = before;
                return value;
            }
            let next = self.simple_value(depth);
            value = match (value, next) {
                (Literal::Text(one), Literal::Text(other)) => Literal::Text(one + &other),
                (Literal::Text(one), Literal::Unknown) => Literal::Text(one + HOLE),
                _ => return Literal::Unknown,
            };
        }
    }

    fn simple_value(&mut self, depth: usize) -> Literal {
        if self.skip_blank().is_none() {
            return Literal::Unknown;
        }
        match self.peek() {
            Some(b'"' | b'\'' | b'`') => self.text().map_or(Literal::Unknown, Literal::Text),
            Some(b'{') if depth < MAX_DEPTH => self.object(depth).unwrap_or(Literal::Unknown),
            Some(b'[') if depth < MAX_DEPTH => self.list(depth).unwrap_or(Literal::Unknown),
            Some(byte) if is_name(byte) || byte == b'-' => {
                self.at += usize::from(byte == b'-');
                let word = self.word();
                self.at += usize::from(word.is_empty() && byte != b'-');
                self.dotted();
                let named = self.names.iter().rev().find(|(name, _)| *name == word);
                named.map_or(Literal::Unknown, |(_, text)| Literal::Text(text.clone()))
            }
            _ => Literal::Unknown,
        }
    }

    /// Behind a name or a number: `.5`, `.length`.
    fn dotted(&mut self) {
        while self.peek() == Some(b'.') {
            self.at += 1;
            self.word();
        }
    }

    fn object(&mut self, depth: usize) -> Option<Literal> {
        self.at += 1;
        let mut members = Vec::new();
        loop {
            self.skip_blank()?;
            if self.take(b'}') {
                return Some(Literal::Object(members));
            }
            let name = match self.peek()? {
                b'"' | b'\'' => self.text()?,
                byte if is_name(byte) => self.word().to_owned(),
                _ => return None,
            };
            self.skip_blank()?;
            let value = if self.take(b':') {
                self.value(depth + 1)
            } else {
                // `{cmd}` is `{cmd: cmd}`.
                let named = self.names.iter().rev().find(|(known, _)| *known == name);
                named.map_or(Literal::Unknown, |(_, text)| Literal::Text(text.clone()))
            };
            members.push((name, value));
            self.skip_blank()?;
            if !self.take(b',') && self.peek() != Some(b'}') {
                return None;
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<Literal> {
        self.at += 1;
        let mut texts = Vec::new();
        let mut all = true;
        loop {
            self.skip_blank()?;
            if self.take(b']') {
                break;
            }
            match self.value(depth + 1) {
                Literal::Text(text) => texts.push(text),
                _ => all = false,
            }
            self.skip_blank()?;
            if !self.take(b',') && self.peek() != Some(b']') {
                return None;
            }
        }
        Some(if all {
            Literal::List(texts)
        } else {
            Literal::Unknown
        })
    }

    /// A string; `None` if it does not end.
    fn text(&mut self) -> Option<String> {
        let quote = self.peek()?;
        let mut rest = self.script.get(self.at + 1..)?.char_indices().peekable();
        let mut text = String::new();
        while let Some((at, character)) = rest.next() {
            match character {
                '\\' => {
                    let (_, escaped) = rest.next()?;
                    unescape(escaped, &mut rest, &mut text);
                }
                '\n' if quote != b'`' => return None,
                '$' if quote == b'`' && rest.peek().is_some_and(|(_, next)| *next == '{') => {
                    text.push_str(HOLE);
                    let mut open = 0_usize;
                    for (_, inside) in rest.by_ref() {
                        match inside {
                            '{' => open += 1,
                            '}' if open == 1 => break,
                            '}' => open -= 1,
                            _ => {}
                        }
                    }
                    text.push('}');
                }
                other if other == char::from(quote) => {
                    self.at += 1 + at + 1;
                    return Some(text);
                }
                other => text.push(other),
            }
        }
        None
    }

    /// Blanks and remarks; `None` if a remark does not end.
    fn skip_blank(&mut self) -> Option<()> {
        loop {
            let rest = &self.script[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if let Some(remark) = trimmed.strip_prefix("/*") {
                self.at += 2 + remark.find("*/")? + 2;
            } else {
                return Some(());
            }
        }
    }

    fn word(&mut self) -> &'s str {
        let rest = &self.script[self.at..];
        let end = rest.bytes().position(|byte| !is_name(byte));
        let word = &rest[..end.unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    fn peek(&self) -> Option<u8> {
        self.script.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }
}

/// Letters, digits, `_`, `$`, and anything beyond ASCII.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

fn unescape(
    escaped: char,
    rest: &mut std::iter::Peekable<std::str::CharIndices<'_>>,
    text: &mut String,
) {
    match escaped {
        'n' => text.push('\n'),
        't' => text.push('\t'),
        'r' => text.push('\r'),
        'b' | 'f' | 'v' | '0' => text.push(' '),
        // A line that goes on.
        '\n' => {}
        'x' => push_code(2, rest, text),
        'u' => {
            if rest.next_if(|(_, next)| *next == '{').is_some() {
                push_code(6, rest, text);
                rest.next_if(|(_, next)| *next == '}');
            } else {
                push_code(4, rest, text);
            }
        }
        other => text.push(other),
    }
}

/// The character of up to so many hexadecimal digits.
fn push_code(
    most: usize,
    rest: &mut std::iter::Peekable<std::str::CharIndices<'_>>,
    text: &mut String,
) {
    let mut code = 0;
    for _ in 0..most {
        let Some((_, digit)) = rest.next_if(|(_, next)| next.is_ascii_hexdigit()) else {
            break;
        };
        code = code * 16 + digit.to_digit(16).unwrap_or(0);
    }
    text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
}
