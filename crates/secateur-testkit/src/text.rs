//! Texts that are hard to cut: escapes, CJK, emoji of several code points, code, listings, chunks.

use crate::dice::Dice;

const PROSE: &[&str] = &[
    "the", "parser", "fails", "when", "a", "café", "order", "is", "refunded", "twice,", "so", "we",
    "should", "check", "naïve", "inputs", "first.", "Then", "retry", "with", "backoff.", "OK?",
];
const CODE: &[&str] = &[
    "fn main() {\n",
    "    let path = \"C:\\\\dir\\\\file\";\n",
    "\treturn x / y; // ratio\n",
    "}\n",
    "if (a && b) { throw new Error('no'); }\n",
    "    \"key\": [1.0e5, null],\n",
    "\n\n",
    "# TODO\n",
];
const CJK: &[&str] = &[
    "漢字",
    "かな混じり",
    "文。",
    "한국어 ",
    "測試、",
    "𠮷野家",
    "中文 text ",
];
const EMOJI: &[&str] = &[
    "🙂",
    "👩‍👩‍👧‍👦",
    "🇨🇭",
    "e\u{301}",
    "👍🏽",
    "\u{200b}",
    "❤️",
    "a",
    " ",
    "\u{2028}",
    "\u{7f}",
];
const LOG: &[&str] = &[
    "error[E0308]: mismatched types\n",
    "warning: unused variable `x`\n",
    "  --> src/lib.rs:12:5\n",
    "test parse::empty ... ok\n",
    "test parse::deep ... FAILED\n",
    "   Compiling core v0.1.0 (/srv/app/core)\n",
    "\u{1b}[31mred\u{1b}[0m\n",
    "2026-11-02T10:00:00Z INFO started pid=4711\n",
];
const KEYS: &[&str] = &[
    "\"", "\\", "/", "\n", "\t", "\r\n", "\u{0}", "  ", "{\"a\":", "]}", ",", "<", "&",
];

/// How long a text may be, in pieces, by size class. Most are short.
const SIZES: [usize; 24] = [
    1, 1, 2, 3, 5, 8, 13, 1, 2, 3, 21, 1, 5, 2, 34, 1, 3, 55, 1, 2, 90, 8, 1, 500,
];

/// A text of this kind and size class; never blank.
pub(crate) fn mean(kind: usize, size: usize, seed: u64) -> String {
    let mut dice = Dice::new(seed ^ 0x7e57);
    let pieces = SIZES[size % SIZES.len()];
    let (from, gap): (&[&str], &str) = match kind % 8 {
        0 | 1 => (PROSE, " "),
        2 => (CODE, ""),
        3 => (CJK, ""),
        4 => (EMOJI, ""),
        5 => (LOG, ""),
        6 => (KEYS, ""),
        _ => return chunks(pieces, &mut dice),
    };
    let mut text = String::from("t");
    for _ in 0..pieces {
        text.push_str(gap);
        text.push_str(dice.pick(from).copied().unwrap_or_default());
    }
    text
}

/// Marked-up context of the kind that retrieval puts into a prompt.
fn chunks(pieces: usize, dice: &mut Dice) -> String {
    let mut text = String::from("Answer from these.\n<documents>\n");
    for at in 1..=pieces.clamp(3, 30) {
        let words = sentence(4 + dice.below(12), dice);
        text.push_str(&format!(
            "<document index=\"{at}\">\n{words}\n</document>\n"
        ));
    }
    text.push_str("</documents>\nWhy does the parser fail?");
    text
}

/// That many words.
pub(crate) fn sentence(words: usize, dice: &mut Dice) -> String {
    let words: Vec<&str> = (0..words).map(|_| dice.word(PROSE)).collect();
    words.join(" ")
}
