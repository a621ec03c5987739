//! Scripted sessions: the provider leads a real coding agent through a list of operations.
//!
//! An operation is abstract ("read this file"); [`Toolset`] turns it into a call of the tool that the
//! agent declared. The step is derived from each request alone, so agents may retry, restart and resume.

mod operation;
mod progress;
mod toolset;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::answer::{Answer, Call, closing_text};
use crate::request::Api;
pub use operation::{Operation, ScriptError};
pub use progress::Progress;
use progress::{Conversation, first_number};
use toolset::Toolset;

/// A session: what the user says in each turn, and what the model does then.
#[derive(Clone, Debug)]
pub struct Script {
    turns: Vec<Turn>,
    /// Where relative paths of the operations begin.
    root: PathBuf,
}

#[derive(Clone, Debug)]
struct Turn {
    prompt: String,
    /// Operations that are called together form a step.
    steps: Vec<Vec<Operation>>,
}

/// What the model says beside its calls.
const REMARKS: [&str; 4] = [
    "First the layout of the project.",
    "This part is clear; on to the next one.",
    "Now the part that uses it.",
    "As expected. One more check.",
];

const CLOSING: &str = "Finished: the changes are made, and I looked at the build and the tests.";

impl Script {
    /// Reads a script from JSON; relative paths in it begin at `root`.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn read(text: &str, root: &Path) -> Result<Self, ScriptError> {
        Ok(Self {
            turns: operation::read_turns(text)?,
            root: root.to_owned(),
        })
    }

    /// The answer to a request of an agent, and how far its session is.
    ///
    /// A request without the tools of a known agent gets a text: agents also ask for titles and summaries.
    pub(crate) fn answer(&self, api: Api, body: &Value, id: u64) -> (Answer, Option<Progress>) {
        let conversation = Conversation::read(api, body);
        let mut answer = Answer {
            id,
            text: String::new(),
            calls: Vec::new(),
            thinking: None,
        };
        let turn = self.turn_of(&conversation);
        let (Some(toolset), Some(turn)) = (Toolset::detect(&conversation.tools), turn) else {
            answer.text = closing_text(api, body, id);
            return (answer, None);
        };
        let progress = Progress {
            turn,
            calls: conversation.calls,
            is_finished: conversation.calls >= self.calls_until(turn),
        };
        let mut next = self.next(&progress);
        if body["parallel_tool_calls"] == false {
            next.truncate(1);
        }
        if next.is_empty() {
            answer.text = CLOSING.to_owned();
            return (answer, Some(progress));
        }
        let first = first_number(conversation.calls);
        answer.id = first;
        answer.text = REMARKS[conversation.calls % REMARKS.len()].to_owned();
        answer.thinking = wants_thinking(api, body).then(|| {
            format!(
                "Step {}: the last result agrees with the plan, so the next operation follows.",
                conversation.calls
            )
        });
        answer.calls = (first..)
            .zip(next)
            .map(|(number, operation)| {
                let (name, input) = toolset.call(operation, &self.root, &conversation.tools);
                Call {
                    number,
                    name,
                    input,
                }
            })
            .collect();
        (answer, Some(progress))
    }

    /// The turn whose prompt the conversation has reached.
    fn turn_of(&self, conversation: &Conversation) -> Option<usize> {
        let is_asked = |turn: &Turn| conversation.user_says(&turn.prompt);
        self.turns.iter().rposition(is_asked)
    }

    /// How many calls there are when a turn has ended.
    fn calls_until(&self, turn: usize) -> usize {
        let steps = self
            .turns
            .iter()
            .take(turn + 1)
            .flat_map(|turn| &turn.steps);
        steps.map(Vec::len).sum()
    }

    /// The operations of the current step that were not called yet.
    fn next(&self, progress: &Progress) -> Vec<&Operation> {
        let mut begun = 0;
        for step in self.turns[..=progress.turn]
            .iter()
            .flat_map(|turn| &turn.steps)
        {
            if progress.calls < begun + step.len() {
                return step
                    .iter()
                    .skip(progress.calls.saturating_sub(begun))
                    .collect();
            }
            begun += step.len();
        }
        Vec::new()
    }
}

/// Whether the request asks for thinking, in the way of its API.
fn wants_thinking(api: Api, body: &Value) -> bool {
    match api {
        Api::Messages => matches!(
            body["thinking"]["type"].as_str(),
            Some("enabled" | "adaptive")
        ),
        Api::Responses => body["reasoning"].is_object(),
        Api::Gemini => {
            body.pointer("/generationConfig/thinkingConfig/includeThoughts")
                == Some(&Value::Bool(true))
        }
        Api::Chat => false,
    }
}

#[cfg(test)]
mod tests;
