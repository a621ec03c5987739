//! Operations as calls of the tools that each agent declares. Checked November 2026 against Claude Code
//! 2.1, codex 0.169, Gemini CLI 0.61, opencode 1.18 and pi 0.73.

use std::path::Path;

use serde_json::{Value, json};

use super::operation::Operation;
use super::progress::Tools;
use crate::answer::CallInput;

/// Output that codex hands to the model at most, in tokens.
const CODEX_OUTPUT_TOKENS: usize = 20_000;

/// The agents whose tools are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Toolset {
    ClaudeCode,
    /// codex with commands and patches as tools.
    Codex,
    /// codex with one tool that runs JavaScript.
    CodexExec,
    GeminiCli,
    Opencode,
    Pi,
}

impl Toolset {
    pub(super) fn detect(tools: &Tools) -> Option<Self> {
        let has = |name: &str| tools.contains_key(name);
        let reads_file_path = || {
            tools["read"]
                .arguments
                .iter()
                .any(|name| name == "filePath")
        };
        if has("Read") && has("Bash") {
            Some(Self::ClaudeCode)
        } else if has("exec_command") {
            Some(Self::Codex)
        } else if has("exec") {
            Some(Self::CodexExec)
        } else if has("run_shell_command") {
            Some(Self::GeminiCli)
        } else if has("read") && has("bash") {
            Some(if reads_file_path() {
                Self::Opencode
            } else {
                Self::Pi
            })
        } else {
            None
        }
    }

    /// The tool's name and input.
    pub(super) fn call(
        self,
        operation: &Operation,
        root: &Path,
        tools: &Tools,
    ) -> (String, CallInput) {
        let (name, input) = match self {
            Self::ClaudeCode => claude_code(operation, root, tools),
            Self::Codex => return codex(operation, tools),
            Self::CodexExec => return codex_exec(operation),
            Self::GeminiCli => gemini_cli(operation, root),
            Self::Opencode => opencode(operation, root),
            Self::Pi => pi(operation, root, tools),
        };
        (name.to_owned(), CallInput::Arguments(input))
    }
}

