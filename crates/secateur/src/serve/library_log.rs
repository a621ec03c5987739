//! Warnings of the libraries below (HTTP/2, TLS, PostgreSQL) as lines of the proxy's own log.
//!
//! Warnings and errors alone: more detailed events may hold headers, and with them credentials.

use std::fmt::{Debug, Write};

use secateur_proxy::{Field, Log};
use tracing::field::{Field as Name, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Longest text of a line.
const MAX_BYTES: usize = 1024;

/// From now on their events go to this log. The first log of a process stays.
pub(super) fn write_to(log: Log) {
    let lines = LibraryLines(log).with_filter(LevelFilter::WARN);
    // An error means that there is a log already.
    let _ = tracing_subscriber::registry().with(lines).try_init();
}

struct LibraryLines(Log);

impl<S: Subscriber> Layer<S> for LibraryLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut text = Text::default();
        event.record(&mut text);
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            _ => "warn",
        };
        let library = event.metadata().target();
        let fields = [
            ("library", Field::from(library)),
            ("message", text.0.into()),
        ];
        self.0.line(level, "library", &fields);
    }
}

/// The message, and the other fields after it.
#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, name: &Name, value: &dyn Debug) {
        if self.0.len() > MAX_BYTES {
            return;
        }
        // Writing to a String cannot fail.
        let _ = match name.name() {
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
        if self.0.len() > MAX_BYTES {
            let end = self.0.floor_char_boundary(MAX_BYTES);
            self.0.truncate(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secateur_proxy::Captured;
    use secateur_proxy::config::LogFormat;

    #[test]
    fn warnings_of_libraries_are_lines_and_details_are_not() {
        let out = Captured::default();
        let log = Log::to(LogFormat::Json, out.clone());
        let lines = LibraryLines(log.clone()).with_filter(LevelFilter::WARN);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), || {
            tracing::debug!(header = "authorization: secret", "a frame");
            tracing::warn!(streams = 7, "too many");
            tracing::error!("{}", "x".repeat(4 * MAX_BYTES));
        });
        log.flush();
        let text = out.text();
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!(
            (&lines[0]["level"], &lines[0]["message"]),
            (&"warn".into(), &"too many streams=7".into())
        );
        assert!(lines[1]["message"].as_str().unwrap().len() <= MAX_BYTES);
    }
}
