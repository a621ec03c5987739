//! Narrows the text around the chunks to the question.

/// Words that open the line of the question, in the forms that prompt templates use.
const CUES: [&str; 8] = [
    "question:",
    "query:",
    "user question:",
    "user query:",
    "user:",
    "q:",
    "<question>",
    "<query>",
];

/// The question among the text before and after the chunks.
///
/// A cue line wins, the later one first (a question is repeated after the context more often than not);
/// then the last paragraph with a question mark; then whatever text there is, after before before.
pub(super) fn pick<'t>(before: &'t str, after: &'t str) -> &'t str {
    let sides = [after, before];
    if let Some(found) = sides.iter().find_map(|side| cued(side)) {
        return found;
    }
    if let Some(found) = sides.iter().find_map(|side| asking(side)) {
        return found;
    }
    let mut whole = sides
        .iter()
        .map(|side| bare(side))
        .filter(|side| !side.is_empty());
    whole.next().unwrap_or_default()
}

/// The text behind the last cue, up to the next blank line, `Answer:` line or closing tag.
fn cued(side: &str) -> Option<&str> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in side.split_inclusive('\n') {
        let trimmed = line.trim_start().trim_start_matches(['*', '#', ' ']);
        let lead = line.len() - trimmed.len();
        let cue = CUES.iter().find(|cue| {
            trimmed
                .get(..cue.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(cue))
        });
        starts.extend(cue.map(|cue| at + lead + cue.len()));
        at += line.len();
    }
    starts.iter().rev().take(TRIED_CUES).find_map(|&start| {
        let rest = side
            .get(start..)?
            .trim_start_matches(['*', ' ', '\n', '\r']);
        let stop = [rest.find("\n\n"), rest.find("\nAnswer"), rest.find("</")];
        let stop = stop.iter().flatten().min().copied().unwrap_or(rest.len());
        rest.get(..stop)
            .map(str::trim)
            .filter(|text| has_words(text))
    })
}

/// A cue with nothing behind it (`Question:` then the end) gives way to the one before, this many times.
const TRIED_CUES: usize = 3;

/// The last paragraph that ends with a question mark, in any script.
fn asking(side: &str) -> Option<&str> {
    side.rsplit("\n\n")
        .map(bare)
        .find(|part| part.ends_with(['?', '？', '؟']))
}

/// `part` without the lines at its beginning and end that hold no words or a single tag.
fn bare(part: &str) -> &str {
    let mut part = part.trim();
    while let Some((_, rest)) = part.split_once('\n').filter(|(line, _)| is_dressing(line)) {
        part = rest.trim();
    }
    while let Some((rest, _)) = part.rsplit_once('\n').filter(|(_, line)| is_dressing(line)) {
        part = rest.trim();
    }
    if is_dressing(part) { "" } else { part }
}

fn is_dressing(line: &str) -> bool {
    let line = line.trim();
    let tag = line.starts_with('<') && line.ends_with('>') && line.matches('<').count() == 1;
    tag || !has_words(line)
}

fn has_words(part: &str) -> bool {
    part.chars().any(char::is_alphanumeric)
}