fn absolute(root: &Path, path: &str) -> String {
    let joined = if path == "." {
        root.to_owned()
    } else {
        root.join(path)
    };
    joined.to_string_lossy().into_owned()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// An operation as a command, for agents that have no tool for it.
fn command(operation: &Operation) -> String {
    match operation {
        Operation::Read { path, lines: None } => format!("cat {}", quoted_path(path)),
        Operation::Read {
            path,
            lines: Some((first, count)),
        } => format!(
            "sed -n '{first},{}p' {}",
            first + count - 1,
            quoted_path(path)
        ),
        Operation::Search { pattern, folder } => {
            format!(
                "grep -rnE --exclude-dir=.git {} {}",
                quoted(pattern),
                quoted_path(folder)
            )
        }
        Operation::Shell { command } => command.clone(),
        Operation::Edit { .. } | Operation::Write { .. } => {
            format!("apply_patch <<'EOF'\n{}EOF", patch(operation))
        }
    }
}

/// Paths are quoted only where they must be, as models do.
fn quoted_path(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    if path.chars().all(is_plain) {
        path.to_owned()
    } else {
        quoted(path)
    }
}

/// A change in the patch format of codex.
fn patch(operation: &Operation) -> String {
    let prefixed = |sign: char, text: &str| -> String {
        text.lines().map(|line| format!("{sign}{line}\n")).collect()
    };
    let change = match operation {
        Operation::Edit { path, old, new } => format!(
            "*** Update File: {path}\n@@\n{}{}",
            prefixed('-', old),
            prefixed('+', new)
        ),
        Operation::Write { path, text } => {
            format!("*** Add File: {path}\n{}", prefixed('+', text))
        }
        _ => String::new(),
    };
    format!("*** Begin Patch\n{change}*** End Patch\n")
}

/// Arguments of a read with the range under the names that the tool has for it.
fn with_lines(mut input: Value, lines: Option<(u64, u64)>) -> Value {
    if let Some((first, count)) = lines {
        input["offset"] = json!(first);
        input["limit"] = json!(count);
    }
    input
}

fn claude_code(operation: &Operation, root: &Path, tools: &Tools) -> (&'static str, Value) {
    let at = |path: &str| absolute(root, path);
    match operation {
        Operation::Read { path, lines } => {
            ("Read", with_lines(json!({"file_path": at(path)}), *lines))
        }
        Operation::Search { pattern, folder } if tools.contains_key("Grep") => (
            "Grep",
            json!({"pattern": pattern, "path": at(folder), "output_mode": "content", "-n": true}),
        ),
        Operation::Search { .. } | Operation::Shell { .. } => (
            "Bash",
            json!({"command": command(operation), "description": "Run it in the project"}),
        ),
        Operation::Edit { path, old, new } => (
            "Edit",
            json!({"file_path": at(path), "old_string": old, "new_string": new}),
        ),
        Operation::Write { path, text } => {
            ("Write", json!({"file_path": at(path), "content": text}))
        }
    }
}

fn codex(operation: &Operation, tools: &Tools) -> (String, CallInput) {
    if let (Operation::Edit { .. } | Operation::Write { .. }, Some(tool)) =
        (operation, tools.get("apply_patch"))
    {
        let patch = patch(operation);
        let input = if tool.is_custom {
            CallInput::Text(patch)
        } else {
            CallInput::Arguments(json!({ "input": patch }))
        };
        return ("apply_patch".to_owned(), input);
    }
    let input = json!({"cmd": command(operation), "max_output_tokens": CODEX_OUTPUT_TOKENS});
    ("exec_command".to_owned(), CallInput::Arguments(input))
}

fn codex_exec(operation: &Operation) -> (String, CallInput) {
    let source = match operation {
        Operation::Edit { .. } | Operation::Write { .. } => format!(
            "text(await tools.apply_patch({}));\n",
            Value::from(patch(operation))
        ),
        _ => {
            let input =
                json!({"cmd": command(operation), "max_output_tokens": CODEX_OUTPUT_TOKENS});
            format!(
                "// @exec: {}\nconst result = await tools.exec_command({input});\ntext(result.output);\n",
                json!({"max_output_tokens": CODEX_OUTPUT_TOKENS})
            )
        }
    };
    ("exec".to_owned(), CallInput::Text(source))
}

fn gemini_cli(operation: &Operation, root: &Path) -> (&'static str, Value) {
    let at = |path: &str| absolute(root, path);
    match operation {
        Operation::Read { path, lines: None } => ("read_file", json!({"file_path": at(path)})),
        Operation::Read {
            path,
            lines: Some((first, count)),
        } => (
            "read_file",
            json!({"file_path": at(path), "start_line": first, "end_line": first + count - 1}),
        ),
        Operation::Search { pattern, folder } => (
            "grep_search",
            json!({"pattern": pattern, "dir_path": at(folder)}),
        ),
        Operation::Shell { command } => (
            "run_shell_command",
            json!({"command": command, "description": "Run it in the project"}),
        ),
        Operation::Edit { path, old, new } => (
            "replace",
            json!({"file_path": at(path), "instruction": "Replace the text.", "old_string": old, "new_string": new}),
        ),
        Operation::Write { path, text } => (
            "write_file",
            json!({"file_path": at(path), "content": text}),
        ),
    }
}

fn opencode(operation: &Operation, root: &Path) -> (&'static str, Value) {
    let at = |path: &str| absolute(root, path);
    match operation {
        Operation::Read { path, lines } => {
            ("read", with_lines(json!({"filePath": at(path)}), *lines))
        }
        // Its own search needs a program that it downloads.
        Operation::Search { .. } | Operation::Shell { .. } => (
            "bash",
            json!({"command": command(operation), "description": "Run it in the project"}),
        ),
        Operation::Edit { path, old, new } => (
            "edit",
            json!({"filePath": at(path), "oldString": old, "newString": new}),
        ),
        Operation::Write { path, text } => {
            ("write", json!({"filePath": at(path), "content": text}))
        }
    }
}

fn pi(operation: &Operation, root: &Path, tools: &Tools) -> (&'static str, Value) {
    let at = |path: &str| absolute(root, path);
    match operation {
        Operation::Read { path, lines } => ("read", with_lines(json!({"path": at(path)}), *lines)),
        Operation::Search { .. } | Operation::Shell { .. } => {
            ("bash", json!({"command": command(operation)}))
        }
        Operation::Edit { path, old, new } => {
            let takes_several = tools
                .get("edit")
                .is_some_and(|tool| tool.arguments.iter().any(|name| name == "edits"));
            let edit = json!({"oldText": old, "newText": new});
            let input = if takes_several {
                json!({"path": at(path), "edits": [edit]})
            } else {
                json!({"path": at(path), "oldText": old, "newText": new})
            };
            ("edit", input)
        }
        Operation::Write { path, text } => ("write", json!({"path": at(path), "content": text})),
    }
}
