//! What the bytes around a word say about it: a report, a mere name, a denial, a count.

/// `error-chain`, `error.rs`, `my::error`, `/errors/`, `_error`: a name, not a report.
pub(super) fn names_a_thing(line: &[u8], start: usize, end: usize) -> bool {
    let joins = |byte: u8| matches!(byte, b'-' | b'/' | b'.' | b'\\' | b'@' | b'=');
    let word_at = |at: Option<usize>| {
        at.and_then(|at| line.get(at))
            .is_some_and(|byte| is_word(*byte))
    };
    let before = start.checked_sub(1).map(|at| line[at]);
    let after = line.get(end).copied();
    before.is_some_and(joins) && word_at(start.checked_sub(2))
        || before == Some(b'-')
        || after.is_some_and(joins) && word_at(Some(end + 1))
        || line[..start].ends_with(b"::")
        || line[end..].starts_with(b"::")
        || before.is_some_and(|byte| matches!(byte, b'/' | b'$' | b'#'))
        || before == Some(b'.') && start.checked_sub(2).is_some_and(|at| line[at] != b'.')
        || after.is_some_and(|byte| matches!(byte, b'('))
}

/// `ValueError(`, `errors/ParseError.java`, `ParseError::new`: a class in code, not one that was raised.
pub(super) fn is_used_in_code(line: &[u8], start: usize, end: usize) -> bool {
    line.get(end)
        .is_some_and(|byte| matches!(byte, b'(' | b'.' | b'/' | b'\\' | b',' | b'>'))
        || line[end..].starts_with(b"::")
        || start > 0 && matches!(line[start - 1], b'/' | b'\\' | b'<')
}

pub(super) fn is_emphasised(line: &[u8], start: usize, end: usize) -> bool {
    line[start..end].iter().all(u8::is_ascii_uppercase)
        || line
            .get(end)
            .is_some_and(|byte| matches!(byte, b':' | b'[' | b'!'))
}

/// `no errors`, `without errors`, `errors: 0`, `failed=0`.
pub(super) fn is_denied(line: &[u8], start: usize, end: usize) -> bool {
    let before = &line[..start];
    ["no ", "without ", "any ", "zero "]
        .iter()
        .any(|word| ends_with_ignoring_case(before, word.as_bytes()))
        || line
            .get(end)
            .is_some_and(|byte| matches!(byte, b':' | b'='))
            && number_after(line, end) == Some(0)
}

/// The number directly before a word, over one blank.
pub(super) fn number_before(line: &[u8], start: usize) -> Option<u64> {
    let mut end = start;
    while end > 0 && line[end - 1] == b' ' && start - end < 2 {
        end -= 1;
    }
    let mut from = end;
    while from > 0 && end - from < 9 && (line[from - 1].is_ascii_digit()) {
        from -= 1;
    }
    if from == end || end == start {
        return None;
    }
    Some(
        line[from..end]
            .iter()
            .fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')),
    )
}

/// The number after a word, over `:`, `=`, `#` and blanks.
pub(super) fn number_after(line: &[u8], end: usize) -> Option<u64> {
    let mut at = end;
    while at < line.len() && at - end < 4 && matches!(line[at], b':' | b'=' | b' ' | b'#' | b'(') {
        at += 1;
    }
    let from = at;
    while at < line.len() && at - from < 9 && line[at].is_ascii_digit() {
        at += 1;
    }
    (at > from).then(|| {
        line[from..at]
            .iter()
            .fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'))
    })
}

pub(super) fn ends_with_ignoring_case(text: &[u8], end: &[u8]) -> bool {
    text.len() >= end.len() && text[text.len() - end.len()..].eq_ignore_ascii_case(end)
}

pub(super) fn starts_with_ignoring_case(text: &[u8], start: &[u8]) -> bool {
    text.len() >= start.len() && text[..start.len()].eq_ignore_ascii_case(start)
}

pub(super) fn contains_ignoring_case(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len())
        .any(|window| window.eq_ignore_ascii_case(part))
}

const WORD: u8 = 1;
pub(super) const DIGIT: u8 = 2;

/// Which bytes make words (letters, digits, `_`, anything beyond ASCII), and which of them are digits.
pub(super) const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut at = 0;
    while at < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "the loop ends at 255")]
        let byte = at as u8;
        if byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80 {
            classes[at] = WORD;
        }
        if byte.is_ascii_digit() {
            classes[at] = WORD | DIGIT;
        }
        at += 1;
    }
    classes
};

/// Whether a byte is part of a word.
pub(super) fn is_word(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & WORD != 0
}
