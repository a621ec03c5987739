//! How long a JSON value is when it is written without anything that means nothing.

use super::cursor::closing_quote_of_compact;
use super::strings::{count_chars, next_special};
use super::unescape::hex4;

/// Characters of a valid JSON text as a compact writer spells it: no white space between tokens,
/// and only those characters escaped that JSON demands. Makes no copy. Numbers count as written.
#[must_use]
pub fn compact_chars(json: &str) -> usize {
    let bytes = json.as_bytes();
    let (mut at, mut chars) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => {}
            b'"' => {
                let (end, inside) = string_chars(bytes, at);
                chars += inside + 2;
                at = end;
            }
            _ => chars += usize::from(byte & 0xc0 != 0x80),
        }
    }
    chars
}

/// Reads a string literal from after its opening quote: where it ends, and its characters.
fn string_chars(bytes: &[u8], mut at: usize) -> (usize, usize) {
    if let Some((end, excess)) = closing_quote_of_compact(bytes, at) {
        // Raw bytes less those that continue a character.
        return (end + 1, end - at - (excess.chars - excess.bytes) as usize);
    }
    let mut chars = 0;
    loop {
        let stop = next_special(bytes, at);
        chars += count_chars(bytes.get(at..stop).unwrap_or_default());
        match bytes.get(stop) {
            None => return (stop, chars),
            Some(b'"') => return (stop + 1, chars),
            Some(b'\\') => {
                let (raw, spelled) = escape_chars(bytes, stop);
                chars += spelled;
                at = stop + raw;
            }
            // A raw control character: not valid, but countable.
            Some(_) => {
                chars += 1;
                at = stop + 1;
            }
        }
    }
}

/// The raw length of the escape at `at`, and the characters that a compact writer needs for it.
fn escape_chars(bytes: &[u8], at: usize) -> (usize, usize) {
    match bytes.get(at + 1) {
        Some(b'u') => match hex4(bytes, at + 2) {
            Some(0x8 | 0x9 | 0xa | 0xc | 0xd | 0x22 | 0x5c) => (6, 2),
            Some(0..0x20) => (6, 6),
            Some(0xd800..0xdc00) if bytes.get(at + 6..at + 8) == Some(b"\\u") => (12, 1),
            _ => (6, 1),
        },
        Some(b'/') => (2, 1),
        _ => (2, 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_a_compact_writer_would_write() {
        for json in [
            "{}",
            " { \"a\" : [ 1 , 2.5 , true , null ] }\n",
            r#"{"k":"a b\n\t\"q\" \\ \/ caf\u00e9 \u0001 \u000a \ud83d\ude42"}"#,
            "{\n  \"path\": \"src/漢🙂.rs\",\n  \"text\": \"  two  spaces  \"\n}",
            "[]",
            "\"plain\"",
        ] {
            let value: serde_json::Value = serde_json::from_str(json).unwrap();
            assert_eq!(
                compact_chars(json),
                value.to_string().chars().count(),
                "{json}"
            );
        }
    }
}
