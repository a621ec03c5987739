//! Code fences: three or more backticks or tildes at the start of a line, as in CommonMark, with
//! any indentation, also after quote and list markers.
//!
//! A fence that is never closed reaches to the end of the text.

#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark {
    character: char,
    len: usize,
}

/// What the current line has shown so far.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Seen {
    /// White space and markers.
    #[default]
    Nothing,
    /// A run of fence characters that still grows.
    Run(char, usize),
    /// A whole run, and after it only white space.
    RunThenSpace(char, usize),
    /// A whole run with words after it: an info string.
    RunThenWords(char, usize),
    /// Anything else.
    Other,
}

#[derive(Default)]
pub(super) struct Fences {
    open: Option<Mark>,
    seen: Seen,
}

impl Fences {
    pub(super) fn is_inside(&self) -> bool {
        self.open.is_some()
    }

    /// Whether this line looks like the opening of a fence.
    pub(super) fn opens_here(&self) -> bool {
        self.opening().is_some()
    }

    /// Whether the rest of the line can no longer open or close a fence.
    pub(super) fn is_settled(&self) -> bool {
        match self.seen {
            Seen::Other => true,
            // Words after a run inside a fence: no closing, and no opening either.
            Seen::RunThenWords(..) => self.is_inside(),
            _ => false,
        }
    }

    fn opening(&self) -> Option<Mark> {
        match self.seen {
            Seen::Run(character, len)
            | Seen::RunThenSpace(character, len)
            | Seen::RunThenWords(character, len)
                if len >= 3 =>
            {
                Some(Mark { character, len })
            }
            _ => None,
        }
    }

    pub(super) fn space(&mut self) {
        if let Seen::Run(character, len) = self.seen {
            self.seen = Seen::RunThenSpace(character, len);
        }
    }

    /// `in_gutter`: only markers come before it in the line. `starts_word`: white space or nothing
    /// comes right before it.
    pub(super) fn content(&mut self, character: char, in_gutter: bool, starts_word: bool) {
        let is_mark = matches!(character, '`' | '~');
        self.seen = match self.seen {
            Seen::Nothing if in_gutter && starts_word && is_mark => Seen::Run(character, 1),
            // Quote and list markers and numbers may precede a fence.
            Seen::Nothing if in_gutter && !is_mark && !character.is_alphabetic() => Seen::Nothing,
            Seen::Run(mark, len) if mark == character => Seen::Run(mark, len + 1),
            // Backticks after backticks are inline code.
            Seen::Run('`', _) | Seen::RunThenSpace('`', _) | Seen::RunThenWords('`', _)
                if character == '`' =>
            {
                Seen::Other
            }
            Seen::Run(mark, len)
            | Seen::RunThenSpace(mark, len)
            | Seen::RunThenWords(mark, len) => Seen::RunThenWords(mark, len),
            Seen::Nothing | Seen::Other => Seen::Other,
        };
    }

    pub(super) fn end_line(&mut self) {
        match self.open {
            None => self.open = self.opening(),
            Some(open) => {
                if let Seen::Run(character, len) | Seen::RunThenSpace(character, len) = self.seen
                    && character == open.character
                    && len >= open.len
                {
                    self.open = None;
                }
            }
        }
        self.seen = Seen::Nothing;
    }
}
