//! Cuts text into terms, each as a 64-bit key.
//!
//! A word is a run of letters, digits and `_`. An identifier gives its parts (`DiffExecutor`:
//! `diff`, `executor`) and itself as a whole. Parts are folded and stemmed. Scripts without spaces
//! give pairs of neighbouring characters. Keys are hashes with a fixed function: the same on every machine.

use crate::fold::{fold, is_unspaced};
use crate::starts::Starts;
use crate::stem::stem;
use crate::stop::{is_calendar_word, is_stop_word};

/// One term of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Term {
    /// None for a word that begins like none that is searched for.
    pub(crate) key: Option<u64>,
    /// Its beginning, for [`Starts`].
    pub(crate) start: u16,
    /// A function word: matches nothing in a question.
    pub(crate) stop: bool,
    /// The whole of an identifier whose parts follow; it takes no place of its own in the text.
    pub(crate) whole: bool,
    /// Begins with a capital letter inside a sentence of prose: the name of something.
    pub(crate) name: bool,
}

impl Term {
    fn unknown(start: u16) -> Self {
        Self {
            key: None,
            start,
            stop: false,
            whole: false,
            name: false,
        }
    }
}

/// Words longer than this many bytes (encoded data, minified code) give their whole only.
const MAX_PARTED: usize = 128;

/// Calls `sink` with every term of `text`, in order. Names, and words that begin like one of `wanted`,
/// have their key. Linear in the length of the text.
pub(crate) fn terms(text: &str, wanted: &Starts, mut sink: impl FnMut(Term)) {
    let mut part = Vec::with_capacity(MAX_PARTED);
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let word = Word::at(bytes, at);
        match bytes.get(word.end) {
            Some(next) if !next.is_ascii() => {
                let rest = text.get(at..).unwrap_or_default();
                let len = rest.find(|c: char| !is_word_char(c)).unwrap_or(rest.len());
                if len > 0 {
                    let inside = stands_inside_a_sentence(bytes, at);
                    wide_word(&rest[..len], inside, wanted, &mut part, &mut sink);
                }
                // A character that is no part of a word is passed over.
                let step = || rest.chars().next().map_or(1, char::len_utf8);
                at += if len > 0 { len } else { step() };
            }
            _ if word.end == at => at += 1,
            next => {
                let name = word.starts_upper
                    && stands_inside_a_sentence(bytes, at)
                    && !next.is_some_and(|next| CODE_MARKS.contains(next));
                let (word, one) = (&bytes[at..word.end], word.is_one_part);
                at += word.len();
                ascii_word(word, one, name, wanted, &mut part, &mut sink);
            }
        }
    }
}

/// Marks that follow a type or a call in code, and no name in prose.
const CODE_MARKS: &[u8] = b"([{<:=/&*!#>|";

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const UNDERSCORE: u8 = 8;

/// What a byte is inside a word; 0 for bytes that end one.
static KIND: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        kinds[byte as usize] = match byte {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            _ => 0,
        };
        byte += 1;
    }
    kinds
};

/// A run of ASCII letters, digits and `_`, seen in one pass.
#[derive(Clone, Copy)]
struct Word {
    end: usize,
    starts_upper: bool,
    /// `word`, `Word`, `WORD` or `1234`: no identifier with parts.
    is_one_part: bool,
}

impl Word {
    fn at(bytes: &[u8], start: usize) -> Self {
        let kind = |at: usize| bytes.get(at).map_or(0, |byte| KIND[usize::from(*byte)]);
        let first = kind(start);
        let mut end = start;
        let mut inner = 0;
        if first != 0 {
            end += 1;
            loop {
                let next = kind(end);
                if next == 0 {
                    break;
                }
                inner |= next;
                end += 1;
            }
        }
        let is_one_part = match first {
            LOWER => inner & !LOWER == 0,
            UPPER => inner & !LOWER == 0 || inner == UPPER,
            DIGIT => inner & !DIGIT == 0,
            _ => false,
        };
        Self {
            end,
            starts_upper: first == UPPER,
            is_one_part,
        }
    }
}

/// A word after a single space that follows a letter, a digit or a comma.
fn stands_inside_a_sentence(text: &[u8], at: usize) -> bool {
    match text.get(at.saturating_sub(2)..at) {
        Some(&[before, b' ']) => is_word_byte(before) || before == b',' || !before.is_ascii(),
        _ => false,
    }
}

fn is_word_byte(b: u8) -> bool {
    KIND[usize::from(b)] != 0
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || fold(c).is_none()
}

fn ascii_word(
    word: &[u8],
    is_one_part: bool,
    name: bool,
    wanted: &Starts,
    part: &mut Vec<u8>,
    sink: &mut impl FnMut(Term),
) {
    let lower = |part: &mut Vec<u8>, piece: &[u8]| {
        part.clear();
        part.extend(piece.iter().map(u8::to_ascii_lowercase));
    };
    if is_one_part && word.len() <= MAX_PARTED {
        let start = Starts::of(word);
        if !name && !wanted.may_hold(start) {
            sink(Term::unknown(start));
            return;
        }
        lower(part, word);
        emit(part, name, wanted, sink);
        return;
    }
    lower(part, word);
    let start = Starts::of(part);
    if word.len() > MAX_PARTED || first_part(word) < word.len() {
        let whole = word.len() <= MAX_PARTED;
        if whole {
            stem(part);
        }
        let key = wanted.may_hold(start).then(|| hash(part));
        sink(Term {
            key,
            whole,
            ..Term::unknown(start)
        });
        if !whole {
            return;
        }
    }
    let mut rest = word;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(first_part(rest));
        rest = behind;
        if piece.first() != Some(&b'_') {
            lower(part, piece);
            emit(part, false, wanted, sink);
        }
    }
}

