//! Numbered runs: `Document [3](Title: …) …`, `[3] …`, `Source 3: …`, `## Result 3`.
//!
//! The numbers must count up by one from 0 or 1. Where the markers of the run come after blank lines,
//! one that does not (`[7]` in quoted code) is text; any other marker out of turn makes the cut unclear.

use std::ops::Range;

use super::lines::Line;
use super::{ChunkSpan, Chunks, Form, MIN_CHUNKS, Region, WhyNot, trimmed};

/// Words in front of the number.
const WORDS: [&str; 8] = [
    "document",
    "source",
    "passage",
    "chunk",
    "context",
    "result",
    "search result",
    "excerpt",
];

/// The shape of a marker. A run keeps to one shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    heading: usize,
    word: Option<usize>,
    bracketed: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Marker {
    pub(super) shape: Shape,
    pub(super) number: u32,
    line: usize,
    pub(super) title: Option<Range<usize>>,
    /// Where the text behind the marker begins.
    pub(super) body: usize,
    after_blank: bool,
}

/// Finds the one run of numbered chunks.
pub(super) fn find(text: &str, lines: &[Line], region: &Region) -> Result<Chunks, WhyNot> {
    let mut markers: Vec<Marker> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.fenced && !line.blank)
        .filter_map(|(at, line)| marker(text, line, at))
        .collect();
    if markers.is_empty() {
        return Err(WhyNot::NoChunks);
    }
    markers.sort_by_key(|m| (m.shape, m.line));
    let mut runs = Vec::new();
    let mut doubtful = false;
    for same in markers.chunk_by(|a, b| a.shape == b.shape) {
        match chain(same) {
            Chain::Clear(run) => runs.push(run),
            Chain::Doubtful => doubtful = true,
            Chain::None => {}
        }
    }
    match (runs.pop(), runs.is_empty(), doubtful) {
        (Some(run), true, false) => spans(text, lines, region, &run),
        (None, _, false) => Err(WhyNot::TooFew),
        _ => Err(WhyNot::Ambiguous),
    }
}

enum Chain<'m> {
    None,
    Doubtful,
    Clear(Vec<&'m Marker>),
}

/// The markers that count up. When most come after a blank line, only those that do are delimiters.
fn chain(same: &[Marker]) -> Chain<'_> {
    let spaced: Vec<&Marker> = same.iter().filter(|m| m.after_blank).collect();
    let all: Vec<&Marker> = same.iter().collect();
    match count_up(&spaced) {
        found @ Chain::Clear(_) if spaced.len() > 1 => found,
        _ => count_up(&all),
    }
}

fn count_up<'m>(markers: &[&'m Marker]) -> Chain<'m> {
    let Some(first) = markers.iter().position(|m| m.number <= 1) else {
        return Chain::None;
    };
    let mut run: Vec<&Marker> = vec![markers[first]];
    let mut doubtful = first > 0;
    for marker in &markers[first + 1..] {
        let last = run[run.len() - 1].number;
        if marker.number == last + 1 {
            run.push(marker);
        } else {
            // Twice the same number, or a gap: which marker opens a chunk, and which is text?
            doubtful = true;
        }
    }
    match (run.len() >= MIN_CHUNKS, doubtful) {
        (false, _) => Chain::None,
        (true, true) => Chain::Doubtful,
        (true, false) => Chain::Clear(run),
    }
}

/// The marker that a line opens with.
pub(super) fn marker(text: &str, line: &Line, at: usize) -> Option<Marker> {
    let content = &text[line.range.clone()];
    let trimmed_line = content.trim_start();
    let heading = trimmed_line.bytes().take_while(|b| *b == b'#').count();
    let mut rest = trimmed_line[heading..].trim_start();
    let bold = rest.starts_with("**");
    if bold {
        rest = &rest[2..];
    }
    let word = WORDS.iter().rposition(|word| {
        rest.get(..word.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(word))
    });
    if let Some(word) = word {
        rest = rest[WORDS[word].len()..].trim_start();
    }
    let bracketed = rest.starts_with('[');
    let digits = &rest[usize::from(bracketed)..];
    let len = digits.bytes().take_while(u8::is_ascii_digit).count();
    let number: u32 = digits
        .get(..len)
        .filter(|d| !d.is_empty() && d.len() <= 6)?
        .parse()
        .ok()?;
    let mut rest = &digits[len..];
    if bracketed {
        rest = rest.strip_prefix(']')?;
    }
    // A bare number is a list item, and `Source 3 of the Nile` a sentence.
    let named = word.is_some();
    let closed = rest.starts_with(':')
        || rest.trim().is_empty()
        || (heading > 0 && !rest.starts_with(char::is_alphanumeric));
    let fits = match (named, bracketed) {
        (true, true) => true,
        (true, false) => closed || (bold && rest.starts_with("**")),
        (false, true) => rest.starts_with([' ', '\t', ':', '(']),
        (false, false) => false,
    };
    if !fits {
        return None;
    }
    let mut rest = rest.trim_start_matches(['*', ':', ' ', '\t']);
    let mut title = None;
    if let Some(titled) = rest.strip_prefix("(Title:") {
        let close = matching_bracket(titled)?;
        let start = line.range.end - titled.len();
        title = Some(trimmed(text, start..start + close));
        rest = &titled[close + 1..];
    } else if heading > 0 {
        let named = line.range.end - rest.len()..line.range.end;
        title = Some(trimmed(text, named)).filter(|t| !t.is_empty());
    }
    Some(Marker {
        shape: Shape {
            heading,
            word,
            bracketed,
        },
        number,
        line: at,
        title,
        body: line.range.end - rest.len(),
        after_blank: line.after_blank,
    })
}

