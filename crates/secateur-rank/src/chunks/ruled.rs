//! Blocks cut by a repeated line: `---`, `***`, or one heading that comes again and again.
//!
//! In open text only what is between two delimiters is a chunk: what comes before the first and
//! after the last may be the question and always stays. Inside a container every block is a chunk.

use std::ops::Range;

use super::lines::Line;
use super::{ChunkSpan, Chunks, Form, MIN_CHUNKS, Region, WhyNot, trimmed};
use crate::chunks::numbered::opens_question;

/// Finds the one run of blocks.
pub(super) fn find(text: &str, lines: &[Line], region: &Region) -> Result<Chunks, WhyNot> {
    let rules = [rule_lines(text, lines, b'-'), rule_lines(text, lines, b'*')];
    let mut found: Vec<Chunks> = rules
        .iter()
        .filter_map(|at| between(text, lines, region, at))
        .collect();
    found.extend(under_headings(text, lines, region)?);
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(_), false) => Err(WhyNot::Ambiguous),
        (None, _) if rules.iter().any(|at| !at.is_empty()) => Err(WhyNot::TooFew),
        (None, _) => Err(WhyNot::NoChunks),
    }
}

/// Lines of at least three of `byte` and nothing else, all of the length of the first. When some are
/// between blank lines and some are not, those that are count as delimiters and the others are content.
fn rule_lines(text: &str, lines: &[Line], byte: u8) -> Vec<usize> {
    let mut length = None;
    let mut at: Vec<usize> = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let content = text[line.range.clone()].trim_end();
        let rule = !line.fenced && content.len() >= 3 && content.bytes().all(|b| b == byte);
        if rule && *length.get_or_insert(content.len()) == content.len() {
            at.push(i);
        }
    }
    let spaced =
        |i: &usize| lines[*i].after_blank && lines.get(i + 1).is_none_or(|next| next.blank);
    let apart: Vec<usize> = at.iter().copied().filter(spaced).collect();
    if apart.len() >= MIN_CHUNKS { apart } else { at }
}

fn between(text: &str, lines: &[Line], region: &Region, rules: &[usize]) -> Option<Chunks> {
    let (&first, &last) = (rules.first()?, rules.last()?);
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let line_start = |i: usize| lines.get(i).map_or(region.bounds.end, |l| l.range.start);
    if region.closed {
        blocks.push(region.bounds.start..line_start(first));
    }
    for pair in rules.windows(2) {
        blocks.push(line_start(pair[0] + 1)..line_start(pair[1]));
    }
    if region.closed {
        blocks.push(line_start(last + 1).min(region.bounds.end)..region.bounds.end);
    }
    let spans: Vec<ChunkSpan> = blocks
        .into_iter()
        .map(|block| trimmed(text, block))
        .filter(|block| !block.is_empty())
        .map(|block| ChunkSpan {
            title: first_heading(text, &block),
            inner: block.clone(),
            extent: block,
        })
        .collect();
    (spans.len() >= MIN_CHUNKS).then_some(Chunks {
        form: Form::Ruled,
        spans,
    })
}

/// The words of a heading that opens a block.
fn first_heading(text: &str, block: &Range<usize>) -> Option<Range<usize>> {
    let line = text[block.clone()].lines().next()?;
    let words = line.trim_start_matches('#');
    let level = line.len() - words.len();
    let titled = (1..=6).contains(&level) && words.starts_with(' ');
    titled
        .then(|| trimmed(text, block.start + level..block.start + line.len()))
        .filter(|t| !t.is_empty())
}

/// Blocks that begin with the same heading line. The last one ends where a question opens; where none does, it
/// may hold what is asked, unless that comes before the blocks.
fn under_headings(text: &str, lines: &[Line], region: &Region) -> Result<Option<Chunks>, WhyNot> {
    let mut headings: Vec<(&str, usize)> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.fenced)
        .map(|(i, line)| (text[line.range.clone()].trim(), i))
        .filter(|(content, _)| {
            content.starts_with('#') && content.trim_start_matches('#').starts_with(' ')
        })
        .collect();
    headings.sort_unstable();
    let mut repeated = headings
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|same| same.len() >= MIN_CHUNKS);
    let (Some(same), None) = (repeated.next(), repeated.next()) else {
        return Ok(None);
    };
    let asked_before = lines[..same[0].1].iter().any(|line| !line.blank);
    let mut spans = Vec::with_capacity(same.len());
    for (place, &(_, line)) in same.iter().enumerate() {
        let end = match same.get(place + 1) {
            Some(&(_, next)) => lines[next].range.start,
            None if region.closed => region.bounds.end,
            None => {
                let question = lines[line + 1..]
                    .iter()
                    .find(|l| !l.fenced && l.after_blank && opens_question(&text[l.range.clone()]));
                match question {
                    Some(l) => l.range.start,
                    None if asked_before => region.bounds.end,
                    None => return Err(WhyNot::Ambiguous),
                }
            }
        };
        let extent = trimmed(text, lines[line].range.start..end);
        let inner = trimmed(text, lines[line].range.end.min(extent.end)..extent.end);
        spans.push(ChunkSpan {
            extent,
            inner,
            title: None,
        });
    }
    Ok(Some(Chunks {
        form: Form::Ruled,
        spans,
    }))
}
