//! English words that say nothing about the subject of a question.

/// True for a lower-case function or question word.
pub(crate) fn is_stop_word(word: &[u8]) -> bool {
    match word.len() {
        1 => matches!(word, b"a" | b"i" | b"s" | b"t"),
        2 => matches!(
            word,
            b"an"
                | b"of"
                | b"in"
                | b"on"
                | b"at"
                | b"to"
                | b"by"
                | b"or"
                | b"is"
                | b"be"
                | b"it"
                | b"as"
                | b"do"
                | b"he"
                | b"we"
                | b"so"
                | b"if"
                | b"no"
                | b"my"
                | b"me"
                | b"us"
        ),
        3 => matches!(
            word,
            b"the"
                | b"for"
                | b"and"
                | b"are"
                | b"was"
                | b"its"
                | b"did"
                | b"how"
                | b"who"
                | b"why"
                | b"has"
                | b"had"
                | b"can"
                | b"may"
                | b"you"
                | b"she"
                | b"his"
                | b"her"
                | b"not"
                | b"our"
        ),
        4 => matches!(
            word,
            b"from"
                | b"with"
                | b"were"
                | b"been"
                | b"this"
                | b"that"
                | b"does"
                | b"what"
                | b"whom"
                | b"when"
                | b"have"
                | b"will"
                | b"they"
                | b"here"
                | b"into"
                | b"than"
                | b"then"
                | b"your"
        ),
        5 => matches!(
            word,
            b"being"
                | b"these"
                | b"those"
                | b"whose"
                | b"where"
                | b"which"
                | b"could"
                | b"would"
                | b"their"
                | b"there"
                | b"about"
        ),
        6 => matches!(word, b"should"),
        _ => false,
    }
}

/// True for the lower-case name of a month or a day: written like a name, and shared by everything.
pub(crate) fn is_calendar_word(word: &[u8]) -> bool {
    matches!(
        word,
        b"january"
            | b"february"
            | b"march"
            | b"april"
            | b"may"
            | b"june"
            | b"july"
            | b"august"
            | b"september"
            | b"october"
            | b"november"
            | b"december"
            | b"monday"
            | b"tuesday"
            | b"wednesday"
            | b"thursday"
            | b"friday"
            | b"saturday"
            | b"sunday"
    )
}
