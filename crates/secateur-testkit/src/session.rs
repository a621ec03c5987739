//! Conversations that look like real traffic: a coding agent at work, a support chat, a question
//! over retrieved documents.

use std::fmt::Write;

use secateur_core::Dialect;

use crate::conversation::{Call, Conversation, Part, ResultContent, ToolResult, Turn};
use crate::dice::Dice;
use crate::json::Json;
use crate::text::sentence;

const FILES: [&str; 8] = [
    "src/parser.rs",
    "src/lexer.rs",
    "src/main.rs",
    "tests/round_trip.rs",
    "src/report/table.rs",
    "docs/design.md",
    "src/config.rs",
    "src/net/retry.rs",
];
const NAMES: [&str; 10] = [
    "tokens",
    "cursor",
    "depth",
    "report",
    "limit",
    "buffer",
    "state",
    "options",
    "retry_after",
    "checksum",
];

/// A coding agent's session of about `turns` turns: reads, searches, edits and test runs.
#[must_use]
pub fn agent_session(seed: u64, turns: usize) -> Conversation {
    let mut agent = Agent::new(seed);
    while agent.turns.len() < turns {
        agent.work();
    }
    agent.finish()
}

/// A support chat of `turns` turns, with an order looked up now and then.
#[must_use]
pub fn support_chat(seed: u64, turns: usize) -> Conversation {
    let mut dice = Dice::new(seed);
    let mut made = vec![user(
        "Hello, my parcel has not arrived and the café voucher is void.",
    )];
    while made.len() < turns {
        if made.len() % 10 == 3 {
            let id = format!("call_{}", made.len());
            let args = vec![(
                "order".to_owned(),
                Json::text(format!("A-{}", 1000 + dice.below(9000))),
            )];
            let found = format!(
                "{{\"status\":\"{}\",\"eta_days\":{},\"carrier\":\"Post\"}}",
                dice.word(&["shipped", "lost", "delivered"]),
                dice.below(9)
            );
            made.push(Turn::Assistant(vec![Part::Call(call(
                &id,
                "lookup_order",
                args,
            ))]));
            made.push(answer(&id, "lookup_order", found, false));
        } else if matches!(made.last(), Some(Turn::Assistant(_))) {
            let words = 5 + dice.below(25);
            made.push(user(&sentence(words, &mut dice)));
        } else {
            let words = 15 + dice.below(60);
            made.push(Turn::Assistant(vec![Part::plain(sentence(
                words, &mut dice,
            ))]));
        }
    }
    Conversation {
        model: "gpt-5".into(),
        system: vec!["You help customers of a shop. Be brief and kind.".into()],
        system_as_string: true,
        turns: made,
        history_elsewhere: false,
    }
}

/// One question over `chunks` retrieved documents; one of them holds the answer.
#[must_use]
pub fn rag_request(seed: u64, chunks: usize) -> Conversation {
    let mut dice = Dice::new(seed);
    let gold = dice.below(chunks);
    let mut text = String::from("Use these documents.\n<documents>\n");
    for at in 0..chunks {
        let words = 40 + dice.below(80);
        let mut content = sentence(words, &mut dice);
        if at == gold {
            content.push_str(" The retry limit of the billing gateway is seven attempts.");
        }
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "<document index=\"{}\">\n{content}\n</document>\n",
            at + 1
        );
    }
    text.push_str("</documents>\n\nWhat is the retry limit of the billing gateway?");
    Conversation {
        model: "claude-opus-4-6".into(),
        system: vec!["Answer from the documents only.".into()],
        system_as_string: true,
        turns: vec![user(&text)],
        history_elsewhere: false,
    }
}

/// A coding session whose body in this dialect has exactly `bytes` bytes (or the few hundred that
/// a session has at least).
#[must_use]
pub fn body_of_size(dialect: Dialect, bytes: usize) -> Vec<u8> {
    let mut agent = Agent::new(7);
    let mut size = 2048;
    while size < bytes {
        let from = agent.turns.len();
        agent.work();
        let step = Conversation {
            turns: agent.turns[from..].to_vec(),
            ..Conversation::default()
        };
        size += step.body(dialect).len();
        if size > bytes {
            agent.turns.truncate(from);
        }
    }
    let mut session = agent.finish();
    let missing = bytes.saturating_sub(session.body(dialect).len());
    if let Some(Turn::User(parts)) = session.turns.last_mut()
        && let Some(Part::Plain(text)) = parts.last_mut()
    {
        text.extend("and so on, ".chars().cycle().take(missing));
    }
    session.body(dialect)
}

fn user(text: &str) -> Turn {
    Turn::User(vec![Part::plain(text)])
}

fn call(id: &str, name: &str, args: Vec<(String, Json)>) -> Call {
    Call {
        id: id.to_owned(),
        by_name: false,
        name: name.to_owned(),
        args,
        legacy: false,
        signed: false,
    }
}

fn answer(id: &str, name: &str, text: String, is_error: bool) -> Turn {
    Turn::Results {
        groups: vec![vec![ToolResult {
            id: id.to_owned(),
            by_name: false,
            name: name.to_owned(),
            content: ResultContent::Plain(text),
            is_error,
            legacy: false,
        }]],
        then: None,
        first: None,
    }
}

struct Agent {
    dice: Dice,
    turns: Vec<Turn>,
    calls: usize,
}

