//! Which white space of a text is loose: it could go and the text would say the same.
//!
//! One pass over the decoded characters, nothing copied. Loose are
//! - the second and later spaces of a run inside a line,
//! - the third and later newlines of a run (lines of white space count as empty),
//! - white space at the end of a line.
//!
//! **Invariant:** white space that carries structure is never loose: the start of a line; the space
//! after a gutter (diff and list markers, line numbers, time stamps, `path:12:`), because what
//! follows it is the code's own indentation; runs with a tab, which are columns; and everything
//! inside code fences, JSON values and numbered listings.

mod fence;
mod json_text;
mod line;

use std::ops::Range;

use secateur_json::DecodedChars;

use fence::Fences;
use json_text::{JsonValue, WholeText};
use line::Line;

/// Takes what the scan finds. A rollback forgets everything since a mark.
pub(crate) trait Sink {
    type Mark: Copy;
    /// These decoded bytes, all of them one-byte characters, are loose.
    fn loose(&mut self, bytes: Range<usize>);
    /// So many characters are redundant and stay: the second and later tabs of a run.
    fn redundant(&mut self, chars: usize);
    fn mark(&self) -> Self::Mark;
    fn rollback(&mut self, mark: Self::Mark);
}

/// Counts redundant characters.
#[derive(Debug, Default)]
pub(crate) struct Count {
    pub(crate) chars: usize,
}

impl Sink for Count {
    type Mark = usize;

    fn loose(&mut self, bytes: Range<usize>) {
        self.chars += bytes.len();
    }

    fn redundant(&mut self, chars: usize) {
        self.chars += chars;
    }

    fn mark(&self) -> usize {
        self.chars
    }

    fn rollback(&mut self, mark: usize) {
        self.chars = mark;
    }
}

/// Collects what is loose, in order.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    pub(crate) found: Vec<Range<usize>>,
}

impl Sink for Ranges {
    type Mark = usize;

    fn loose(&mut self, bytes: Range<usize>) {
        self.found.push(bytes);
    }

    fn redundant(&mut self, _: usize) {}

    fn mark(&self) -> usize {
        self.found.len()
    }

    fn rollback(&mut self, mark: usize) {
        self.found.truncate(mark);
    }
}

/// What may follow a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// Nothing: white space at its end is trailing.
    Nothing,
    /// Another part of the turn: white space at its end may part two words.
    AnotherPart,
}

/// Finds the loose white space of a text. Returns how many bytes the decoded text has.
pub(crate) fn scan<S: Sink>(text: DecodedChars<'_>, behind: Behind, sink: &mut S) -> usize {
    Scan {
        sink,
        line: Line::default(),
        fences: Fences::default(),
        json: None,
        whole: WholeText::default(),
        space: Space::default(),
        newlines: 0,
    }
    .run(text, behind)
}

/// A run of spaces and tabs.
#[derive(Clone, Copy, Default)]
struct Space {
    start: usize,
    len: usize,
    has_tab: bool,
    /// The second and later tabs of tab runs.
    extra_tabs: usize,
    ends_with_tab: bool,
}

impl Space {
    fn push(&mut self, at: usize, is_tab: bool) {
        if self.len == 0 {
            self.start = at;
        }
        self.len += 1;
        self.extra_tabs += usize::from(is_tab && self.ends_with_tab);
        self.has_tab |= is_tab;
        self.ends_with_tab = is_tab;
    }
}

struct Scan<'k, S: Sink> {
    sink: &'k mut S,
    line: Line,
    fences: Fences,
    /// A JSON value that began at the start of a line and is not over.
    json: Option<(JsonValue, S::Mark)>,
    whole: WholeText,
    space: Space,
    /// Newlines since the last character that is not white space.
    newlines: usize,
}

