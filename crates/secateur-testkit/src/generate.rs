//! From genes to turns.

use crate::choices::Choices;
use crate::conversation::{
    Call, Conversation, Media, Part, ResultContent, Thinking, ToolResult, Turn,
};
use crate::json::Json;
use crate::text;

/// The decisions of one step.
pub type Gene = [u8; 14];

/// What a generated conversation may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Acceptable to every provider, by construction.
    Valid,
    /// Also orphans, unanswered calls, duplicate ids, empty turns, strange roles, any order.
    Dirty,
}

const TOOLS: [&str; 5] = ["Read", "bash", "edit_file", "search.docs", "skill"];
const MODELS: [&str; 7] = [
    "claude-opus-4-6",
    "claude-fable-5-1",
    "gpt-5",
    "",
    "gemini-2.5-pro",
    "claude-next",
    "gpt-6.1-sol",
];
const VALID_STEPS: usize = 16;
const ALL_STEPS: usize = 30;

/// The conversation that these genes decide; `frame` is what stands around the turns.
pub(crate) fn conversation(mode: Mode, frame: &Gene, genes: &[Gene]) -> Conversation {
    let mut frame = Choices::new(frame);
    let mut made = Maker {
        turns: Vec::new(),
        ids: 0,
        is_valid: mode == Mode::Valid,
    };
    let model = MODELS[frame.below(MODELS.len())].to_owned();
    let system = (0..frame.below(3)).map(|_| some_text(&mut frame)).collect();
    let system_as_string = frame.rarely(2);
    let history_elsewhere = frame.rarely(30);
    let starts_late = !made.is_valid && frame.rarely(4);
    if !starts_late {
        made.turns
            .push(Turn::User(vec![Part::Plain(some_text(&mut frame))]));
    }
    for gene in genes {
        made.step(gene);
    }
    Conversation {
        model,
        system,
        system_as_string,
        turns: made.turns,
        history_elsewhere,
    }
}

fn some_text(choices: &mut Choices<'_>) -> String {
    let (kind, size, seed) = (choices.below(8), choices.below(24), choices.byte());
    text::mean(kind, size, u64::from(seed))
}

struct Maker {
    turns: Vec<Turn>,
    ids: usize,
    is_valid: bool,
}

impl Maker {
    fn step(&mut self, gene: &Gene) {
        let mut choices = Choices::new(gene);
        let kinds = if self.is_valid {
            VALID_STEPS
        } else {
            ALL_STEPS
        };
        let kind = choices.below(kinds);
        let choices = &mut choices;
        match kind {
            0 => self.user(vec![Part::Plain(some_text(choices))]),
            1 => self.assistant(vec![Part::Plain(some_text(choices))]),
            2 => self.exchange(1, Vec::new(), choices),
            3 => {
                let calls = 2 + choices.below(3);
                self.exchange(calls, Vec::new(), choices);
            }
            4 => {
                let said = vec![Part::Text(some_text(choices))];
                self.exchange(1, said, choices);
            }
            5 => {
                let media = [Media::Image, Media::Document, Media::Audio][choices.below(3)];
                let text = Part::Text(some_text(choices));
                self.user(vec![text, Part::Media(media)]);
            }
            6 => {
                let parts = (0..=choices.below(3)).map(|at| match at {
                    1 => Part::Marked(some_text(choices)),
                    _ => Part::Text(some_text(choices)),
                });
                let parts = parts.collect();
                self.user(parts);
            }
            7 => {
                let parts = vec![thinking(choices), Part::Text(some_text(choices))];
                self.assistant(parts);
            }
            8 => {
                let said = vec![thinking(choices)];
                let calls = 1 + choices.below(2);
                self.exchange(calls, said, choices);
            }
            9 => {
                let parts = vec![
                    Part::ServerTool(some_text(choices)),
                    Part::Text(some_text(choices)),
                ];
                self.assistant(parts);
            }
            10 => {
                let parts = vec![
                    Part::Text(some_text(choices)),
                    Part::Unknown(some_text(choices)),
                ];
                if choices.rarely(2) {
                    self.assistant(parts);
                } else {
                    self.user(parts);
                }
            }
            11 => self.turns.push(Turn::System(some_text(choices))),
            12 => {
                let parts = vec![
                    Part::Compaction(some_text(choices)),
                    Part::Text(some_text(choices)),
                ];
                self.assistant(parts);
            }
            13 => {
                self.user(vec![Part::Plain("What about this?".into())]);
                self.assistant(vec![Part::Plain(some_text(choices))]);
            }
            14 => self.legacy(choices),
            15 => {
                let calls = 1 + choices.below(2);
                let then = some_text(choices);
                self.exchange(calls, Vec::new(), choices);
                if let Some(Turn::Results { then: behind, .. }) = self.turns.last_mut() {
                    *behind = Some(then);
                }
            }
            other => self.dirty_step(other, choices),
        }
    }

