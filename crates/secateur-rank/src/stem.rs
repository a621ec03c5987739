//! A light English stemmer on ASCII bytes: plural, tense and a few noun endings.
//!
//! It only has to map the forms of a word to one key, not to make a readable stem.

const MIN_WORD: usize = 4;

/// The stem of a lower-case word. Words with a byte outside `a..=z` stay as they are.
pub(crate) fn stem(word: &mut Vec<u8>) {
    if word.len() < MIN_WORD || !word.iter().all(u8::is_ascii_lowercase) {
        return;
    }
    plural(word);
    tense(word);
    if word.len() > 5 && word.ends_with(b"ly") {
        word.truncate(word.len() - 2);
    }
    for ending in [&b"ation"[..], b"ator", b"ion", b"or", b"er", b"ment"] {
        if word.len() >= ending.len() + 4 && word.ends_with(ending) {
            word.truncate(word.len() - ending.len());
            break;
        }
    }
    if word.len() > 3 && word.ends_with(b"e") {
        word.pop();
    }
    if word.len() > 3 && word.ends_with(b"y") {
        word.pop();
        word.push(b'i');
    }
}

fn plural(word: &mut Vec<u8>) {
    if !word.ends_with(b"s") {
        return;
    }
    if word.len() > 4 && word.ends_with(b"ies") {
        word.truncate(word.len() - 3);
        word.push(b'y');
    } else if word.ends_with(b"sses") {
        word.truncate(word.len() - 2);
    } else if ![&b"ss"[..], b"us", b"is"]
        .iter()
        .any(|ending| word.ends_with(ending))
    {
        word.pop();
    }
}

fn tense(word: &mut Vec<u8>) {
    for ending in [&b"ing"[..], b"ed"] {
        if word.len() >= ending.len() + 3 && word.ends_with(ending) {
            word.truncate(word.len() - ending.len());
            if let [.., a, b] = word[..]
                && a == b
                && !matches!(a, b'l' | b's' | b'z')
            {
                word.pop();
            }
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stemmed(word: &str) -> String {
        let mut bytes = word.as_bytes().to_vec();
        stem(&mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn forms_of_one_word_share_a_stem() {
        for forms in [
            &[
                "create", "creates", "created", "creating", "creator", "creation",
            ][..],
            &["run", "running"],
            &["city", "cities"],
            &["class", "classes"],
            &["executor", "executors", "executed"],
        ] {
            let first = stemmed(forms[0]);
            assert!(forms.iter().all(|form| stemmed(form) == first), "{forms:?}");
        }
    }

    #[test]
    fn short_words_and_digits_stay() {
        assert_eq!(stemmed("bus"), "bus");
        assert_eq!(stemmed("a1z26s"), "a1z26s");
    }
}
