//! Logs of each agent, in small files made here: two requests, one call with its result, usage of both.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod agents;
mod damage;
mod fixtures;
mod folders;

use std::path::Path;

use secateur_replay::{Agent, PartKind, ReadLimits, Session, Source, read_log};
use serde_json::Value;

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

pub(crate) fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

pub(crate) fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

pub(crate) fn read(agent: Agent, path: &Path) -> Vec<Session> {
    let source = Source {
        agent,
        path: path.to_owned(),
        row: None,
        bytes: 0,
    };
    let loaded = read_log(&source, &ReadLimits::default()).unwrap();
    assert_eq!(loaded.unreadable, []);
    loaded.sessions
}

/// What every fixture holds, whatever its form.
pub(crate) fn assert_session(session: &Session, agent: Agent, model: &str) {
    let origin = session.origin.as_ref().unwrap();
    assert_eq!((origin.agent, origin.session.as_str()), (agent, "s1"));
    assert_eq!(session.model.as_deref(), Some(model));
    assert_eq!(session.boundaries().count(), 2, "{session:?}");
    let result = session.messages.iter().flat_map(|m| &m.parts);
    let result = result.filter(|part| part.kind == PartKind::ToolResult);
    let results: Vec<(&str, &str)> = result
        .map(|part| (part.call.as_ref().unwrap().name.as_str(), &*part.text))
        .collect();
    assert_eq!(results.len(), 1);
    assert!(results[0].1.contains("three files"), "{results:?}");
    let times: Vec<Option<i64>> = session.answers.iter().map(|answer| answer.at_ms).collect();
    assert_eq!(times, [Some(1_793_610_005_000), Some(1_793_610_010_000)]);
    let inputs: Vec<u64> = session
        .answers
        .iter()
        .map(|a| a.usage.unwrap().input())
        .collect();
    assert_eq!(inputs, [1000, 1100]);
    let last = session.answers[1].usage.unwrap();
    assert_eq!((last.read, last.output), (900, 20));
    assert!(session.fixed_tokens > 900.0 && session.fixed_tokens < 1000.0);
    assert!(session.cold.is_empty());
}
