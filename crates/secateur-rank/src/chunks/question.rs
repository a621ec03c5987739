//! Narrows the text around the chunks to the question.

/// Words that open the line of the question, in the forms that prompt templates use.
const CUES: [&str; 8] = [
    "question:", "query:", "user question:", "user query:", "user:", "q:", "<question>", "<query>",
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
    let mut whole = sides.iter().map(|side| side.trim()).filter(|side| has_words(side));
    whole.next().unwrap_or_default()
}

/// The text behind the last cue, up to the next blank line, `Answer:` line or closing tag.
fn cued(side: &str) -> Option<&str> {
    let mut found = None;
    let mut at = 0;
    for line in side.split_inclusive('\n') {
        let trimmed = line.trim_start().trim_start_matches(['*', '#', ' ']);
        let lead = line.len() - trimmed.len();
        let cue = CUES.iter().find(|cue| {
            trimmed.get(..cue.len()).is_some_and(|head| head.eq_ignore_ascii_case(cue))
        });
        if let Some(cue) = cue {
            let start = at + lead + cue.len();
            let rest = side.get(start..).unwrap_or_default().trim_start_matches(['*', ' ', '\n', '\r']);
            let stop = [rest.find("\n\n"), rest.find("\nAnswer"), rest.find("</")];
            let stop = stop.iter().flatten().min().copied().unwrap_or(rest.len());
            let text = rest.get(..stop).unwrap_or_default().trim();
            if has_words(text) {
                found = Some(text);
            }
        }
        at += line.len();
    }
    found
}

/// The last paragraph that ends with a question mark, in any script.
fn asking(side: &str) -> Option<&str> {
    side.rsplit("\n\n").map(str::trim).find(|part| part.ends_with(['?', '？', '؟']))
}

fn has_words(part: &str) -> bool {
    part.chars().any(char::is_alphanumeric)
}
