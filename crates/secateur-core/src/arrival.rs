//! Shortening a result the first time it is seen, before any cache holds it.
//!
//! The strategies that work on arrival form a chain over one text, line by line. What they do is a
//! selection of the text's own bytes plus notes, so it becomes one rewrite of the part.
//!
//! **Invariant:** what is decided for a part depends on it and on what came before it, never on what
//! comes later. So the decision is the same in every later request.

use std::borrow::Cow;
use std::ops::Range;

use crate::edit::{Piece, StrategyId, Why};
use crate::scene::Scene;
use crate::view::PartId;

/// A strategy's memory of what has arrived so far.
pub trait Arrivals {
    /// Looks at a result that has just arrived; may shorten its text.
    fn result(&mut self, scene: &Scene<'_, '_>, part: PartId, text: &mut ArrivalText<'_>);

    /// Looks at a call that has just arrived.
    fn call(&mut self, _scene: &Scene<'_, '_>, _part: PartId) {}

    /// The part's text is not there any more.
    fn forget(&mut self, _part: PartId) {}
}

/// One line of an arriving text, as it will be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Words of our own before it.
    pub before: Option<Cow<'static, str>>,
    /// What is kept of it, its newline included.
    pub keep: Range<usize>,
    /// Words of our own behind it.
    pub after: Option<Cow<'static, str>>,
}

/// A text on its way through the chain.
#[derive(Debug)]
pub struct ArrivalText<'t> {
    text: &'t str,
    lines: Vec<Line>,
    whole: Option<Vec<Piece>>,
    chars: usize,
    /// Who saved how many characters, and why.
    savings: Vec<(StrategyId, Why, usize)>,
    /// Parts that notes in this text point to.
    cites: Vec<PartId>,
}

impl<'t> ArrivalText<'t> {
    pub(crate) fn new(text: &'t str, chars: usize) -> Self {
        let mut lines = Vec::new();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', text.as_bytes())
            .map(|at| at + 1)
            .chain([text.len()])
        {
            if start < end {
                lines.push(Line {
                    before: None,
                    keep: start..end,
                    after: None,
                });
            }
            start = end;
        }
        Self {
            text,
            lines,
            whole: None,
            chars,
            savings: Vec::new(),
            cites: Vec::new(),
        }
    }

    /// The text as it came in.
    #[must_use]
    pub fn original(&self) -> &'t str {
        self.text
    }

    /// Characters of the text as it will be sent.
    #[must_use]
    pub fn chars(&self) -> usize {
        self.chars
    }

    /// Whether the text was replaced as a whole, so that it has no lines any more.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        self.whole.is_some()
    }

    /// The lines as they will be sent.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// What is kept of a line, without its newline.
    #[must_use]
    pub fn line(&self, at: usize) -> &'t str {
        let kept = self
            .lines
            .get(at)
            .and_then(|line| self.text.get(line.keep.clone()));
        kept.unwrap_or_default().trim_end_matches('\n')
    }

    /// Puts other lines in the place of the present ones.
    pub fn set_lines(&mut self, lines: Vec<Line>, strategy: StrategyId, why: Why) {
        self.lines = lines;
        self.recount(strategy, why);
    }

    /// Replaces the whole text.
    pub fn replace(&mut self, pieces: Vec<Piece>, strategy: StrategyId, why: Why) {
        self.lines.clear();
        self.whole = Some(pieces);
        self.recount(strategy, why);
    }

    /// Notes that words in this text point to `source`, which must then stay as long as they do.
    pub fn cite(&mut self, source: PartId) {
        if !self.cites.contains(&source) {
            self.cites.push(source);
        }
    }

    pub(crate) fn take_cites(&mut self) -> Vec<PartId> {
        std::mem::take(&mut self.cites)
    }

    fn recount(&mut self, strategy: StrategyId, why: Why) {
        let note = |words: &Option<Cow<'static, str>>| {
            words.as_ref().map_or(0, |words| words.chars().count())
        };
        let kept = |range: &Range<usize>| self.text.get(range.clone()).map_or(0, char_count);
        let now = match &self.whole {
            Some(pieces) => pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Keep(range) => kept(range),
                    Piece::Note(words) => words.chars().count(),
                })
                .sum(),
            None => self
                .lines
                .iter()
                .map(|line| note(&line.before) + kept(&line.keep) + note(&line.after))
                .sum(),
        };
        self.savings
            .push((strategy, why, self.chars.saturating_sub(now)));
        self.chars = now;
    }

    /// The pieces, and the strategy that saved most; `None` if nothing was saved.
    pub(crate) fn finish(self) -> Option<(Vec<Piece>, StrategyId, Why)> {
        let &(strategy, why, saved) = self.savings.iter().max_by_key(|(_, _, saved)| *saved)?;
        if saved == 0 {
            return None;
        }
        let pieces = self.whole.unwrap_or_else(|| pieces(self.lines));
        Some((pieces, strategy, why))
    }
}

fn char_count(text: &str) -> usize {
    crate::json::strings::count_chars(text.as_bytes())
}

/// Lines as pieces, neighbours joined.
fn pieces(lines: Vec<Line>) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for line in lines {
        pieces.extend(line.before.map(Piece::Note));
        match pieces.last_mut() {
            Some(Piece::Keep(last)) if last.end == line.keep.start => last.end = line.keep.end,
            _ if line.keep.is_empty() => {}
            _ => pieces.push(Piece::Keep(line.keep)),
        }
        pieces.extend(line.after.map(Piece::Note));
    }
    pieces
}
