//! What kind of output a text is, and what that kind's reader needs of it.
//!
//! One file per kind, each with a small detector and a weighing of its units.

mod brackets;
mod diff;
mod html;
mod json;
mod listing;
mod log;
mod prose;
mod sample;
mod search;
mod table;
mod test_output;
mod trouble;

use super::OutputKind;
use super::units::{Splitting, Unit};
pub(super) use json::Place;
use sample::Sample;

/// A text taken apart, each unit with its worth.
#[derive(Debug)]
pub(super) struct Layout {
    pub kind: OutputKind,
    pub splitting: Splitting,
    pub units: Vec<Unit>,
    /// What the first note says about this text, after `[Shortened`.
    pub about: String,
}

impl Layout {
    fn new(kind: OutputKind, splitting: Splitting, units: Vec<Unit>) -> Self {
        Self {
            kind,
            splitting,
            units,
            about: String::new(),
        }
    }
}

/// Whether a text reads as output of a build or a test run, and not as a file, data, a search or a diff.
pub fn looks_like_log(text: &str) -> bool {
    let splitting = Splitting::of(text, LOG_SAMPLE_CHARS);
    if text.trim_start().starts_with(['{', '[']) && json::read(text, splitting).is_some()
        || html::is_html(text)
    {
        return false;
    }
    let sample = Sample::of(text, splitting);
    let is_data = diff::is_diff(&sample)
        || search::is_search_result(&sample)
        || listing::is_listing(&sample)
        || table::is_table(&sample)
        || prose::is_numbered(&sample);
    !is_data && (test_output::is_test_output(&sample) || log::tells_of_a_run(&sample, splitting))
}

/// What a log would be condensed to; decides only how its lines are split.
const LOG_SAMPLE_CHARS: usize = 2000;

/// Detects the kind, strictest detector first, and weighs the units.
pub(super) fn read(text: &str, max_chars: usize) -> Layout {
    let splitting = Splitting::of(text, max_chars);
    if let Some(layout) = json::read(text, splitting) {
        return layout;
    }
    if html::is_html(text) {
        return html::read(text, splitting);
    }
    let sample = Sample::of(text, splitting);
    if diff::is_diff(&sample) {
        diff::read(text, splitting)
    } else if test_output::is_test_output(&sample) {
        test_output::read(text, splitting)
    } else if search::is_search_result(&sample) {
        search::read(text, splitting)
    } else if listing::is_listing(&sample) {
        listing::read(text, splitting)
    } else if table::is_table(&sample) {
        table::read(text, splitting)
    } else if prose::is_numbered(&sample) {
        prose::read(text, OutputKind::NumberedLines, splitting)
    } else if log::is_log(&sample, splitting) {
        log::read(text, splitting)
    } else {
        prose::read(text, OutputKind::Plain, splitting)
    }
}
