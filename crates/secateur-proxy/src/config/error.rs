//! What is wrong with a configuration, where, and what to do.

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file.
    pub file: String,
    /// The line, from 1; `None` where it is about the file as a whole.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// The line itself. It may hold a secret that stands in the wrong place, so it is shown to the
    /// person at the terminal only, never logged.
    pub source_line: Option<String>,
}

impl ConfigError {
    pub(super) fn at(
        file: &str,
        text: &str,
        offset: Option<usize>,
        message: impl Into<String>,
    ) -> Self {
        let line = offset.map(|offset| line_of(text, offset));
        Self {
            file: file.to_owned(),
            line,
            message: message.into(),
            source_line: line
                .and_then(|line| text.lines().nth(line - 1))
                .map(|line| line.trim_end().to_owned()),
        }
    }

    /// The error without the line's text, for logs.
    #[must_use]
    pub fn brief(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}: {}", self.file, self.message),
            None => format!("{}: {}", self.file, self.message),
        }
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    before.iter().filter(|&&byte| byte == b'\n').count() + 1
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.brief())?;
        match (&self.source_line, self.line) {
            (Some(source), Some(line)) => write!(f, "\n  {line} | {source}"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for ConfigError {}
