//! Names that a client chooses, such as a model's: bounded where they enter, so that neither logs nor the ledger carry more.

/// Longer names are cut.
const MAX_NAME_BYTES: usize = 256;

/// A name, or what fits of it.
pub(crate) fn bounded(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME_BYTES)]
}

/// The same in place.
pub(crate) fn bound(name: &mut String) {
    if name.len() > MAX_NAME_BYTES {
        // A new one: what was cut off is not to be kept.
        *name = bounded(name).to_owned();
    }
}

/// Longer texts are no names that somebody misspelled.
const LONGEST_NAME: usize = 32;

/// A name that a client gave, fit for the log; nothing of what may be something else than a name.
pub(crate) fn loggable(name: &str) -> String {
    let is_name = name.len() <= LONGEST_NAME
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if is_name {
        name.to_owned()
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(bounded("gpt-5"), "gpt-5");
        let mut long = format!("a{}", "é".repeat(5 << 20));
        bound(&mut long);
        assert_eq!((long.len(), long.capacity()), (255, 255));
    }
}
