//! JSON inside texts: a value that begins a line, and a text that is JSON as a whole.

/// What a character means for a value.
pub(super) enum Step {
    /// It goes on.
    Goes,
    /// It is complete.
    Closes,
    /// It is no JSON.
    IsNone,
}

/// A string literal and its escapes.
#[derive(Clone, Copy, Default)]
struct Quotes {
    is_open: bool,
    is_escaped: bool,
}

impl Quotes {
    /// Whether the character belongs to a string literal, its quotes included.
    fn feed(&mut self, character: char) -> bool {
        match character {
            _ if self.is_escaped => self.is_escaped = false,
            '\\' if self.is_open => self.is_escaped = true,
            '"' => {
                self.is_open = !self.is_open;
                return true;
            }
            _ => {}
        }
        self.is_open
    }
}

/// An object or array, followed by its lexical grammar: outside strings only what JSON can hold.
#[derive(Clone, Copy, Default)]
pub(super) struct JsonValue {
    depth: usize,
    quotes: Quotes,
}

impl JsonValue {
    pub(super) fn feed(&mut self, character: char) -> Step {
        if self.quotes.feed(character) {
            return if character == '\n' {
                Step::IsNone
            } else {
                Step::Goes
            };
        }
        match character {
            '{' | '[' => self.depth += 1,
            '}' | ']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    return Step::Closes;
                }
            }
            ',' | ':' | ' ' | '\t' | '\n' | '\r' | '0'..='9' | '+' | '-' | '.' | 'E' => {}
            // The letters of `true`, `false`, `null` and of an exponent.
            't' | 'r' | 'u' | 'e' | 'f' | 'a' | 'l' | 's' | 'n' => {}
            _ => return Step::IsNone,
        }
        Step::Goes
    }
}

/// Whether the whole text is JSON or looks like it: it starts with a bracket, brackets are balanced,
/// and between values there are only commas and white space (so that a list of lines counts too).
#[derive(Clone, Copy, Default)]
pub(super) struct WholeText {
    depth: usize,
    quotes: Quotes,
    has_begun: bool,
    /// It is not JSON, whatever follows.
    pub(super) is_other: bool,
}

impl WholeText {
    pub(super) fn feed(&mut self, character: char) {
        if self.is_other {
            return;
        }
        if self.depth > 0 && self.quotes.feed(character) {
            return;
        }
        match character {
            '{' | '[' => {
                self.depth += 1;
                self.has_begun = true;
            }
            '}' | ']' if self.depth > 0 => self.depth -= 1,
            '\n' => {}
            ',' if self.has_begun => {}
            _ => self.is_other = self.depth == 0,
        }
    }

    pub(super) fn is_json(self) -> bool {
        self.has_begun && !self.is_other && self.depth == 0 && !self.quotes.is_open
    }
}
