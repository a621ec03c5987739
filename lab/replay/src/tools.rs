//! What a tool does, told from its name and arguments.

use std::sync::Arc;

use secateur_replay::ToolCall;
use serde_json::Value;

/// Kinds of results; each ages in its own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Not a result, or a result whose call is unknown: never cut.
    Kept,
    /// A file's content.
    Read,
    /// Output of a command.
    Command,
    /// Hits of a search, names of files.
    Search,
    /// The answer of an edit or a write.
    Edit,
    /// The report of a sub-agent.
    Task,
    /// Anything else.
    Other,
}

/// The class of a call's result. Names are compared without case.
pub fn class_of(call: Option<&Arc<ToolCall>>) -> Class {
    let Some(call) = call else { return Class::Kept };
    let name = call.name.to_ascii_lowercase();
    match name.as_str() {
        "" => Class::Kept,
        "read" | "view" | "read_file" | "open_file" | "cat" | "notebookread" => Class::Read,
        "bash" | "shell" | "exec" | "run" | "execute_command" | "run_command" | "terminal" => {
            Class::Command
        }
        "grep" | "glob" | "search" | "find" | "ls" | "list" | "list_files" | "search_files" => {
            Class::Search
        }
        "edit" | "write" | "multiedit" | "notebookedit" | "str_replace" | "write_file"
        | "edit_file" | "apply_patch" => Class::Edit,
        "task" | "agent" => Class::Task,
        _ => Class::Other,
    }
}

/// The file that a call is about.
pub fn path_of(call: &ToolCall) -> Option<&str> {
    [
        "file_path",
        "path",
        "filePath",
        "notebook_path",
        "filename",
        "file",
    ]
    .into_iter()
    .find_map(|key| call.input.get(key).and_then(Value::as_str))
    .filter(|path| !path.is_empty())
}

/// The last component of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
