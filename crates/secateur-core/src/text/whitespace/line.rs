//! How a line begins: what belongs to its gutter, and whether it is a line of a numbered listing.

/// More words than this are no gutter: `2026-01-02 10:00:00 | code`.
const MAX_GUTTER_WORDS: usize = 3;

/// The word that is being read.
#[derive(Clone, Copy, Default)]
struct Word {
    has_begun: bool,
    starts_with_digit: bool,
    starts_with_bracket: bool,
    is_all_digits: bool,
    has_letter_or_digit: bool,
    has_dot_or_slash: bool,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Line {
    /// A line of a numbered listing: `12→`, `12|`, `12:`, `12<tab>`, `12 |`.
    pub(super) is_verbatim: bool,
    word: Word,
    words: usize,
    /// A word comes before this one that belongs to no gutter.
    pub(super) has_left_gutter: bool,
    was_number: bool,
    last: Option<char>,
    before_last: Option<char>,
}

impl Line {
    /// Nothing but white space so far.
    pub(super) fn is_at_start(&self) -> bool {
        self.words == 0 && !self.word.has_begun
    }

    /// Nothing but white space and gutter words so far, the word being read included.
    pub(super) fn is_in_gutter(&self) -> bool {
        !self.has_left_gutter && (!self.word.has_letter_or_digit || self.word.starts_with_digit)
    }

    /// The next character begins a word.
    pub(super) fn is_between_words(&self) -> bool {
        !self.word.has_begun
    }

    /// Whether this was its last character that is no white space.
    pub(super) fn ends_with(&self, character: char) -> bool {
        self.last == Some(character)
    }

    /// Nothing but one number so far.
    pub(super) fn is_bare_number(&self) -> bool {
        self.words == 0 && self.word.is_all_digits
    }

    pub(super) fn content(&mut self, character: char) {
        let word = &mut self.word;
        let is_separator = matches!(character, '→' | '|' | '│' | ':');
        if !word.has_begun {
            // `12 |` as compilers print it.
            self.is_verbatim |= self.words == 1 && self.was_number && is_separator;
            word.has_begun = true;
            word.is_all_digits = character.is_ascii_digit();
            word.starts_with_digit = word.is_all_digits;
            word.starts_with_bracket = character == '[';
        } else if !character.is_ascii_digit() {
            self.is_verbatim |= self.words == 0 && word.is_all_digits && is_separator;
            word.is_all_digits = false;
        }
        word.has_letter_or_digit |= character.is_alphanumeric();
        word.has_dot_or_slash |= matches!(character, '.' | '/');
        self.before_last = self.last.replace(character);
    }

    /// More characters of a word after the gutter.
    pub(super) fn skip(&mut self, skipped: &str) {
        for character in skipped
            .get(skipped.len().saturating_sub(8)..)
            .unwrap_or(skipped)
            .chars()
        {
            self.before_last = self.last.replace(character);
        }
    }

    /// White space inside the line, with something after it. Returns whether it stays.
    pub(super) fn space(&mut self, has_tab: bool) -> bool {
        if self.is_at_start() {
            return true;
        }
        let word = std::mem::take(&mut self.word);
        self.is_verbatim |= self.words == 0 && word.is_all_digits && has_tab;
        self.was_number = word.is_all_digits;
        self.words += 1;
        let is_gutter = word.starts_with_digit
            || !word.has_letter_or_digit
            || (word.starts_with_bracket && self.last == Some(']'))
            || (word.has_dot_or_slash && self.last == Some(':'));
        if self.words > MAX_GUTTER_WORDS || !is_gutter {
            self.has_left_gutter = true;
        }
        !self.has_left_gutter || self.is_after_number()
    }

    /// Behind `12:`, `12)`, `12|`, `12-`, wherever in the line: matches and blame lists have code there.
    fn is_after_number(&self) -> bool {
        matches!(self.last, Some(':' | ')' | '|' | '-' | '→'))
            && self
                .before_last
                .is_some_and(|before| before.is_ascii_digit())
    }
}