impl<S: Sink> Scan<'_, S> {
    fn run(mut self, mut text: DecodedChars<'_>, behind: Behind) -> usize {
        let start = self.sink.mark();
        let mut at = 0;
        loop {
            at += self.skip(&mut text);
            let Some(character) = text.next() else {
                break;
            };
            match character {
                ' ' | '\t' => {
                    self.space.push(at, character == '\t');
                    self.fences.space();
                    self.feed_json(character);
                }
                '\n' => self.newline(at, 1),
                '\r' if text.clone().next() == Some('\n') => {
                    text.next();
                    self.newline(at, 2);
                    at += 1;
                }
                _ => self.content(character),
            }
            at += character.len_utf8();
        }
        if behind == Behind::Nothing && !self.is_verbatim() {
            self.trailing();
        }
        if self.whole.is_json() {
            self.sink.rollback(start);
        }
        at
    }

    /// Skips what cannot change anything: the rest of a verbatim line, or the rest of a word
    /// after the gutter. Returns how many bytes.
    fn skip(&mut self, text: &mut DecodedChars<'_>) -> usize {
        if self.json.is_some() || !self.whole.is_other || !self.fences.is_settled() {
            return 0;
        }
        if self.line.is_verbatim || self.fences.is_inside() {
            let skipped = text.skip_to_escape();
            if !skipped.is_empty() {
                self.space = Space::default();
                self.newlines = 0;
            }
            return skipped.len();
        }
        if self.line.has_left_gutter && !self.line.is_between_words() && self.space.len == 0 {
            let skipped = text.skip_to_space();
            self.line.skip(skipped);
            return skipped.len();
        }
        0
    }

    fn is_verbatim(&self) -> bool {
        self.line.is_verbatim || self.fences.is_inside() || self.fences.opens_here()
    }

    fn trailing(&mut self) {
        // An empty line of a listing: a number and a tab.
        let is_listed = self.space.has_tab && self.line.is_bare_number();
        // A lone carriage return must not end up right before the newline.
        if self.space.len > 0 && !is_listed && !self.line.ends_with('\r') {
            let Space { start, len, .. } = self.space;
            self.sink.loose(start..start + len);
        }
    }

    fn newline(&mut self, at: usize, length: usize) {
        self.feed_json('\n');
        self.whole.feed('\n');
        let was_verbatim = self.is_verbatim();
        self.fences.end_line();
        if !was_verbatim {
            self.trailing();
        }
        self.space = Space::default();
        self.line = Line::default();
        if self.fences.is_inside() {
            self.newlines = 0;
            return;
        }
        self.newlines += 1;
        if self.newlines > 2 {
            self.sink.loose(at..at + length);
        }
    }

    fn content(&mut self, character: char) {
        if self.space.len > 0 {
            self.inner_space();
        }
        self.newlines = 0;
        if self.json.is_none()
            && matches!(character, '{' | '[')
            && self.line.is_at_start()
            && !self.is_verbatim()
        {
            self.json = Some((JsonValue::default(), self.sink.mark()));
        }
        self.feed_json(character);
        self.whole.feed(character);
        let (in_gutter, starts_word) = (self.line.is_in_gutter(), self.line.is_between_words());
        self.fences.content(character, in_gutter, starts_word);
        self.line.content(character);
    }

    /// White space that turned out to have something after it in its line.
    fn inner_space(&mut self) {
        let space = std::mem::take(&mut self.space);
        let stays = self.line.space(space.has_tab);
        if stays || self.is_verbatim() {
            return;
        }
        if space.has_tab {
            self.sink.redundant(space.extra_tabs);
        } else if space.len > 1 {
            self.sink.loose(space.start + 1..space.start + space.len);
        }
    }

    fn feed_json(&mut self, character: char) {
        let Some((value, mark)) = &mut self.json else {
            return;
        };
        match value.feed(character) {
            json_text::Step::Goes => {}
            json_text::Step::Closes => {
                self.sink.rollback(*mark);
                self.json = None;
            }
            json_text::Step::IsNone => self.json = None,
        }
    }
}

#[cfg(test)]
mod tests;
