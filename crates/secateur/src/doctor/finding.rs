//! The result of one check.

use serde_json::{Value, json};

use crate::table::{amber, green, red};

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grade {
    Ok,
    Warning,
    Error,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) grade: Grade,
    /// What was checked, in a word.
    pub(super) about: String,
    pub(super) found: String,
    /// What to do; empty: nothing.
    pub(super) todo: String,
}

impl Finding {
    pub(super) fn ok(about: &str, found: impl Into<String>) -> Self {
        Self::new(Grade::Ok, about, found, "")
    }

    pub(super) fn warning(about: &str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        Self::new(Grade::Warning, about, found, todo)
    }

    pub(super) fn error(about: &str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        Self::new(Grade::Error, about, found, todo)
    }

    fn new(grade: Grade, about: &str, found: impl Into<String>, todo: impl Into<String>) -> Self {
        Self {
            grade,
            about: about.to_owned(),
            found: found.into(),
            todo: todo.into(),
        }
    }

    pub(super) fn line(&self) -> String {
        let grade = match self.grade {
            Grade::Ok => green("ok     "),
            Grade::Warning => amber("warning"),
            Grade::Error => red("error  "),
        };
        let found = self.found.trim_end().replace('\n', "\n                   ");
        let line = format!("{grade}  {:<9} {found}", self.about);
        if self.todo.is_empty() {
            return line;
        }
        format!("{line}\n                   → {}", self.todo)
    }

    pub(super) fn json(&self) -> Value {
        let grade = match self.grade {
            Grade::Ok => "ok",
            Grade::Warning => "warning",
            Grade::Error => "error",
        };
        json!({ "grade": grade, "about": self.about, "found": self.found, "do": self.todo })
    }
}
