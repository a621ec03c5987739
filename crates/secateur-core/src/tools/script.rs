//! What a script of tool calls does: codex on gpt-6 models gives its tool `exec` JavaScript such as
//! `const r = await tools.exec_command({"cmd": "cat src/a.rs"}); text(r.output);` (checked November 2026).
//!
//! Not a JavaScript engine: calls `tools.NAME(…)` whose argument is a literal are understood. A script with a call that
//! is not understood, or without any, is unknown.

mod literal;

use super::class::{COMMAND_KEYS, PATH_KEYS, ToolClass};
use super::patch;
use super::shell::ShellEffect;
use literal::{Literal, Reader};

/// What the calls of a script do together; `None` if that is not known. What shows a file counts before what
/// searches or changes one; a command makes the whole a command.
pub(crate) fn effect_of(script: &str) -> Option<ShellEffect> {
    let calls = calls(script)?;
    let mut found: Option<ShellEffect> = None;
    for call in &calls {
        let Some(effect) = of_call(call)? else {
            continue;
        };
        found = Some(match found {
            None => effect,
            Some(before) => before.and(effect),
        });
    }
    found
}

/// The first command line that a script runs, for naming it.
pub(crate) fn first_command(script: &str) -> Option<String> {
    let calls = calls(script)?;
    calls.into_iter().find_map(|call| match command(&call)? {
        Literal::Text(line) => Some(line.clone()),
        Literal::List(words) => Some(words.join(" ")),
        _ => None,
    })
}

/// A call of a tool in a script.
#[derive(Debug)]
struct NestedCall {
    tool: String,
    argument: Literal,
}

/// What a call does: nothing that matters, or a effect; outer `None` if that is not known.
fn of_call(call: &NestedCall) -> Option<Option<ShellEffect>> {
    let path = || text_under(&call.argument, &PATH_KEYS).filter(|path| is_fixed(path));
    let effect = match ToolClass::of(&call.tool) {
        // `write_stdin` sends input to a command that runs.
        ToolClass::Command if call.tool.contains("stdin") => ShellEffect::COMMAND,
        ToolClass::Command => match command(call)? {
            Literal::Text(line) => ShellEffect::of_line(line).with_fixed_file(),
            Literal::List(words) => ShellEffect::of_arguments(words).with_fixed_file(),
            _ => return None,
        },
        ToolClass::Edit => {
            let text = match &call.argument {
                Literal::Text(text) => Some(text.as_str()),
                other => text_under(other, &["patch", "input"]),
            };
            let file = text.and_then(patch::only_file).or_else(path);
            ShellEffect {
                class: ToolClass::Edit,
                file: file.map(str::to_owned),
            }
        }
        ToolClass::Other => return Some(None),
        class => ShellEffect {
            class,
            file: path().map(str::to_owned),
        },
    };
    Some(Some(effect))
}

/// What a call of a tool for commands runs.
fn command(call: &NestedCall) -> Option<&Literal> {
    if ToolClass::of(&call.tool) != ToolClass::Command {
        return None;
    }
    match &call.argument {
        text @ Literal::Text(_) => Some(text),
        Literal::Object(members) => {
            let is_command = |(name, _): &&(String, Literal)| COMMAND_KEYS.contains(&&**name);
            members.iter().find(is_command).map(|(_, value)| value)
        }
        _ => None,
    }
}

fn text_under<'l>(argument: &'l Literal, keys: &[&str]) -> Option<&'l str> {
    let Literal::Object(members) = argument else {
        return None;
    };
    members.iter().find_map(|(name, value)| match value {
        Literal::Text(text) if keys.contains(&&**name) => Some(text.as_str()),
        _ => None,
    })
}

/// Whether no part of a text is known only when the script runs.
fn is_fixed(text: &str) -> bool {
    !text.contains(literal::HOLE)
}

impl ShellEffect {
    fn with_fixed_file(mut self) -> Self {
        self.file = self.file.filter(|file| is_fixed(file));
        self
    }

    fn and(self, other: Self) -> Self {
        let rank = |class: ToolClass| match class {
            ToolClass::Command => 3,
            ToolClass::Read => 2,
            ToolClass::Search => 1,
            _ => 0,
        };
        let same_file = self.file == other.file;
        let mut effect = if rank(other.class) > rank(self.class) {
            other
        } else {
            self
        };
        if !same_file || effect.class == ToolClass::Command {
            effect.file = None;
        }
        effect
    }
}

/// The calls of tools in a script, in order; `None` if there are none or the script cannot be followed.
fn calls(script: &str) -> Option<Vec<NestedCall>> {
    let mut reader = Reader::of(script);
    let mut calls = Vec::new();
    while let Some(tool) = reader.next_call()? {
        let argument = reader.argument();
        calls.push(NestedCall { tool, argument });
    }
    (!calls.is_empty()).then_some(calls)
}

#[cfg(test)]
mod tests;
