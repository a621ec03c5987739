//! Writing text of our own into a JSON string literal.

use std::fmt::Write;

/// Appends `text` to `out`, escaped as the inside of a JSON string.
///
/// Only what JSON demands is escaped; everything else stays readable UTF-8.
pub fn escape_into(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if (control as u32) < 0x20 => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            plain => out.push(plain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_as_the_same_text() {
        let text = "quote \" slash \\ / newline \n tab \t nul \0 bell \u{7} é 漢 🙂";
        let mut raw = String::from("\"");
        escape_into(text, &mut raw);
        raw.push('"');
        assert_eq!(serde_json::from_str::<String>(&raw).unwrap(), text);
    }
}
