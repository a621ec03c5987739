//! What a script is made of, and how it is written down.

use serde_json::Value;

use super::Turn;

/// One thing that the model does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads a file: all of it, or `count` lines from `first` on.
    Read {
        /// Where it is.
        path: String,
        /// The first line, from 1, and the number of lines.
        lines: Option<(u64, u64)>,
    },
    /// Searches for a regular expression in all files of a folder.
    Search {
        /// What to look for.
        pattern: String,
        /// Where.
        folder: String,
    },
    /// Runs a command of the shell.
    Shell {
        /// The command.
        command: String,
    },
    /// Replaces a text that occurs once in a file.
    Edit {
        /// Which file.
        path: String,
        /// What goes.
        old: String,
        /// What comes.
        new: String,
    },
    /// Writes a new file.
    Write {
        /// Which file.
        path: String,
        /// Its content.
        text: String,
    },
}

/// What is wrong with a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError(String);

impl std::fmt::Display for ScriptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the script is not valid: {}", self.0)
    }
}

impl std::error::Error for ScriptError {}

/// Reads `{"turns": [{"prompt": …, "steps": [[operation, …], …]}, …]}`.
pub(super) fn read_turns(text: &str) -> Result<Vec<Turn>, ScriptError> {
    let script: Value =
        serde_json::from_str(text).map_err(|error| ScriptError(error.to_string()))?;
    let turns = list(&script["turns"], "turns")?;
    let turn = |(at, turn): (usize, &Value)| {
        let place = format!("turns[{at}]");
        let steps = list(&turn["steps"], &format!("{place}.steps"))?;
        let step = |(at, step): (usize, &Value)| {
            let place = format!("{place}.steps[{at}]");
            list(step, &place)?
                .iter()
                .map(|value| operation(value, &place))
                .collect()
        };
        Ok(Turn {
            prompt: text_of(turn, "prompt", &place)?,
            steps: steps
                .iter()
                .enumerate()
                .map(step)
                .collect::<Result<_, _>>()?,
        })
    };
    turns.iter().enumerate().map(turn).collect()
}

fn operation(value: &Value, place: &str) -> Result<Operation, ScriptError> {
    let text = |key: &str| text_of(value, key, place);
    let has = |key: &str| value.get(key).is_some();
    if has("read") {
        let lines = value["first"].as_u64().zip(value["count"].as_u64());
        if lines.is_none() && (has("first") || has("count")) {
            return Err(ScriptError(format!(
                "{place}: `first` and `count` are two numbers"
            )));
        }
        let path = text("read")?;
        Ok(Operation::Read { path, lines })
    } else if has("search") {
        Ok(Operation::Search {
            pattern: text("search")?,
            folder: text("folder")?,
        })
    } else if has("shell") {
        Ok(Operation::Shell {
            command: text("shell")?,
        })
    } else if has("edit") {
        Ok(Operation::Edit {
            path: text("edit")?,
            old: text("old")?,
            new: text("new")?,
        })
    } else if has("write") {
        Ok(Operation::Write {
            path: text("write")?,
            text: text("text")?,
        })
    } else {
        Err(ScriptError(format!(
            "{place}: an operation is one of read, search, shell, edit, write"
        )))
    }
}

fn list<'v>(value: &'v Value, place: &str) -> Result<&'v [Value], ScriptError> {
    match value {
        Value::Array(items) if !items.is_empty() => Ok(items),
        _ => Err(ScriptError(format!(
            "{place}: a list that is not empty is needed"
        ))),
    }
}

fn text_of(value: &Value, key: &str, place: &str) -> Result<String, ScriptError> {
    match value[key].as_str() {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(ScriptError(format!(
            "{place}: `{key}` is a text that is not empty"
        ))),
    }
}
