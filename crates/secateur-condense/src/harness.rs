//! What agents put around the output of a tool, as seen November 2026: codex, Claude Code, opencode, Gemini CLI, pi.

/// Lines that agents write around outputs.
const WHOLE_LINES: [&str; 16] = [
    "Script completed",
    "Output:",
    "Process exited with code 0",
    "Exit code 0",
    "Exit code: 0",
    "Exit Code: 0",
    "<persisted-output>",
    "</persisted-output>",
    "<untrusted_context>",
    "</untrusted_context>",
    "<content>",
    "</content>",
    "<type>file</type>",
    "<output>",
    "<stdout>",
    "...output truncated...",
];

/// How such lines begin.
const BEGINNINGS: [&str; 14] = [
    "Chunk ID: ",
    "Wall time",
    "Original token count: ",
    "Process running with session ID ",
    "Process Group PGID: ",
    "Warning: truncated output (original token count: ",
    "Total output lines: ",
    "Output too large",
    "Full output saved to: ",
    "Preview (first ",
    "<path>",
    "Command: ",
    "Directory: ",
    "... [",
];

/// What Gemini CLI writes before the first line of an output.
const LEADING: &str = "Output: ";

/// Whether an agent wrote this line, which has no white space at its ends.
pub fn is_header(line: &str) -> bool {
    let may_begin = |byte: u8| matches!(byte, b'A'..=b'Z' | b'<' | b'.');
    line.bytes().next().is_some_and(may_begin)
        && (WHOLE_LINES.contains(&line) || BEGINNINGS.iter().any(|start| line.starts_with(start)))
}

/// The first line that a tool wrote, without white space at its ends.
pub fn first_line(text: &str) -> Option<&str> {
    let lines = text.lines().map(str::trim);
    let mut content = lines.filter(|line| !line.is_empty() && !is_header(line));
    let line = content.next()?;
    Some(line.strip_prefix(LEADING).map_or(line, str::trim_start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_tools_own() {
        for text in [
            "running 400 tests\nx",
            "\n  running 400 tests  \n",
            "Chunk ID: 091a7e\nWall time: 0.0000 seconds\nProcess exited with code 0\nOriginal token count: 2854\nOutput:\nrunning 400 tests\n",
            "Script completed\nWall time 0.1 seconds\nOutput:\n\nWarning: truncated output (original token count: 20028)\nTotal output lines: 745\n\nrunning 400 tests\n",
            "<persisted-output>\nOutput too large (318.4KB). Full output saved to: /a/b.txt\n\nPreview (first 2KB):\nrunning 400 tests\n",
            "<untrusted_context>\nOutput: running 400 tests\nmore",
            "...output truncated...\n\nFull output saved to: /a/tool\n\nrunning 400 tests",
            "<path>/a/b.rs</path>\n<type>file</type>\n<content>\nrunning 400 tests",
        ] {
            assert_eq!(first_line(text), Some("running 400 tests"), "{text}");
        }
        assert_eq!(first_line("Script completed\nOutput:\n"), None);
        assert_eq!(first_line("Exit code 1\nboom"), Some("Exit code 1"));
    }
}
