//! Text that somebody else chose, fit to be shown: letters that show nothing, turn the text around or steer a terminal are
//! spelled out, as `⟨U+202E⟩`. The portal, the command line and the log all use this.

use std::borrow::Cow;

/// Letters that show nothing and turn around or hide what stands beside them: marks of direction, breaks without width,
/// fillers, tags. Joiners are none of them, because scripts and emoji need them.
#[must_use]
pub fn is_unseen(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// How such a letter is spelled.
#[must_use]
pub fn spell(letter: char) -> String {
    format!("⟨U+{:04X}⟩", u32::from(letter))
}

/// A text for one line of a terminal or a log.
#[must_use]
pub fn in_line(text: &str) -> Cow<'_, str> {
    spelled(text, |letter| letter.is_control() || is_unseen(letter))
}

/// A text of several lines for a terminal: its line ends and tabs stay.
#[must_use]
pub fn in_lines(text: &str) -> Cow<'_, str> {
    let stays = |letter: char| letter == '\n' || letter == '\t';
    spelled(text, |letter| {
        !stays(letter) && letter.is_control() || is_unseen(letter)
    })
}

fn spelled(text: &str, is_spelled: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_spelled) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_spelled(letter) {
            out.push_str(&spell(letter));
        } else {
            out.push(letter);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_or_hides_is_spelled_out() {
        let hostile = "gpt\u{202e}5\u{1b}[2J\u{9b}31m\u{200b}\r\u{7f}";
        assert_eq!(
            in_line(hostile),
            "gpt⟨U+202E⟩5⟨U+001B⟩[2J⟨U+009B⟩31m⟨U+200B⟩⟨U+000D⟩⟨U+007F⟩"
        );
        assert_eq!(in_lines("a\n\tb\u{7}\r\n"), "a\n\tb⟨U+0007⟩⟨U+000D⟩\n");
        let plain = "קוד 漢字 👩\u{200d}💻 naïve";
        assert!(matches!(in_line(plain), Cow::Borrowed(same) if same == plain));
    }
}
