//! How alike two texts are.
//!
//! Words and pairs of neighbouring words are counted in both texts; each gives Dice's coefficient
//! `2 · shared / (all of one + all of the other)`, and the similarity is the mean of the two. Words are
//! runs of letters and digits in lower case; characters of scripts without spaces are words of their
//! own.

use std::collections::HashMap;

/// A similarity from here on counts as the same answer in other words.
pub(super) const SAME: f64 = 0.5;

/// How far two texts agree, 0 to 1, with room for other words: `min(1, similarity / 0.5)`.
pub(super) fn agreement(one: &str, other: &str) -> f64 {
    if one.trim() == other.trim() {
        return 1.0;
    }
    let (one, other) = (words(one), words(other));
    if one.is_empty() && other.is_empty() {
        return 1.0;
    }
    // A word or two leave no room.
    if one.len().min(other.len()) < 3 {
        return dice(one.iter(), other.iter());
    }
    let pairs = dice(one.windows(2), other.windows(2));
    let similarity = f64::midpoint(dice(one.iter(), other.iter()), pairs);
    (similarity / SAME).min(1.0)
}

fn dice<T: std::hash::Hash + Eq>(
    one: impl Iterator<Item = T>,
    other: impl Iterator<Item = T>,
) -> f64 {
    let mut counts: HashMap<T, usize> = HashMap::new();
    let mut total = 0_usize;
    for item in one {
        *counts.entry(item).or_default() += 1;
        total += 1;
    }
    let mut shared = 0_usize;
    for item in other {
        total += 1;
        if let Some(left) = counts.get_mut(&item).filter(|left| **left > 0) {
            *left -= 1;
            shared += 1;
        }
    }
    if total == 0 {
        return 1.0;
    }
    2.0 * shared as f64 / total as f64
}

fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for character in text.chars() {
        let stands_alone = matches!(u32::from(character),
            0x0e00..=0x0eff | 0x3040..=0x30ff | 0x3400..=0x9fff | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff);
        if character.is_alphanumeric() && !stands_alone {
            word.extend(character.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if stands_alone {
            words.push(character.to_string());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_words_for_the_same_are_tolerated_and_another_answer_is_not() {
        let one = "The build fails because the function parse_config in config.rs returns an Option, and main.rs unwraps it. Change main.rs to handle None.";
        let again = "The build fails since parse_config in config.rs returns an Option that main.rs unwraps. You should change main.rs to handle None instead.";
        let another = "I don't have enough context to know which file you mean. Could you paste the error message and the relevant code?";
        assert!(agreement(one, again) > 0.99, "{}", agreement(one, again));
        assert!(agreement(one, another) < 0.5, "{}", agreement(one, another));
        assert!((agreement(one, &format!(" {one}\n")) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn short_answers_must_be_the_same() {
        assert_eq!(agreement("Yes.", "No."), 0.0);
        assert_eq!(agreement("Yes.", "yes"), 1.0);
        assert_eq!(agreement("42", "43"), 0.0);
        assert_eq!(agreement("", "Something was said here"), 0.0);
        assert_eq!(agreement("", ""), 1.0);
    }

    #[test]
    fn scripts_without_spaces_are_compared_by_characters() {
        let one = "設定ファイルを修正しました";
        assert!(agreement(one, "設定ファイルを変更しました") > 0.9);
        assert!(agreement(one, "天気は晴れです") < 0.3);
    }
}