fn emit(part: &mut Vec<u8>, name: bool, wanted: &Starts, sink: &mut impl FnMut(Term)) {
    let start = Starts::of(part);
    if !name && !wanted.may_hold(start) {
        sink(Term::unknown(start));
        return;
    }
    let stop = is_stop_word(part);
    let name = name && !stop && !is_calendar_word(part);
    if !stop {
        stem(part);
    }
    sink(Term {
        key: Some(hash(part)),
        stop,
        name,
        ..Term::unknown(start)
    });
}

/// The length of the first part of an ASCII identifier: `_` runs, digits, `HTTP` in `HTTPServer`, `Server`.
fn first_part(word: &[u8]) -> usize {
    let run =
        |from: usize, class: fn(&u8) -> bool| word[from..].iter().take_while(|b| class(b)).count();
    match word.first() {
        None => 0,
        Some(b'_') => run(0, |b| *b == b'_'),
        Some(b) if b.is_ascii_digit() => run(0, u8::is_ascii_digit),
        Some(b) if b.is_ascii_lowercase() => run(0, u8::is_ascii_lowercase),
        Some(_) => {
            let upper = run(0, u8::is_ascii_uppercase);
            let lower = run(upper, u8::is_ascii_lowercase);
            match (upper, lower) {
                (1, _) => 1 + lower,
                (_, 0) => upper,
                _ => upper - 1,
            }
        }
    }
}

/// A word with characters outside ASCII: runs of unspaced script as pairs, the rest as one folded word each.
fn wide_word(
    word: &str,
    inside: bool,
    wanted: &Starts,
    part: &mut Vec<u8>,
    sink: &mut impl FnMut(Term),
) {
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let unspaced = is_unspaced(first);
        let len = rest
            .find(|c: char| is_unspaced(c) != unspaced)
            .unwrap_or(rest.len());
        let run = &rest[..len];
        rest = &rest[len..];
        if unspaced {
            pairs(run, sink);
        } else if run.is_ascii() {
            let run = run.as_bytes();
            let is_one_part = Word::at(run, 0).is_one_part;
            ascii_word(run, is_one_part, false, wanted, part, sink);
        } else {
            part.clear();
            let mut utf8 = [0; 4];
            for c in run.chars().filter_map(fold) {
                part.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
            }
            if let Some(bare) = part.strip_prefix("ال".as_bytes()) {
                // The Arabic article, when a word of at least three letters remains.
                if bare.len() >= 6 {
                    part.drain(.."ال".len());
                }
            }
            emit(part, inside && first.is_uppercase(), wanted, sink);
        }
    }
}

fn pairs(run: &str, sink: &mut impl FnMut(Term)) {
    let mut previous: Option<char> = None;
    let mut emitted = false;
    for c in run.chars() {
        if let Some(p) = previous {
            sink(pair_term(p, c));
            emitted = true;
        }
        previous = Some(c);
    }
    if let (Some(c), false) = (previous, emitted) {
        sink(pair_term(c, '\0'));
    }
}

fn pair_term(a: char, b: char) -> Term {
    let pair = u64::from(u32::from(a)) << 32 | u64::from(u32::from(b));
    Term {
        key: Some(finish(pair ^ 0x5eca_7e00_0000_0000)),
        ..Term::unknown(0)
    }
}

/// Eight bytes at a time, each time mixed; with the length, so that no two short words share a key.
fn hash(bytes: &[u8]) -> u64 {
    let mut h = bytes.len() as u64;
    for eight in bytes.chunks(8) {
        let packed = eight
            .iter()
            .fold(0, |packed, b| packed << 8 | u64::from(*b));
        h = finish(h.rotate_left(23) ^ packed);
    }
    finish(h)
}

fn finish(h: u64) -> u64 {
    let h = (h ^ (h >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    h ^ (h >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<u64> {
        let mut keys = Vec::new();
        terms(text, &Starts::ALL, |t| keys.extend(t.key));
        keys
    }

    fn shares(a: &str, b: &str) -> bool {
        let b = keys(b);
        keys(a).iter().any(|k| b.contains(k))
    }

    #[test]
    fn identifiers_match_by_their_parts_and_as_a_whole() {
        assert!(shares("executor", "struct DiffExecutor"));
        assert!(shares("http server", "HTTPServer::new"));
        assert!(shares("run the target", "fn run_target()"));
        assert!(shares("diffexecutor", "DiffExecutor"));
        assert!(shares("parser", "src/json/parser.rs"));
        assert_eq!(keys("HTTPServer2_x").len(), 5);
    }

    #[test]
    fn unspaced_scripts_match_by_pairs() {
        assert!(shares("東京の人口", "人口は東京で"));
        assert!(!shares("京東", "東京"));
        assert_eq!(keys("水").len(), 1);
        assert!(shares("GPU価格", "価格"));
    }

    #[test]
    fn the_arabic_article_does_not_hide_a_word() {
        assert!(shares("الكتاب", "كِتَاب"));
    }

    #[test]
    fn accents_do_not_hide_a_word() {
        assert!(shares("röntgen", "Rontgen"));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_cut_without_panic(text in "\\PC*") {
            let _ = keys(&text);
        }
    }
}
