//! Cuts text into terms, each as a 64-bit key.
//!
//! A word is a run of letters, digits and `_`. An identifier gives its parts (`DiffExecutor`:
//! `diff`, `executor`) and itself as a whole. Parts are folded and stemmed. Scripts without spaces
//! give pairs of neighbouring characters. Keys are hashes with a fixed function: the same on every machine.

use crate::fold::{fold, is_unspaced};
use crate::stem::stem;
use crate::stop::is_stop_word;

/// One term of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) key: u64,
    /// A function word: matches nothing in a question.
    pub(crate) stop: bool,
    /// The whole of an identifier whose parts follow; it takes no place of its own in the text.
    pub(crate) whole: bool,
    /// Begins with a capital letter inside a sentence: the name of something.
    pub(crate) name: bool,
}

/// Words longer than this many bytes (encoded data, minified code) give their whole only.
const MAX_PARTED: usize = 128;

/// Calls `sink` with every term of `text`, in order. Linear in the length of the text.
pub(crate) fn terms(text: &str, mut sink: impl FnMut(Term)) {
    let mut part = Vec::with_capacity(64);
    let mut rest = text;
    loop {
        let bytes = rest.as_bytes();
        let skip = bytes
            .iter()
            .take_while(|b| b.is_ascii() && !is_word_byte(**b))
            .count();
        rest = &rest[skip..];
        let bytes = rest.as_bytes();
        let ascii = bytes.iter().take_while(|b| is_word_byte(**b)).count();
        let pure = bytes.get(ascii).is_none_or(u8::is_ascii);
        if ascii == 0 && pure {
            if rest.is_empty() {
                return;
            }
            continue;
        }
        let inside = stands_inside_a_sentence(text, text.len() - rest.len());
        let mut sink = |term: Term| {
            sink(Term {
                name: term.name && inside,
                ..term
            });
        };
        if pure {
            ascii_word(&bytes[..ascii], &mut part, &mut sink);
            rest = &rest[ascii..];
        } else {
            let len = rest.find(|c: char| !is_word_char(c)).unwrap_or(rest.len());
            if len == 0 {
                let step = rest.chars().next().map_or(1, char::len_utf8);
                rest = &rest[step..];
                continue;
            }
            wide_word(&rest[..len], &mut part, &mut sink);
            rest = &rest[len..];
        }
    }
}

/// A word behind a single space that follows a letter, a digit or a comma.
fn stands_inside_a_sentence(text: &str, at: usize) -> bool {
    match text.as_bytes().get(at.saturating_sub(2)..at) {
        Some(&[before, b' ']) => is_word_byte(before) || before == b',' || !before.is_ascii(),
        _ => false,
    }
}

fn is_word_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || fold(c).is_none()
}

fn ascii_word(word: &[u8], part: &mut Vec<u8>, sink: &mut impl FnMut(Term)) {
    if word.len() > MAX_PARTED {
        sink(Term {
            key: hash(word.iter().map(u8::to_ascii_lowercase)),
            stop: false,
            whole: false,
            name: false,
        });
        return;
    }
    if first_part(word) < word.len() {
        part.clear();
        part.extend(word.iter().map(u8::to_ascii_lowercase));
        stem(part);
        sink(Term {
            key: hash(part.iter().copied()),
            stop: false,
            whole: true,
            name: false,
        });
    }
    let mut rest = word;
    while !rest.is_empty() {
        let len = first_part(rest);
        let piece = &rest[..len];
        rest = &rest[len..];
        if piece.first() == Some(&b'_') {
            continue;
        }
        part.clear();
        part.extend(piece.iter().map(u8::to_ascii_lowercase));
        emit(
            part,
            piece.first().is_some_and(u8::is_ascii_uppercase),
            sink,
        );
    }
}

fn emit(part: &mut Vec<u8>, name: bool, sink: &mut impl FnMut(Term)) {
    let stop = is_stop_word(part);
    if !stop {
        stem(part);
    }
    sink(Term {
        key: hash(part.iter().copied()),
        stop,
        whole: false,
        name,
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
fn wide_word(word: &str, part: &mut Vec<u8>, sink: &mut impl FnMut(Term)) {
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
            ascii_word(run.as_bytes(), part, sink);
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
            emit(part, first.is_uppercase(), sink);
        }
    }
}

fn pairs(run: &str, sink: &mut impl FnMut(Term)) {
    let mut previous: Option<char> = None;
    let mut emitted = false;
    for c in run.chars() {
        if let Some(p) = previous {
            sink(Term {
                key: pair_key(p, c),
                stop: false,
                whole: false,
                name: false,
            });
            emitted = true;
        }
        previous = Some(c);
    }
    if let (Some(c), false) = (previous, emitted) {
        sink(Term {
            key: pair_key(c, '\0'),
            stop: false,
            whole: false,
            name: false,
        });
    }
}

fn pair_key(a: char, b: char) -> u64 {
    finish((u64::from(u32::from(a)) << 32 | u64::from(u32::from(b))) ^ 0x5eca_7e00_0000_0000)
}

/// FNV-1a with a final mix: short, fixed, good enough for words.
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    let mut h: u64 = 0xcbf2_9ce4_8422_2325;
    for b in bytes {
        h = (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
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
        terms(text, |t| keys.push(t.key));
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
