//! What a tool does, by its name: each kind of result is outdated in its own way.

/// Kinds of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolClass {
    /// Shows a file.
    Read,
    /// Runs a command.
    Command,
    /// Searches, or lists names.
    Search,
    /// Changes a file.
    Edit,
    /// Hands work to another agent, which reports.
    Task,
    /// Anything else.
    Other,
}

/// Words in tool names, most specific first.
const WORDS: [(ToolClass, &[&str]); 6] = [
    // Input for a command that runs: the answer is what the command prints.
    (ToolClass::Command, &["stdin"]),
    (ToolClass::Task, &["task", "agent", "subagent", "delegate"]),
    (
        ToolClass::Edit,
        &[
            "edit",
            "write",
            "multiedit",
            "replace",
            "patch",
            "create",
            "insert",
            "notebookedit",
        ],
    ),
    (
        ToolClass::Search,
        &["grep", "glob", "search", "find", "ls", "list", "rg", "tree"],
    ),
    (
        ToolClass::Read,
        &["read", "view", "open", "cat", "notebookread"],
    ),
    (
        ToolClass::Command,
        &[
            "bash",
            "shell",
            "exec",
            "execute",
            "run",
            "command",
            "terminal",
            "powershell",
        ],
    ),
];

/// Words in names of tools that search files; `search` alone may be any store.
const FILE_SEARCHES: [&str; 6] = ["grep", "glob", "ls", "rg", "tree", "files"];

impl ToolClass {
    /// The class of a tool by the words in its name (`mcp__fs__read_file`, `NotebookEdit`,
    /// `run-command`).
    #[must_use]
    pub fn of(name: &str) -> Self {
        let words: Vec<String> = words(name).collect();
        let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        let found = WORDS.into_iter().find(|(_, known)| has(known));
        found.map_or(Self::Other, |(class, _)| class)
    }
}

/// Whether a tool that searches finds lines or names of files, and not texts that were retrieved.
pub(crate) fn searches_files(name: &str) -> bool {
    words(name).any(|word| FILE_SEARCHES.contains(&word.as_str()))
}

/// The words of a tool's name, in lower case: split at `_`, `-`, `.`, `:`, spaces and capitals. Only the last part
/// of a routed name counts.
fn words(name: &str) -> impl Iterator<Item = String> {
    let name = name.rsplit("__").next().unwrap_or(name);
    let mut words: Vec<String> = Vec::new();
    let mut was_lower = false;
    for character in name.chars() {
        let starts = !character.is_alphanumeric() || (character.is_uppercase() && was_lower);
        was_lower = character.is_lowercase();
        if starts || words.is_empty() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| character.is_alphanumeric()) {
            word.extend(character.to_lowercase());
        }
    }
    words.into_iter().filter(|word| !word.is_empty())
}

/// Arguments that name the file that a call is about.
pub(crate) const PATH_KEYS: [&str; 6] = [
    "file_path",
    "path",
    "filePath",
    "notebook_path",
    "filename",
    "file",
];

/// Arguments that hold what a tool for commands runs: a line, or a program with its arguments.
pub(crate) const COMMAND_KEYS: [&str; 4] = ["command", "cmd", "script", "commands"];

/// What an editor's `command` says when it only shows a file.
pub(crate) const SHOWING_COMMANDS: [&str; 3] = ["view", "open", "read"];

/// The last component of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_common_agents_are_understood() {
        for (name, class) in [
            ("Read", ToolClass::Read),
            ("read_file", ToolClass::Read),
            ("mcp__fs__read_file", ToolClass::Read),
            ("str_replace_based_edit_tool", ToolClass::Edit),
            ("NotebookEdit", ToolClass::Edit),
            ("apply_patch", ToolClass::Edit),
            ("write_file", ToolClass::Edit),
            ("Bash", ToolClass::Command),
            ("execute_command", ToolClass::Command),
            ("write_stdin", ToolClass::Command),
            ("Grep", ToolClass::Search),
            ("search_files", ToolClass::Search),
            ("LS", ToolClass::Search),
            ("Task", ToolClass::Task),
            ("get_weather", ToolClass::Other),
            ("", ToolClass::Other),
        ] {
            assert_eq!(ToolClass::of(name), class, "{name}");
        }
    }
}
