//! Writing text into a JSON string literal.

use std::fmt::Write;

use super::strings::next_special;

/// Appends `text` to `out`, escaped as the inside of a JSON string.
///
/// Only what JSON demands is escaped; everything else stays readable UTF-8.
pub fn escape_into(text: &str, out: &mut String) {
    let mut rest = text;
    // What needs no escape is copied run by run.
    loop {
        let (plain, special) = rest.split_at(next_special(rest.as_bytes(), 0));
        out.push_str(plain);
        let Some((first, behind)) = special.split_at_checked(1) else {
            return;
        };
        match first {
            "\"" => out.push_str("\\\""),
            "\\" => out.push_str("\\\\"),
            "\n" => out.push_str("\\n"),
            "\r" => out.push_str("\\r"),
            "\t" => out.push_str("\\t"),
            control => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", control.as_bytes()[0]);
            }
        }
        rest = behind;
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
