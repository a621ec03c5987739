//! How JSON is written: white space, order of members, escapes, and members that nobody knows.

use crate::dice::Dice;
use crate::json::Json;

/// How JSON is written. The default is compact, in order and with the fewest escapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spelling {
    /// Decides where a quirk shows.
    pub seed: u64,
    /// White space between tokens.
    pub spaces: bool,
    /// Members in any order, so that `role` and `type` are not first.
    pub shuffled: bool,
    /// Escapes that JSON allows and nobody needs (`\u00e9`, `\/`, surrogate pairs), in keys too.
    pub escapes: bool,
    /// Unknown members with odd numbers in messages and blocks.
    pub unknown_members: bool,
}

const NUMBERS: [&str; 6] = [
    "1.0e5",
    "-0",
    "1E+2",
    "0.10",
    "12345678901234567890123",
    "2.5e-3",
];
const SPACES: [&str; 6] = [" ", "\n", "  ", "\t", "\r\n", " \n  "];

impl Spelling {
    /// Every quirk at once.
    #[must_use]
    pub fn wild(seed: u64) -> Self {
        Self {
            seed,
            spaces: true,
            shuffled: true,
            escapes: true,
            unknown_members: true,
        }
    }

    /// The quirks that the bits name.
    #[must_use]
    pub fn of_bits(bits: u8, seed: u64) -> Self {
        Self {
            seed,
            spaces: bits & 1 != 0,
            shuffled: bits & 2 != 0,
            escapes: bits & 4 != 0,
            unknown_members: bits & 8 != 0,
        }
    }

    /// The value as bytes.
    #[must_use]
    pub fn write(self, value: &Json) -> Vec<u8> {
        let mut pen = Pen {
            dice: Dice::new(self.seed),
            how: self,
            out: String::new(),
        };
        pen.space();
        pen.value(value);
        pen.space();
        pen.out.into_bytes()
    }
}

struct Pen {
    dice: Dice,
    how: Spelling,
    out: String,
}

impl Pen {
    fn space(&mut self) {
        if self.how.spaces && self.dice.one_in(3) {
            let space = self.dice.word(&SPACES);
            self.out.push_str(space);
        }
    }

    fn value(&mut self, value: &Json) {
        match value {
            Json::Null => self.out.push_str("null"),
            Json::Bool(true) => self.out.push_str("true"),
            Json::Bool(false) => self.out.push_str("false"),
            Json::Num(number) => self.out.push_str(number),
            Json::Str(text) => self.string(text, 40),
            Json::Arr(elements) => {
                self.out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    self.comma(at);
                    self.value(element);
                    self.space();
                }
                self.out.push(']');
            }
            Json::Obj(members) => self.object(members),
        }
    }

    fn comma(&mut self, at: usize) {
        if at > 0 {
            self.out.push(',');
        }
        self.space();
    }

    fn object(&mut self, members: &[(String, Json)]) {
        let mut members: Vec<(String, Json)> = members.to_vec();
        let is_known = |key: &str| members.iter().any(|(name, _)| name == key);
        let is_message_or_block = is_known("role") || is_known("type") || is_known("parts");
        if self.how.unknown_members && is_message_or_block && self.dice.one_in(4) {
            members.push(("x_trace".to_owned(), self.oddity()));
        }
        if self.how.shuffled {
            for at in (1..members.len()).rev() {
                let other = self.dice.below(at + 1);
                members.swap(at, other);
            }
        }
        self.out.push('{');
        for (at, (key, value)) in members.iter().enumerate() {
            self.comma(at);
            self.string(key, 300);
            self.space();
            self.out.push(':');
            self.space();
            self.value(value);
            self.space();
        }
        self.out.push('}');
    }

    fn oddity(&mut self) -> Json {
        let number = Json::Num(self.dice.word(&NUMBERS).to_owned());
        Json::object([
            ("at", number),
            ("messages", Json::Arr(vec![Json::Null, Json::text("é/🙂")])),
        ])
    }

    /// One in `plain` plain characters is escaped without need.
    fn string(&mut self, text: &str, plain: usize) {
        self.out.push('"');
        for character in text.chars() {
            let needless = match character {
                '"' | '\\' => false,
                '/' => self.how.escapes && self.dice.one_in(3),
                plain_one if plain_one.is_ascii() => self.how.escapes && self.dice.one_in(plain),
                _ => self.how.escapes && self.dice.one_in(2),
            };
            match character {
                '/' if needless => self.out.push_str("\\/"),
                _ if needless => self.units(character),
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                control if control < ' ' => self.units(control),
                other => self.out.push(other),
            }
        }
        self.out.push('"');
    }

    /// The character as `\u` escapes, in capitals or not.
    fn units(&mut self, character: char) {
        let capitals = self.dice.one_in(2);
        for unit in character.encode_utf16(&mut [0; 2]) {
            let escape = if capitals {
                format!("\\u{unit:04X}")
            } else {
                format!("\\u{unit:04x}")
            };
            self.out.push_str(&escape);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_value_means_the_same() {
        let value = Json::object([
            ("role", Json::text("us\u{1}er")),
            ("text", Json::text("caf\u{e9}/漢\u{1f642}\n\"\\")),
            (
                "list",
                Json::Arr(vec![Json::Num("1.50".into()), Json::Bool(true)]),
            ),
        ]);
        let plain = Spelling::default().write(&value);
        let expected: serde_json::Value = serde_json::from_slice(&plain).unwrap();
        for seed in 0..200 {
            let how = Spelling {
                unknown_members: false,
                ..Spelling::wild(seed)
            };
            let found: serde_json::Value = serde_json::from_slice(&how.write(&value)).unwrap();
            assert_eq!(found, expected);
        }
        assert!(
            serde_json::from_slice::<serde_json::Value>(&Spelling::wild(7).write(&value)).is_ok()
        );
    }
}
