//! A line of a shell, taken apart: words, quotes, pipes and lists.

use std::iter::Peekable;
use std::str::Chars;

use super::is_number;

/// Longer lines are judged by their beginning: a file that is written may be long.
const MAX_BYTES: usize = 2000;

/// A word of a line, or the sign that what follows is written to.
#[derive(Debug, Default)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) is_redirect: bool,
}

impl Word {
    pub(super) fn plain(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            is_redirect: false,
        }
    }

    fn redirect() -> Self {
        Self {
            text: String::new(),
            is_redirect: true,
        }
    }
}

/// A program and its arguments.
pub(super) type Program = Vec<Word>;
/// Programs joined by `|`.
pub(super) type Pipe = Vec<Program>;

/// The pipes of a line: each ends at `;`, `&`, `&&`, `||` or a line's end.
pub(super) fn pipes(line: &str) -> Vec<Pipe> {
    let end = line.floor_char_boundary(MAX_BYTES);
    let reader = Reader {
        rest: line[..end].chars().peekable(),
        pipes: Vec::new(),
        pipe: Pipe::new(),
        program: Program::new(),
        word: None,
    };
    reader.read()
}

/// What is still to be read, and what was read of each thing that has not ended.
struct Reader<'l> {
    rest: Peekable<Chars<'l>>,
    pipes: Vec<Pipe>,
    pipe: Pipe,
    program: Program,
    /// `Some("")` is a word too: `''`.
    word: Option<String>,
}

impl Reader<'_> {
    fn read(mut self) -> Vec<Pipe> {
        while let Some(character) = self.rest.next() {
            match character {
                '\'' => self.literal(),
                '"' => self.quoted(),
                '\\' => self.escaped(),
                '>' => self.output(),
                '<' if self.rest.peek() == Some(&'<') => {
                    self.here_document();
                    break;
                }
                '|' if self.rest.next_if_eq(&'|').is_none() => self.end_program(),
                ';' | '&' | '\n' | '|' => {
                    self.end_pipe();
                    self.skip(|c| c == '&');
                }
                ' ' | '\t' | '\r' => self.end_word(),
                // A remark goes to the end of its line, which ends the pipe before it.
                '#' if self.word.is_none() => self.skip(|c| c != '\n'),
                other => self.word().push(other),
            }
        }
        self.end_pipe();
        self.pipes
    }

    /// After a `'`: taken literally.
    fn literal(&mut self) {
        let word = self.word.get_or_insert_default();
        word.extend(self.rest.by_ref().take_while(|&c| c != '\''));
    }

    /// Behind a `"`: a backslash is not part of the word, what follows it is.
    fn quoted(&mut self) {
        let word = self.word.get_or_insert_default();
        while let Some(c) = self.rest.next().filter(|&c| c != '"') {
            let escaped = (c == '\\').then(|| self.rest.next()).flatten();
            word.push(escaped.unwrap_or(c));
        }
    }

    /// Behind a backslash: before a line's end it joins the lines.
    fn escaped(&mut self) {
        if let Some(escaped) = self.rest.next().filter(|&c| c != '\n') {
            self.word().push(escaped);
        }
    }

    /// Behind a `>`.
    fn output(&mut self) {
        let is_numbered = self.word.as_deref().is_some_and(is_number);
        let merges = self.rest.next_if_eq(&'&').is_some();
        self.skip(|c| c == '>');
        if is_numbered {
            self.word = None;
        }
        self.end_word();
        // `2>&1` and `2>file` do not change what is shown.
        if is_numbered || merges {
            self.skip(|c| c == ' ');
            self.skip(|c| !" ;|&\n".contains(c));
        } else if !self.is_void() {
            self.program.push(Word::redirect());
        }
    }

    /// Whether what follows a `>` throws the output away; then it is taken.
    fn is_void(&mut self) -> bool {
        let mut ahead = self.rest.clone();
        while ahead.next_if_eq(&' ').is_some() {}
        let is_void = ahead.by_ref().take(9).eq("/dev/null".chars());
        if is_void {
            self.rest = ahead;
        }
        is_void
    }

    /// Behind the first `<` of two: what follows the line is a file's content, and not of interest.
    fn here_document(&mut self) {
        self.end_word();
        let head: String = self.rest.by_ref().take_while(|&c| c != '\n').collect();
        if let Some((_, file)) = head.split_once('>') {
            let file = file.trim_matches(['>', ' ', '"', '\'']);
            self.program.extend([Word::redirect(), Word::plain(file)]);
        }
    }

    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        while self.rest.next_if(|&c| is_skipped(c)).is_some() {}
    }

    /// The word that is being read, or a new one.
    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    fn end_word(&mut self) {
        let word = self.word.take();
        self.program.extend(word.map(|text| Word::plain(&text)));
    }

    fn end_program(&mut self) {
        self.end_word();
        self.pipe.push(std::mem::take(&mut self.program));
    }

    fn end_pipe(&mut self) {
        self.end_program();
        self.pipes.push(std::mem::take(&mut self.pipe));
    }
}
