//! Sessions as an agent would have had them whose only way to look at files is a shell.

use secateur_core::strategy::ToolClass;
use secateur_replay::{Session, read_bytes};
use serde_json::{Value, json};

/// Sessions through a shell.
pub struct ThroughShell {
    pub sessions: Vec<Session>,
    /// The ids of those that cannot be read back.
    pub left_out: Vec<String>,
}

/// Takes all sessions through a shell.
pub fn all_through_shell(sessions: &[Session]) -> ThroughShell {
    let mut done = ThroughShell {
        sessions: Vec::new(),
        left_out: Vec::new(),
    };
    for session in sessions {
        match through_shell(session) {
            Some(session) => done.sessions.push(session),
            None => done.left_out.push(session.id.clone()),
        }
    }
    done
}

/// The same session: what was read and searched with tools of its own is read and searched by commands.
/// Edits stay what they are. `None` when the session cannot be read back.
fn through_shell(session: &Session) -> Option<Session> {
    let mut messages = Vec::new();
    for message in &session.messages {
        let mut value: Value = serde_json::from_str(&message.raw).ok()?;
        if let Some(Value::Array(blocks)) = value.get_mut("content") {
            for (block, part) in blocks.iter_mut().zip(&message.parts) {
                let Some(call) = part.call.as_deref() else {
                    continue;
                };
                let class = ToolClass::of(&call.name);
                let Some(command) = command(class, &call.input) else {
                    continue;
                };
                if block["type"] == "tool_use" {
                    block["name"] = json!("bash");
                    block["input"] = json!({ "command": command });
                } else if class == ToolClass::Read {
                    block["content"] = json!(without_numbers(&part.text));
                }
            }
        }
        messages.push(value);
    }
    let body = json!({ "messages": messages }).to_string();
    let mut read = read_bytes(&session.id, body.as_bytes()).sessions.pop()?;
    read.id.clone_from(&session.id);
    read.fixed_tokens = session.fixed_tokens;
    Some(read)
}

/// The command that shows what a call would.
fn command(class: ToolClass, input: &Value) -> Option<String> {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let number = |key: &str| input.get(key).and_then(Value::as_u64);
    match class {
        ToolClass::Read => {
            let path = text("file_path")?;
            let first = number("offset").unwrap_or(1).max(1);
            Some(match number("limit") {
                Some(limit) => format!("sed -n '{first},{}p' {path}", first + limit.max(1) - 1),
                None if first > 1 => format!("tail -n +{first} {path}"),
                None => format!("cat {path}"),
            })
        }
        ToolClass::Search => {
            let pattern = text("pattern")?.replace('\'', "'\\''");
            let path = text("path").unwrap_or(".");
            Some(match text("output_mode") {
                Some("content") => format!("rg -n '{pattern}' {path}"),
                Some(_) => format!("rg -l '{pattern}' {path}"),
                None => format!("find {path} -path '{pattern}'"),
            })
        }
        _ => None,
    }
}

/// A listing without the numbers before its lines.
fn without_numbers(text: &str) -> String {
    let bare = |line: &str| match line.split_once('→') {
        Some((number, rest)) if number.trim().bytes().all(|b| b.is_ascii_digit()) => {
            rest.to_owned()
        }
        _ => line.to_owned(),
    };
    text.split('\n').map(bare).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use secateur_replay::PartKind;

    fn session(id: &str) -> Session {
        let body = json!({"messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "Read", "input": {"file_path": "x.rs", "offset": 3, "limit": 2}},
                {"type": "tool_use", "id": "b", "name": "Edit", "input": {"file_path": "x.rs", "old_string": "o"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "     3→fn main() {\n     4→}"},
                {"type": "tool_result", "tool_use_id": "b", "content": "     3→done"},
            ]},
            {"role": "assistant", "content": "ok"},
        ]});
        let mut loaded = read_bytes(id, body.to_string().as_bytes());
        loaded.sessions.pop().unwrap()
    }

    #[test]
    fn a_read_becomes_a_command_and_an_edit_stays() {
        let session = through_shell(&session("s")).unwrap();
        let parts: Vec<(PartKind, &str)> = session.messages[1..3]
            .iter()
            .flat_map(|message| &message.parts)
            .map(|part| (part.kind, &*part.text))
            .collect();
        assert_eq!(
            parts[0],
            (PartKind::ToolUse, r#"{"command":"sed -n '3,4p' x.rs"}"#)
        );
        assert_eq!(parts[2], (PartKind::ToolResult, "fn main() {\n}"));
        assert_eq!(parts[3], (PartKind::ToolResult, "     3→done"));
        assert_eq!(
            session.messages[1].parts[1].call.as_ref().unwrap().name,
            "Edit"
        );
    }

    #[test]
    fn a_command_shows_as_many_lines_as_the_call_asked_for() {
        let read = |input: Value| command(ToolClass::Read, &input).unwrap();
        let file = "x.rs";
        for (input, expected) in [
            (
                json!({"file_path": file, "limit": 20}),
                "sed -n '1,20p' x.rs",
            ),
            (
                json!({"file_path": file, "offset": 7, "limit": 1}),
                "sed -n '7,7p' x.rs",
            ),
            (json!({"file_path": file, "offset": 7}), "tail -n +7 x.rs"),
            (json!({"file_path": file, "offset": 0}), "cat x.rs"),
        ] {
            assert_eq!(read(input), expected);
        }
    }

    #[test]
    fn a_session_that_cannot_be_read_back_is_named() {
        let (good, mut bad) = (session("good"), session("bad"));
        let (good_id, bad_id) = (good.id.clone(), bad.id.clone());
        bad.messages[0].raw = "{".into();
        let done = all_through_shell(&[good, bad]);
        assert_eq!(done.left_out, [bad_id]);
        let ids: Vec<&str> = done.sessions.iter().map(|session| &*session.id).collect();
        assert_eq!(ids, [good_id]);
    }
}