    fn dirty_step(&mut self, kind: usize, choices: &mut Choices<'_>) {
        match kind {
            // A result that answers nothing.
            16 => {
                let orphan = self.call(choices);
                let result = answer(&orphan, choices);
                self.results(vec![vec![result]]);
            }
            // A call that nothing answers.
            17 => {
                let call = self.call(choices);
                self.turns.push(Turn::Assistant(vec![Part::Call(call)]));
            }
            // One id twice in a turn.
            18 => {
                let call = self.call(choices);
                let results = (0..=choices.below(3))
                    .map(|_| answer(&call, choices))
                    .collect();
                self.turns.push(Turn::Assistant(vec![
                    Part::Call(call.clone()),
                    Part::Call(call),
                ]));
                self.results(vec![results]);
            }
            // An id that an earlier turn used.
            19 => {
                self.ids = self.ids.saturating_sub(1);
                self.exchange(1, Vec::new(), choices);
            }
            // Words before results in one message.
            20 => {
                let before = some_text(choices);
                self.exchange(1, Vec::new(), choices);
                if let Some(Turn::Results { first, .. }) = self.turns.last_mut() {
                    *first = Some(before);
                }
            }
            21 => {
                let blank = ["", " ", "\n\t", "\u{a0}"][choices.below(4)].to_owned();
                let part = if choices.rarely(2) {
                    Part::Plain(blank)
                } else {
                    Part::Text(blank)
                };
                let turn = if choices.rarely(2) {
                    Turn::Assistant
                } else {
                    Turn::User
                };
                self.turns.push(turn(vec![part]));
            }
            22 => self.turns.push(Turn::Stranger(some_text(choices))),
            // A user turn between a call and its result.
            23 => {
                self.exchange(1 + choices.below(2), Vec::new(), choices);
                let at = self.turns.len().saturating_sub(1);
                self.turns
                    .insert(at, Turn::User(vec![Part::Plain(some_text(choices))]));
            }
            24 => self
                .turns
                .push(Turn::Assistant(vec![Part::Text(some_text(choices))])),
            // A turn without content.
            25 => {
                let turn = if choices.rarely(2) {
                    Turn::Assistant
                } else {
                    Turn::User
                };
                self.turns.push(turn(Vec::new()));
            }
            26 => self.turns.push(Turn::Assistant(vec![thinking(choices)])),
            // Only some of the parallel calls are answered.
            27 => {
                self.exchange(3, Vec::new(), choices);
                if let Some(Turn::Results { groups, .. }) = self.turns.last_mut() {
                    for group in groups.iter_mut() {
                        group.truncate(1);
                    }
                }
            }
            // Results before their call.
            28 => {
                self.exchange(2, Vec::new(), choices);
                let count = self.turns.len();
                if count >= 2 {
                    self.turns.swap(count - 1, count - 2);
                }
            }
            // Calls without ids.
            _ => {
                let mut call = self.call(choices);
                call.id.clear();
                let result = answer(&call, choices);
                self.turns.push(Turn::Assistant(vec![Part::Call(call)]));
                self.results(vec![vec![result]]);
            }
        }
    }

    fn user(&mut self, parts: Vec<Part>) {
        self.turns.push(Turn::User(parts));
    }

