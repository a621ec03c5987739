use super::*;
use crate::Cursor;

fn literal(raw: &str) -> (String, JsonStr) {
    let body = format!("\"{raw}\"");
    let found = Cursor::over(&body, 8).string().unwrap();
    (body, found)
}

#[test]
fn decodes_like_serde_json() {
    for raw in [
        "",
        "plain",
        r"caf\u00e9 \/ \\ \n\t\r\b\f \u0000",
        r"\ud83d\ude42 pair",
        "漢\\u6f22🙂\\n",
    ] {
        let (body, text) = literal(raw);
        let expected: String = serde_json::from_str(&body).unwrap();
        assert_eq!(text.decode(&body), expected, "{raw}");
        assert_eq!(text.chars(), expected.chars().count(), "{raw}");
        assert_eq!(text.decoded_chars(&body).collect::<String>(), expected);
    }
}

#[test]
fn the_start_of_a_text_is_a_prefix_of_it() {
    for raw in ["", "plain text", r"a\u00e9\n漢\ud83d\ude42\n🙂z", "漢漢漢"] {
        let (body, text) = literal(raw);
        let whole = text.decode(&body);
        for limit in 0..whole.len() + 3 {
            let start = text.decode_start(&body, limit);
            assert!(whole.starts_with(start.as_ref()), "{raw} {limit}: {start}");
            assert!(start.len() < limit + 4, "{raw} {limit}");
            assert!(start.len() + 4 > limit.min(whole.len()), "{raw} {limit}");
        }
    }
}

#[test]
fn both_ends_of_a_text_are_measured_without_the_rest() {
    let many = format!("{}{}", r"\n\n\\".repeat(80), "漢\\u6f22".repeat(300));
    let pairs = r"a\ud83d\ude42".repeat(400);
    for raw in [
        "",
        "plain text",
        r"a\u00e9\n漢\ud83d\ude42\n🙂z",
        many.as_str(),
        pairs.as_str(),
    ] {
        let (body, text) = literal(raw);
        let whole = text.decode(&body);
        assert_eq!(text.decoded_len(), whole.len());
        let count = whole.chars().count();
        for chars in [0, 1, 2, 7, 8, 15, 16, 17, 100, count, count + 1] {
            let first: usize = whole.chars().take(chars).map(char::len_utf8).sum();
            assert_eq!(text.bytes_of_chars(&body, chars), first, "{raw} {chars}");
            let last: usize = whole.chars().rev().take(chars).map(char::len_utf8).sum();
            assert_eq!(
                text.bytes_of_last_chars(&body, chars),
                last,
                "{raw} {chars}"
            );
        }
        for end in ["text", "", "🙂z", "ext", "漢"] {
            let ends = text.ends_with(&body, end);
            assert!(
                ends.is_none_or(|ends| ends == whole.ends_with(end)),
                "{raw} {end}"
            );
        }
    }
}

#[test]
fn an_offset_near_the_end_is_found_from_there() {
    for unit in ["plain ", r"a\u00e9漢\ud83d\ude42\n", r"\\\n\t"] {
        let (body, text) = literal(&unit.repeat(700));
        let decoded = text.decode(&body).into_owned();
        for back in [0, 1, 5, 40, 300] {
            let at = decoded.floor_char_boundary(decoded.len() - back);
            let mut far = text.offsets(&body);
            let mut near = text.offsets(&body);
            for step in (0..=at).filter(|&step| decoded.is_char_boundary(step)) {
                near.body_offset(step);
            }
            assert_eq!(far.body_offset(at), near.body_offset(at), "{unit} {back}");
        }
    }
}

#[test]
fn a_lone_surrogate_counts_as_one_replacement_character() {
    for raw in [
        r"a\ud800b",
        r"a\ude42b",
        r"a\ud800\nb",
        r"\ud800\ud83d\ude42",
    ] {
        let (body, text) = literal(raw);
        let decoded = text.decode(&body);
        assert!(decoded.contains('\u{fffd}'), "{raw}");
        assert_eq!(text.chars(), decoded.chars().count(), "{raw}");
    }
}

#[test]
fn every_character_boundary_leads_back_to_its_raw_byte() {
    let raw = r"a\u00e9漢\ud83d\ude42\n🙂z\ud800";
    let (body, text) = literal(raw);
    let decoded = text.decode(&body).into_owned();
    let mut map = text.offsets(&body);
    for at in 0..=decoded.len() {
        let found = map.body_offset(at);
        assert_eq!(found.is_some(), decoded.is_char_boundary(at), "offset {at}");
        if let Some(body_at) = found {
            let tail = format!("\"{}\"", &body[body_at as usize..body.len() - 1]);
            let tail_text = Cursor::over(&tail, 1).string().unwrap();
            assert_eq!(tail_text.decode(&tail), decoded[at..]);
        } else {
            map = text.offsets(&body);
        }
    }
    assert_eq!(text.offsets(&body).body_offset(decoded.len() + 1), None);
}

#[test]
fn the_map_goes_forward_only() {
    let (body, text) = literal(r"\n12345");
    let mut map = text.offsets(&body);
    assert!(map.body_offset(3).is_some());
    assert_eq!(map.body_offset(2), None);
}

/// Pieces of literals, each with its text as a compact writer spells it.
const PIECES: [(&str, &str); 14] = [
    ("a", "a"),
    (" plain words, some of them ", " plain words, some of them "),
    ("é", "é"),
    ("漢", "漢"),
    ("🙂", "🙂"),
    ("\\n", "\\n"),
    ("\\t", "\\t"),
    ("\\\"", "\\\""),
    ("\\\\", "\\\\"),
    ("\\/", "/"),
    ("\\u00e9", "é"),
    ("\\u000a", "\\n"),
    ("\\ud83d\\ude42", "🙂"),
    (
        "1234567890123456789012345678901234567890",
        "1234567890123456789012345678901234567890",
    ),
];

proptest::proptest! {
    /// What is counted and found in windows is what decoding the text would show.
    #[test]
    fn counting_and_finding_agree_with_the_decoded_text(
        pieces in proptest::collection::vec(0..PIECES.len(), 0..120),
        shares in proptest::collection::vec(0..=100usize, 4),
    ) {
        let raw: String = pieces.iter().map(|&at| PIECES[at].0).collect();
        let (body, text) = literal(&raw);
        let whole: String = serde_json::from_str(&body).unwrap();
        proptest::prop_assert_eq!(text.decode(&body), whole.as_str());
        let compact: usize = pieces.iter().map(|&at| PIECES[at].1.chars().count()).sum();
        proptest::prop_assert_eq!(crate::compact_chars(&body), compact + 2);
        let count = whole.chars().count();
        for share in shares {
            let chars = count * share / 100;
            let first: usize = whole.chars().take(chars).map(char::len_utf8).sum();
            proptest::prop_assert_eq!(text.bytes_of_chars(&body, chars), first);
            let last: usize = whole.chars().rev().take(chars).map(char::len_utf8).sum();
            proptest::prop_assert_eq!(text.bytes_of_last_chars(&body, chars), last);
            let found = text.offsets(&body).body_offset(first);
            let tail = format!("\"{}", &body[found.unwrap() as usize..]);
            let behind: String = serde_json::from_str(&tail).unwrap();
            proptest::prop_assert_eq!(behind, &whole[first..]);
        }
    }
}
