//! Case and accent folding for one character: `Röntgen` and `rontgen` are one word.

/// The plain lower-case letter for each character of U+00C0..=U+017F; a dot where there is none.
const LATIN: &[u8; 192] = b"\
    aaaaaaaceeeeiiiidnooooo.ouuuuytsaaaaaaaceeeeiiiidnooooo.ouuuuyty\
    aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkklllllll\
    lllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";

/// What a character counts as inside a word. `None`: it leaves no trace (combining marks, tatweel).
pub(crate) fn fold(c: char) -> Option<char> {
    match c {
        '\u{c0}'..='\u{17f}' => {
            let plain = LATIN.get(c as usize - 0xc0).copied().unwrap_or(b'.');
            Some(if plain == b'.' { c } else { char::from(plain) })
        }
        // Combining marks, Arabic short vowels and tatweel.
        '\u{300}'..='\u{36f}' | '\u{64b}'..='\u{65f}' | '\u{640}' | '\u{670}' => None,
        // Arabic alef with hamza or madda, alef maksura, teh marbuta.
        'أ' | 'إ' | 'آ' => Some('ا'),
        'ى' => Some('ي'),
        'ة' => Some('ه'),
        _ => c.to_lowercase().next(),
    }
}

/// Scripts that put no spaces between words: their text is cut into pairs of characters.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}'          // Thai, Lao
        | '\u{1000}'..='\u{109f}'      // Myanmar
        | '\u{1780}'..='\u{17ff}'      // Khmer
        | '\u{3040}'..='\u{30ff}'      // Hiragana, Katakana
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'      // Han
        | '\u{ac00}'..='\u{d7af}'      // Hangul
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3134f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_and_case_fold_to_plain_letters() {
        let folded: String = "RÖNTGEN Čilić Łódź".chars().filter_map(fold).collect();
        assert_eq!(folded, "rontgen cilic lodz");
    }

    #[test]
    fn arabic_vowels_leave_no_trace() {
        let folded: String = "كِتَاب".chars().filter_map(fold).collect();
        assert_eq!(folded, "كتاب");
    }
}