impl Agent {
    fn new(seed: u64) -> Self {
        let task =
            "Fix the failing round-trip test in tests/round_trip.rs and keep the public API.";
        Self {
            dice: Dice::new(seed),
            turns: vec![user(task)],
            calls: 0,
        }
    }

    fn finish(mut self) -> Conversation {
        self.turns
            .push(user("Now run all tests again and sum up what you changed."));
        Conversation {
            model: "claude-opus-4-6".into(),
            system: vec![
                "You are a coding agent. Read before you edit. Run tests after every edit.".into(),
            ],
            system_as_string: true,
            turns: self.turns,
            history_elsewhere: false,
        }
    }

    /// One step: a call with its result, now and then words of the user or the model.
    fn work(&mut self) {
        let file = self.dice.word(&FILES);
        match self.dice.below(10) {
            0..=3 => {
                let lines = 40 + self.dice.below(160);
                let listing = self.numbered(lines);
                self.call(
                    "Read",
                    vec![("file_path".into(), file.into())],
                    listing,
                    false,
                );
            }
            4 | 5 => {
                let passed = self.dice.below(60);
                let fails = self.dice.one_in(2);
                let output = self.test_run(passed, fails);
                let command = Json::text("cargo test --workspace 2>&1");
                self.call("Bash", vec![("command".into(), command)], output, fails);
            }
            6 | 7 => {
                let (old, new) = (self.code(6), self.code(8));
                let args = vec![
                    ("file_path".into(), file.into()),
                    ("old_string".into(), Json::text(old)),
                    ("new_string".into(), Json::text(new)),
                ];
                self.call(
                    "Edit",
                    args,
                    format!("The file {file} has been updated."),
                    false,
                );
            }
            8 => {
                let mut hits = String::new();
                for at in 0..10 + self.dice.below(30) {
                    let name = self.dice.word(&NAMES);
                    let _ = writeln!(hits, "{file}:{}: let {name} = self.{name}();", at * 13 + 4);
                }
                self.call(
                    "Grep",
                    vec![("pattern".into(), "fn .*token".into())],
                    hits,
                    false,
                );
            }
            _ => {
                let words = 20 + self.dice.below(50);
                let said = sentence(words, &mut self.dice);
                self.turns.push(Turn::Assistant(vec![Part::Text(said)]));
                self.turns.push(user(
                    "Yes, go on — but don't touch the naïve path (see “depth”).",
                ));
            }
        }
    }

    fn call(&mut self, name: &str, args: Vec<(String, Json)>, result: String, is_error: bool) {
        self.calls += 1;
        let id = format!("toolu_{:06}", self.calls);
        let mut parts = Vec::new();
        if self.dice.one_in(3) {
            parts.push(Part::Text(format!("Let me use {name} next.")));
        }
        parts.push(Part::Call(call(&id, name, args)));
        self.turns.push(Turn::Assistant(parts));
        self.turns.push(answer(&id, name, result, is_error));
    }

    fn code(&mut self, lines: usize) -> String {
        let mut code = String::new();
        for _ in 0..lines {
            let (name, other) = (self.dice.word(&NAMES), self.dice.word(&NAMES));
            let _ = match self.dice.below(4) {
                0 => writeln!(code, "    let {name} = self.{other}.next()?; // \"{name}\""),
                1 => writeln!(
                    code,
                    "    if {name} > {} {{ return Err(Error::{other}); }}",
                    self.dice.below(500)
                ),
                2 => writeln!(code, "\tself.{name}.push('\\n');"),
                _ => writeln!(
                    code,
                    "    debug_assert!({name} <= {other}, \"{name} → {other}\");"
                ),
            };
        }
        code
    }

    fn numbered(&mut self, lines: usize) -> String {
        let code = self.code(lines);
        let mut listing = String::new();
        for (at, line) in code.lines().enumerate() {
            let _ = writeln!(listing, "{:6}→{line}", at + 1);
        }
        listing
    }

    fn test_run(&mut self, passed: usize, fails: bool) -> String {
        let mut output =
            String::from("   Compiling app v0.3.1 (/srv/app)\n    Finished `test` profile\n");
        for at in 0..passed {
            let _ = writeln!(output, "test {}::case_{at} ... ok", self.dice.word(&NAMES));
        }
        if fails {
            output.push_str("test round_trip::deep ... FAILED\n\nfailures:\n    thread 'round_trip::deep' panicked at tests/round_trip.rs:41:9:\n    assertion `left == right` failed\n      left: 12\n     right: 13\n");
        }
        let _ = writeln!(
            output,
            "\ntest result: {passed} passed; {} failed",
            u8::from(fails)
        );
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_the_same_for_the_same_seed_and_acceptable_everywhere() {
        for conversation in [
            agent_session(1, 80),
            support_chat(2, 40),
            rag_request(3, 20),
        ] {
            for dialect in Dialect::ALL {
                let body = conversation.body(dialect);
                let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
                assert!(
                    crate::accept::complaints(&value, dialect).is_empty(),
                    "{dialect}"
                );
            }
        }
        assert_eq!(agent_session(5, 50), agent_session(5, 50));
        assert_ne!(agent_session(5, 50), agent_session(6, 50));
    }

    #[test]
    fn a_body_of_a_size_has_that_size() {
        for dialect in Dialect::ALL {
            for bytes in [20_000, 200_000] {
                assert_eq!(body_of_size(dialect, bytes).len(), bytes, "{dialect}");
            }
        }
    }
}
