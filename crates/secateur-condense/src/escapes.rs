//! Terminal escape sequences, real (`ESC [ 31 m`) and as some log services print them (`^[[31m`).
//!
//! They colour a screen and say nothing to a reader, so kept lines go out without them.

/// The length of the escape sequence that starts at `at`, or 0.
pub(super) fn escape_len(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(0x1b) => match bytes.get(at + 1) {
            Some(b'[') => control_len(bytes, at + 2).map_or(2, |end| end - at),
            Some(b']') => operating_system_len(bytes, at + 2) - at,
            Some(b'(' | b')') if bytes.get(at + 2).is_some_and(u8::is_ascii) => 3,
            Some(b'=' | b'>' | b'7' | b'8' | b'c' | b'M') => 2,
            _ => 1,
        },
        // The printed form is only believed for colours and line erasure: `^[[` alone may be a regex.
        Some(b'^') if bytes.get(at + 1) == Some(&b'[') && bytes.get(at + 2) == Some(&b'[') => {
            match control_len(bytes, at + 3) {
                Some(end) if matches!(bytes[end - 1], b'm' | b'K') => end - at,
                _ => 0,
            }
        }
        _ => 0,
    }
}

/// The end of a control sequence's parameters and final byte.
fn control_len(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b' '..=b'?' if at - from < 32 => at += 1,
            b'@'..=b'~' => return Some(at + 1),
            _ => return None,
        }
    }
    None
}

/// The end of an operating-system command (titles, links): BEL or ESC `\`, on the same line.
fn operating_system_len(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            0x07 => return at + 1,
            0x1b if bytes.get(at + 1) == Some(&b'\\') => return at + 2,
            b'\n' | 0x1b => return from,
            _ => at += 1,
        }
    }
    from
}

/// Whether escapes may be in `bytes`: a fast search for the bytes they begin with.
pub(super) fn may_hold_escapes(bytes: &[u8]) -> bool {
    memchr::memchr2(0x1b, b'^', bytes).is_some()
}

/// Calls `visible` with each run between escape sequences of `bytes[from..to]`.
pub(super) fn visible_runs(
    bytes: &[u8],
    from: usize,
    to: usize,
    mut visible: impl FnMut(usize, usize),
) {
    let mut run = from;
    let mut at = from;
    while at < to {
        if matches!(bytes[at], 0x1b | b'^') {
            let len = escape_len(&bytes[..to], at);
            if len > 0 {
                if run < at {
                    visible(run, at);
                }
                at += len;
                run = at;
                continue;
            }
        }
        at += 1;
    }
    if run < to {
        visible(run, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visible(text: &str) -> String {
        let mut out = String::new();
        visible_runs(text.as_bytes(), 0, text.len(), |from, to| {
            out.push_str(&text[from..to]);
        });
        out
    }

    #[test]
    fn colours_and_links_vanish_and_the_words_stay() {
        assert_eq!(visible("\u{1b}[31;1mFAIL\u{1b}[0m x"), "FAIL x");
        assert_eq!(visible("^[[31mFAIL^[[0m: y"), "FAIL: y");
        assert_eq!(
            visible("\u{1b}]8;;http://a\u{7}link\u{1b}]8;;\u{7}"),
            "link"
        );
    }

    #[test]
    fn an_unfinished_sequence_swallows_nothing_visible() {
        assert_eq!(visible("\u{1b}]0;title without end"), "0;title without end");
        assert_eq!(visible("re = ^[[a-z]+é"), "re = ^[[a-z]+é");
        assert_eq!(visible("\u{1b}é"), "é");
    }
}