/// The place of the bracket that closes one opened before `text`.
fn matching_bracket(text: &str) -> Option<usize> {
    let mut open = 1;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => open += 1,
            b')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(at);
        }
    }
    None
}

fn spans(text: &str, lines: &[Line], region: &Region, run: &[&Marker]) -> Result<Chunks, WhyNot> {
    let last = run.len() - 1;
    let mut spans = Vec::with_capacity(run.len());
    for (place, marker) in run.iter().enumerate() {
        let after = if place < last {
            run[place + 1].line
        } else {
            last_line(text, lines, region, run)?
        };
        let end = content_end(text, lines, marker.line, after);
        let start = trimmed(text, lines[marker.line].range.clone()).start;
        let end = end.max(marker.body);
        spans.push(ChunkSpan {
            extent: start..end,
            inner: trimmed(text, marker.body..end),
            title: marker.title.clone(),
        });
    }
    Ok(Chunks {
        form: Form::Numbered,
        spans,
    })
}

/// Where the last line with content ends; blank lines and rules belong to the separator.
fn content_end(text: &str, lines: &[Line], from: usize, to: usize) -> usize {
    let own = lines[from..to]
        .iter()
        .rev()
        .find(|line| !line.blank && (line.fenced || !is_rule(text, line)));
    own.map_or(lines[from].range.start, |line| {
        trimmed(text, line.range.clone()).end
    })
}

fn is_rule(text: &str, line: &Line) -> bool {
    let content = text[line.range.clone()].trim();
    content.len() >= 3 && (content.bytes().all(|b| b == b'-') || content.bytes().all(|b| b == b'*'))
}

/// The line after the last chunk. Inside a container the chunk runs to the end. Elsewhere it ends
/// at its first blank line when no other chunk holds one, or else at a line that opens the question.
fn last_line(
    text: &str,
    lines: &[Line],
    region: &Region,
    run: &[&Marker],
) -> Result<usize, WhyNot> {
    let first = run[run.len() - 1].line;
    if region.closed {
        return Ok(lines.len());
    }
    let blank_inside = run.windows(2).any(|pair| {
        let body = &lines[pair[0].line..pair[1].line];
        let end = body
            .iter()
            .rposition(|l| !l.blank && !is_rule(text, l))
            .unwrap_or(0);
        body[..end].iter().any(|l| l.blank && !l.fenced)
    });
    let tail = &lines[first..];
    let cue = tail
        .iter()
        .position(|l| !l.fenced && l.after_blank && opens_question(&text[l.range.clone()]));
    let blank = tail.iter().position(|l| l.blank && !l.fenced);
    let end = match (cue, blank, blank_inside) {
        (Some(cue), _, true) => Some(cue),
        (_, Some(blank), false) => Some(blank),
        (_, None, _) => Some(tail.len()),
        (None, Some(_), true) => None,
    };
    end.map(|end| first + end).ok_or(WhyNot::Ambiguous)
}

/// A line that template authors put in front of what they ask.
pub(super) fn opens_question(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(['*', '#', ' ']);
    let cues = [
        "question",
        "query",
        "user question",
        "user query",
        "q:",
        "answer",
        "<question",
        "<query",
        "based on",
        "using",
        "instruction",
    ];
    let cued = cues.iter().any(|cue| {
        line.get(..cue.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(cue))
    });
    cued || line.trim_end().ends_with(['?', '？', '؟'])
}
