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
/// then the last paragraph with a question mark; then whatever text there is, after before before, without
/// lines and sentences that only introduce something (`Here are the documents.`, `Use the context above.`).
/// Empty when nothing is asked.
#[must_use]
pub fn question_among<'t>(before: &'t str, after: &'t str) -> &'t str {
    let sides = [after, before];
    if let Some(found) = sides.iter().find_map(|side| cued(side)) {
        return found;
    }
    if let Some(found) = sides.iter().find_map(|side| asking(side)) {
        return found;
    }
    let mut whole = sides
        .iter()
        .map(|side| without_template(bare(side)))
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
        .find(|part| part.ends_with(['?', '？', '؟']) && !is_template(part))
}

/// `part` without the sentences at its beginning and end that belong to the template.
fn without_template(part: &str) -> &str {
    let mut part = part.trim();
    while let Some(end) = part.find(SENTENCE_ENDS).map(|at| at + 1) {
        match part.get(..end).filter(|sentence| is_template(sentence)) {
            Some(_) => part = part.get(end..).unwrap_or_default().trim_start(),
            None => break,
        }
    }
    while let Some(start) = part.trim_end_matches(SENTENCE_ENDS).rfind(SENTENCE_ENDS) {
        match part
            .get(start + 1..)
            .filter(|sentence| is_template(sentence))
        {
            Some(_) => part = part.get(..=start).unwrap_or_default().trim_end(),
            None => break,
        }
    }
    if is_template(part) { "" } else { part }
}

const SENTENCE_ENDS: [char; 4] = ['.', '!', '?', '\n'];

/// Whether a text only speaks of the context and of answering, and of no subject.
fn is_template(part: &str) -> bool {
    let words = || {
        part.split(|c: char| !c.is_alphanumeric() && c != '\'')
            .filter(|word| !word.is_empty())
    };
    words().next().is_some()
        && words().all(|word| {
            let word = word.to_ascii_lowercase();
            let singular = word.strip_suffix('s').unwrap_or(&word);
            UNITS.contains(&singular)
                || TEMPLATE_WORDS.contains(&word.as_str())
                || TEMPLATE_WORDS.contains(&singular)
        })
}

/// Words of sentences such as `Answer the question using only the documents below.`
const TEMPLATE_WORDS: [&str; 66] = [
    "a",
    "above",
    "also",
    "and",
    "answer",
    "are",
    "as",
    "attached",
    "background",
    "based",
    "be",
    "below",
    "by",
    "can",
    "cite",
    "could",
    "do",
    "don't",
    "following",
    "for",
    "found",
    "from",
    "given",
    "have",
    "helpful",
    "here",
    "here's",
    "i",
    "if",
    "in",
    "information",
    "is",
    "it",
    "know",
    "may",
    "me",
    "my",
    "not",
    "of",
    "on",
    "only",
    "or",
    "please",
    "provided",
    "question",
    "read",
    "reference",
    "relevant",
    "retrieved",
    "search",
    "see",
    "so",
    "some",
    "that",
    "the",
    "them",
    "these",
    "this",
    "to",
    "use",
    "user",
    "user's",
    "using",
    "with",
    "you",
    "your",
];

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
    tag || line.ends_with([':', '：']) || !has_words(line)
}

/// Whether a question is a task about the whole context, so that no chunk is less to the point.
#[must_use]
pub fn asks_about_all(question: &str) -> bool {
    let mut words = question
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(MAX_TASK_WORDS)
        .map(str::to_lowercase)
        .peekable();
    let mut before = String::new();
    while let Some(word) = words.next() {
        let is_task = TASKS.iter().any(|task| word.starts_with(task));
        let is_all = ["all", "each", "every"].contains(&word.as_str());
        let of_it = |next: &String| ["of", "the", "these", "those"].contains(&next.as_str());
        if is_all {
            while words.next_if(of_it).is_some() {}
            let is_it =
                |next: &String| UNITS.iter().any(|unit| next.trim_end_matches('s') == *unit);
            if words.peek().is_some_and(is_it) {
                return true;
            }
        }
        // `summarize` as a name in code (`the summarize function`) is no task.
        if is_task && (before.is_empty() || POLITE.contains(&before.as_str())) {
            return true;
        }
        before = word;
    }
    false
}

const MAX_TASK_WORDS: usize = 64;
const TASKS: [&str; 6] = [
    "summar",
    "translat",
    "proofread",
    "paraphras",
    "deduplicat",
    "rewrite",
];
/// Words in front of a task's verb.
const POLITE: [&str; 7] = ["please", "you", "to", "a", "and", "then", "briefly"];
/// What a context is made of.
const UNITS: [&str; 9] = [
    "document", "chunk", "source", "passage", "result", "article", "text", "excerpt", "context",
];

fn has_words(part: &str) -> bool {
    part.chars().any(char::is_alphanumeric)
}
