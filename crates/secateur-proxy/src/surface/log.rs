//! Log lines: written by a thread of their own, so that a slow terminal never holds up a request.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::clock::rfc3339;
use crate::config::LogFormat;

/// Lines that may wait to be written; more are dropped and counted.
const WAITING: usize = 8192;

/// A value in a log line.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// A text.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A fraction.
    Number(f64),
    /// Yes or no.
    Flag(bool),
}

macro_rules! field_from {
    ($($from:ty => $variant:ident),*) => {$(
        impl From<$from> for Field {
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}
field_from!(&str => Text, String => Text, u64 => Count, u32 => Count, u16 => Count, f64 => Number, bool => Flag);

impl From<usize> for Field {
    fn from(value: usize) -> Self {
        Self::Count(value as u64)
    }
}

enum Message {
    Line(String),
    Flush(SyncSender<()>),
}

/// Where log lines go. Cheap to clone.
#[derive(Clone)]
pub struct Log {
    format: LogFormat,
    sender: Option<SyncSender<Message>>,
    dropped: Arc<AtomicU64>,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log")
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

impl Log {
    /// Nothing is written.
    #[must_use]
    pub fn off() -> Self {
        Self {
            format: LogFormat::Off,
            sender: None,
            dropped: Arc::default(),
        }
    }

    /// Lines go to standard error.
    #[must_use]
    pub fn to_stderr(format: LogFormat) -> Self {
        Self::to(format, std::io::stderr())
    }

    /// Lines go to `out`.
    #[must_use]
    pub fn to(format: LogFormat, out: impl Write + Send + 'static) -> Self {
        if format == LogFormat::Off {
            return Self::off();
        }
        let (sender, receiver) = sync_channel(WAITING);
        std::thread::spawn(move || write_lines(&receiver, out));
        Self {
            format,
            sender: Some(sender),
            dropped: Arc::default(),
        }
    }

    /// Writes one line.
    pub fn line(&self, level: &str, event: &str, fields: &[(&str, Field)]) {
        let Some(sender) = &self.sender else {
            return;
        };
        let line = match self.format {
            LogFormat::Json => json_line(level, event, fields),
            LogFormat::Pretty => pretty_line(level, event, fields),
            LogFormat::Off => return,
        };
        if let Err(TrySendError::Full(_)) = sender.try_send(Message::Line(line)) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many lines were dropped because the output was too slow.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until everything is written.
    pub fn flush(&self) {
        if let Some(sender) = &self.sender {
            let (done, wait) = sync_channel(1);
            if sender.send(Message::Flush(done)).is_ok() {
                // The thread is gone: there is nothing to wait for.
                let _ = wait.recv();
            }
        }
    }
}

fn write_lines(receiver: &Receiver<Message>, mut out: impl Write) {
    while let Ok(message) = receiver.recv() {
        match message {
            // A log that cannot be written must not stop the proxy.
            Message::Line(line) => drop(out.write_all(line.as_bytes())),
            Message::Flush(done) => {
                let _ = out.flush();
                let _ = done.send(());
            }
        }
    }
}

fn json_line(level: &str, event: &str, fields: &[(&str, Field)]) -> String {
    let mut line = serde_json::Map::new();
    line.insert("ts".to_owned(), rfc3339(SystemTime::now()).into());
    line.insert("level".to_owned(), level.into());
    line.insert("event".to_owned(), event.into());
    for (name, value) in fields {
        let value = match value {
            Field::Text(text) => text.clone().into(),
            Field::Count(count) => (*count).into(),
            Field::Number(number) => (*number).into(),
            Field::Flag(flag) => (*flag).into(),
        };
        line.insert((*name).to_owned(), value);
    }
    serde_json::Value::Object(line).to_string() + "\n"
}

fn pretty_line(level: &str, event: &str, fields: &[(&str, Field)]) -> String {
    use std::fmt::Write as _;
    let mut line = format!("{} {level:5} {event}", rfc3339(SystemTime::now()));
    for (name, value) in fields {
        // Writing to a String cannot fail.
        let _ = match value {
            Field::Text(text) if text.contains(|c: char| c.is_whitespace() || c.is_control()) => {
                write!(line, " {name}={text:?}")
            }
            Field::Text(text) => write!(line, " {name}={text}"),
            Field::Count(count) => write!(line, " {name}={count}"),
            Field::Number(number) => write!(line, " {name}={number}"),
            Field::Flag(flag) => write!(line, " {name}={flag}"),
        };
    }
    line.push('\n');
    line
}

/// An output that tests can read back.
#[derive(Clone, Debug, Default)]
pub struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    /// What was written up to now.
    #[must_use]
    pub fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_json_object_or_one_line_for_people() {
        let out = Captured::default();
        let log = Log::to(LogFormat::Json, out.clone());
        log.line(
            "info",
            "x_applied",
            &[("n", 3_usize.into()), ("who", "a \"b\"\n".into())],
        );
        log.flush();
        let line: serde_json::Value = serde_json::from_str(&out.text()).unwrap();
        assert_eq!(
            (
                line["event"].as_str(),
                line["n"].as_u64(),
                line["who"].as_str()
            ),
            (Some("x_applied"), Some(3), Some("a \"b\"\n"))
        );
        let out = Captured::default();
        let log = Log::to(LogFormat::Pretty, out.clone());
        log.line("info", "x", &[("who", "a \"b\"\n".into())]);
        log.flush();
        assert!(
            out.text().ends_with("info  x who=\"a \\\"b\\\"\\n\"\n"),
            "{}",
            out.text()
        );
    }
}