    /// In valid conversations the model never speaks twice in a row.
    fn assistant(&mut self, parts: Vec<Part>) {
        let mut spoken = self
            .turns
            .iter()
            .rev()
            .filter(|turn| !matches!(turn, Turn::System(_)));
        let is_after_model = matches!(spoken.next(), Some(Turn::Assistant(_)));
        if self.is_valid && is_after_model {
            self.user(vec![Part::Plain("Go on.".into())]);
        }
        self.turns.push(Turn::Assistant(parts));
    }

    fn results(&mut self, groups: Vec<Vec<ToolResult>>) {
        self.turns.push(Turn::Results {
            groups,
            then: None,
            first: None,
        });
    }

    fn call(&mut self, choices: &mut Choices<'_>) -> Call {
        self.ids += 1;
        let name = TOOLS[choices.below(TOOLS.len())];
        let value = match choices.below(3) {
            0 => Json::text("src/lib.rs"),
            1 => Json::text(some_text(choices)),
            _ => Json::object([(
                "deep",
                Json::Arr(vec![Json::Num("1.50".into()), Json::Null]),
            )]),
        };
        let mut args = if choices.rarely(6) {
            Vec::new()
        } else {
            vec![("path".to_owned(), value)]
        };
        if name == "edit_file" {
            let old = format!(
                "{}{}",
                some_text(choices),
                "an old line, caf\u{e9}\n".repeat(12)
            );
            args.push(("old_string".to_owned(), Json::text(old)));
        }
        Call {
            id: format!("call_{}/é", self.ids),
            by_name: choices.rarely(3),
            name: name.to_owned(),
            args,
            legacy: false,
            signed: choices.rarely(3),
        }
    }

    /// Calls and all their results, in any order; one group in valid conversations.
    fn exchange(&mut self, count: usize, mut said: Vec<Part>, choices: &mut Choices<'_>) {
        let calls: Vec<Call> = (0..count).map(|_| self.call(choices)).collect();
        let mut results: Vec<ToolResult> = calls.iter().map(|call| answer(call, choices)).collect();
        if choices.rarely(2) {
            results.reverse();
        }
        said.extend(calls.into_iter().map(Part::Call));
        self.assistant(said);
        let groups = if !self.is_valid && choices.rarely(2) {
            results.into_iter().map(|result| vec![result]).collect()
        } else {
            vec![results]
        };
        self.results(groups);
    }

    /// One call in the old style.
    fn legacy(&mut self, choices: &mut Choices<'_>) {
        let mut call = self.call(choices);
        call.legacy = true;
        let result = answer(&call, choices);
        self.assistant(vec![Part::Call(call)]);
        self.results(vec![vec![result]]);
    }
}

fn thinking(choices: &mut Choices<'_>) -> Part {
    Part::Thinking(if choices.rarely(3) {
        Thinking::Redacted
    } else {
        Thinking::Signed(some_text(choices))
    })
}

fn answer(call: &Call, choices: &mut Choices<'_>) -> ToolResult {
    let content = match choices.below(8) {
        0..=2 => ResultContent::Plain(some_text(choices)),
        3 => ResultContent::Blocks(vec![some_text(choices)]),
        4 => ResultContent::Blocks((0..3).map(|_| some_text(choices)).collect()),
        5 => ResultContent::WithImage(some_text(choices)),
        6 => ResultContent::Structured(vec![
            (
                "rows".into(),
                Json::Arr(vec![
                    Json::Num("1e3".into()),
                    Json::text(some_text(choices)),
                ]),
            ),
            ("ok".into(), Json::Bool(true)),
        ]),
        _ => ResultContent::Empty,
    };
    let is_error = choices.rarely(5);
    let content = match content {
        // Where the dialect has no mark for it, the text says that a call failed.
        ResultContent::Plain(text) if is_error => ResultContent::Plain(format!("Error: {text}")),
        other => other,
    };
    ToolResult {
        id: call.id.clone(),
        by_name: call.by_name,
        name: call.name.clone(),
        content,
        is_error,
        legacy: call.legacy,
    }
}
