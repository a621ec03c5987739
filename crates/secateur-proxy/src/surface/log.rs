//! Log lines: written by a thread of their own, so that a slow terminal never holds up a request.

use std::io::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use secateur_ledger::moment::{Moment, now};
use secateur_ledger::shown::{in_line, is_unseen};

use crate::config::LogFormat;

/// Lines that may wait to be written; more are dropped and counted.
const MAX_WAITING_LINES: usize = 8192;
/// Bytes of them.
const MAX_WAITING_BYTES: usize = 8 << 20;

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
    queue: Arc<Queue>,
}

/// What waits to be written, and what did not fit.
#[derive(Debug, Default)]
struct Queue {
    waiting_bytes: AtomicUsize,
    dropped: AtomicU64,
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
            queue: Arc::default(),
        }
    }

    /// Whether nobody hears the lines, so that none need be made.
    pub(crate) fn is_off(&self) -> bool {
        self.sender.is_none() || self.format == LogFormat::Off
    }

    /// Whether lines are written for people.
    pub(crate) fn is_pretty(&self) -> bool {
        self.format == LogFormat::Pretty
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
        let (sender, receiver) = sync_channel(MAX_WAITING_LINES);
        let queue = Arc::<Queue>::default();
        let written = Arc::clone(&queue);
        std::thread::spawn(move || write_lines(&receiver, out, format, &written));
        Self {
            format,
            sender: Some(sender),
            queue,
        }
    }

    /// Writes one line.
    pub fn line(&self, level: &str, event: &str, fields: &[(&str, Field)]) {
        if self.is_off() {
            return;
        }
        self.write(self.format.line(level, event, fields));
    }

    /// Writes a line as it is, behind the time of day.
    pub(super) fn words(&self, words: &str) {
        self.write(format!("{}  {words}\n", Moment(now()).second()));
    }

    fn write(&self, line: String) {
        let Some(sender) = &self.sender else {
            return;
        };
        let (waiting, bytes) = (&self.queue.waiting_bytes, line.len());
        let fits = waiting.fetch_add(bytes, Ordering::Relaxed) + bytes <= MAX_WAITING_BYTES;
        let is_full = |error| matches!(error, TrySendError::Full(_));
        if !fits || sender.try_send(Message::Line(line)).is_err_and(is_full) {
            waiting.fetch_sub(bytes, Ordering::Relaxed);
            self.queue.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many lines were dropped because the output was too slow.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.queue.dropped.load(Ordering::Relaxed)
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

/// Lines that are waiting go out in one piece.
fn write_lines(
    receiver: &Receiver<Message>,
    mut out: impl Write,
    format: LogFormat,
    queue: &Queue,
) {
    const PIECE_BYTES: usize = 64 << 10;
    let (mut piece, mut told) = (String::new(), 0);
    while let Ok(first) = receiver.recv() {
        let mut next = Some(first);
        let mut flushes = Vec::new();
        while let Some(message) = next {
            match message {
                Message::Line(line) => {
                    queue.waiting_bytes.fetch_sub(line.len(), Ordering::Relaxed);
                    piece.push_str(&line);
                }
                Message::Flush(done) => flushes.push(done),
            }
            next = match piece.len() < PIECE_BYTES {
                true => receiver.try_recv().ok(),
                false => None,
            };
        }
        let dropped = queue.dropped.load(Ordering::Relaxed);
        if dropped > told {
            let fields = [
                ("lines", Field::from(dropped - told)),
                ("in_all", dropped.into()),
            ];
            piece.push_str(&format.line("warn", "log_lines_dropped", &fields));
            told = dropped;
        }
        // A log that cannot be written must not stop the proxy.
        let _ = out.write_all(piece.as_bytes());
        piece.clear();
        if !flushes.is_empty() {
            let _ = out.flush();
        }
        for done in flushes {
            let _ = done.send(());
        }
    }
}

impl LogFormat {
    fn line(self, level: &str, event: &str, fields: &[(&str, Field)]) -> String {
        match self {
            Self::Json => json_line(level, event, fields),
            Self::Pretty => pretty_line(level, event, fields),
            Self::Off => String::new(),
        }
    }
}

fn json_line(level: &str, event: &str, fields: &[(&str, Field)]) -> String {
    use std::fmt::Write as _;
    let mut line = String::with_capacity(512);
    line.push_str("{\"ts\":\"");
    line.push_str(&Moment(now()).iso_millis());
    line.push('"');
    for (name, text) in [("level", level), ("event", event)] {
        push_name(name, &mut line);
        push_json_text(text, &mut line);
    }
    for (name, value) in fields {
        push_name(name, &mut line);
        // Writing to a String cannot fail.
        let _ = match value {
            Field::Text(text) => {
                push_json_text(text, &mut line);
                Ok(())
            }
            Field::Count(count) => write!(line, "{count}"),
            Field::Number(number) if number.is_finite() => write!(line, "{number}"),
            Field::Number(_) => write!(line, "null"),
            Field::Flag(flag) => write!(line, "{flag}"),
        };
    }
    line.push_str("}\n");
    line
}

/// Names of fields are plain words.
fn push_name(name: &str, line: &mut String) {
    line.push_str(",\"");
    line.push_str(name);
    line.push_str("\":");
}

fn push_json_text(text: &str, line: &mut String) {
    let is_plain = |b: u8| (0x20..0x7f).contains(&b) && b != b'"' && b != b'\\';
    if text.bytes().all(is_plain) {
        line.push('"');
        line.push_str(text);
        line.push('"');
        return;
    }
    // JSON has its own way to spell out what steers a terminal; nothing of the text is lost.
    let mut units = [0; 2];
    for letter in serde_json::Value::from(text).to_string().chars() {
        if letter.is_control() || is_unseen(letter) {
            for unit in letter.encode_utf16(&mut units) {
                line.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            line.push(letter);
        }
    }
}

fn pretty_line(level: &str, event: &str, fields: &[(&str, Field)]) -> String {
    use std::fmt::Write as _;
    let mut line = format!("{} {level:5} {event}", Moment(now()).iso_millis());
    for (name, value) in fields {
        // Writing to a String cannot fail.
        let _ = match value {
            Field::Text(text) => {
                let text = in_line(text);
                match text.contains(char::is_whitespace) {
                    true => write!(line, " {name}=\"{}\"", text.replace('"', "\\\"")),
                    false => write!(line, " {name}={text}"),
                }
            }
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

    /// An output that stands still until it is let go.
    struct Blocked(Captured, std::sync::mpsc::Receiver<()>);

    impl Write for Blocked {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.1.recv();
            self.0.write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Lines waited by their number alone, and took 622 MB.
    #[test]
    fn lines_that_wait_are_bounded_in_bytes_and_dropped_ones_are_told() {
        let (out, (go, blocked)) = (Captured::default(), std::sync::mpsc::channel());
        let log = Log::to(LogFormat::Json, Blocked(out.clone(), blocked));
        let long = "x".repeat(1 << 20);
        for _ in 0..40 {
            log.line("info", "long", &[("text", long.as_str().into())]);
        }
        // One is in the writer's hands.
        assert!((31..=33).contains(&log.dropped()), "{}", log.dropped());
        assert!(log.queue.waiting_bytes.load(Ordering::Relaxed) <= MAX_WAITING_BYTES);
        drop(go);
        log.flush();
        let text = out.text();
        let told = text.lines().find(|line| line.contains("log_lines_dropped"));
        let told: serde_json::Value = serde_json::from_str(told.unwrap()).unwrap();
        assert_eq!(told["in_all"].as_u64(), Some(log.dropped()));
        assert_eq!(log.queue.waiting_bytes.load(Ordering::Relaxed), 0);
    }

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
            out.text()
                .ends_with("info  x who=\"a \\\"b\\\"⟨U+000A⟩\"\n"),
            "{}",
            out.text()
        );
    }

    /// Control and direction characters must not reach the terminal.
    #[test]
    fn no_line_steers_a_terminal() {
        let hostile = "gpt\u{202e}5\u{9b}2J\u{e0041}";
        for format in [LogFormat::Json, LogFormat::Pretty] {
            let out = Captured::default();
            let log = Log::to(format, out.clone());
            log.line("info", "x", &[("model", hostile.into())]);
            log.flush();
            let line = out.text();
            let raw = |letter: &char| letter.is_control() || is_unseen(*letter);
            assert!(!line.trim_end().chars().any(|c| raw(&c)), "{line:?}");
            if format == LogFormat::Json {
                let line: serde_json::Value = serde_json::from_str(&line).unwrap();
                assert_eq!(line["model"].as_str(), Some(hostile));
            } else {
                assert!(
                    line.contains("model=gpt⟨U+202E⟩5⟨U+009B⟩2J⟨U+E0041⟩"),
                    "{line}"
                );
            }
        }
    }
}
