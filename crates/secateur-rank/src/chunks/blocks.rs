//! One chunk per text block: a message whose content is a list of texts, each of which is one chunk.
//!
//! A block is a chunk when it is one element and nothing else, when it opens with a number that counts up
//! from block to block, or when it opens with the heading that the other blocks open with. Blocks without any of
//! these cannot be distinguished from what a user says in several blocks.

use std::ops::Range;

use super::lines::{self, Line};
use super::numbered::{Marker, Shape, marker, opens_question};
use super::{ChunkSpan, MIN_CHUNKS, WhyNot, elements, trimmed};

/// The blocks of one message that are chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockRun {
    /// Which blocks.
    pub blocks: Range<usize>,
    /// One chunk per block, as byte ranges of its block. Its extent is the block without white space at the ends.
    pub spans: Vec<ChunkSpan>,
}

/// Finds the run of blocks that are one chunk each. Linear in the length of the texts.
///
/// # Errors
/// [`WhyNot`] when there is no run of at least [`MIN_CHUNKS`] blocks, or more than one.
pub fn find_block_run(texts: &[&str]) -> Result<BlockRun, WhyNot> {
    let marked: Vec<Option<Block<'_>>> = texts.iter().map(|text| block(text)).collect();
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    while start < marked.len() {
        let mut end = start + 1;
        while end < marked.len() && follows(&marked[end - 1], &marked[end]) {
            end += 1;
        }
        let opens = marked[start].as_ref().is_some_and(Block::may_open);
        if opens && end - start >= MIN_CHUNKS {
            runs.push(start..end);
        }
        start = end;
    }
    match (runs.pop(), runs.is_empty()) {
        (Some(blocks), true) if goes_on(&marked, &blocks) => Err(WhyNot::Ambiguous),
        (Some(blocks), true) => {
            let found = marked.into_iter().skip(blocks.start).take(blocks.len());
            let spans = found.flatten().map(|block| block.span).collect();
            Ok(BlockRun { blocks, spans })
        }
        (Some(_), false) => Err(WhyNot::Ambiguous),
        (None, _) => Err(WhyNot::NoChunks),
    }
}

/// Whether a block outside the run looks like one of it: a gap in the numbers, or words in between.
fn goes_on(marked: &[Option<Block<'_>>], run: &Range<usize>) -> bool {
    let Some(Some(first)) = marked.get(run.start) else {
        return false;
    };
    let alike = |other: &Block<'_>| match (&first.mark, &other.mark) {
        (Mark::Numbered(shape, _), Mark::Numbered(other, _)) => shape == other,
        (first, other) => first == other,
    };
    let mut outside = marked.iter().enumerate();
    outside.any(|(at, block)| !run.contains(&at) && block.as_ref().is_some_and(alike))
}

struct Block<'t> {
    mark: Mark<'t>,
    span: ChunkSpan,
}

#[derive(PartialEq, Eq)]
enum Mark<'t> {
    /// The name of the element.
    Element(usize),
    Numbered(Shape, u32),
    /// The heading line.
    Heading(&'t str),
}

impl Block<'_> {
    fn may_open(&self) -> bool {
        !matches!(self.mark, Mark::Numbered(_, number) if number > 1)
    }
}

fn follows(one: &Option<Block<'_>>, next: &Option<Block<'_>>) -> bool {
    let (Some(one), Some(next)) = (one, next) else {
        return false;
    };
    match (&one.mark, &next.mark) {
        (Mark::Numbered(shape, number), Mark::Numbered(other, following)) => {
            shape == other && number + 1 == *following
        }
        (one, next) => one == next,
    }
}

fn block(text: &str) -> Option<Block<'_>> {
    let whole = trimmed(text, 0..text.len());
    if whole.is_empty() {
        return None;
    }
    if let Some((name, span)) = elements::whole(text, &whole) {
        let mark = Mark::Element(name);
        return Some(Block { mark, span });
    }
    let lines = lines::split(text, whole.clone());
    let first = lines.first()?;
    // A question inside the last block of a run would be taken for a part of the chunk.
    let asks =
        |line: &Line| !line.fenced && line.after_blank && opens_question(&text[line.range.clone()]);
    if lines.iter().skip(1).any(asks) {
        return None;
    }
    if let Some(found) = marker(text, first, 0) {
        let others = lines.iter().enumerate().skip(1);
        let again = others
            .filter(|(_, line)| !line.fenced && line.after_blank)
            .filter_map(|(at, line)| marker(text, line, at))
            .any(|other| other.shape == found.shape);
        return (!again).then(|| numbered(text, &whole, found));
    }
    let heading = text[first.range.clone()].trim();
    let is_heading = heading.starts_with('#') && heading.trim_start_matches('#').starts_with(' ');
    (is_heading && !first.fenced && lines.len() > 1).then(|| Block {
        mark: Mark::Heading(heading),
        span: ChunkSpan {
            inner: trimmed(text, first.range.end..whole.end),
            extent: whole,
            title: None,
        },
    })
}

fn numbered<'t>(text: &str, whole: &Range<usize>, found: Marker) -> Block<'t> {
    let body = found.body.min(whole.end);
    Block {
        mark: Mark::Numbered(found.shape, found.number),
        span: ChunkSpan {
            extent: whole.clone(),
            inner: trimmed(text, body..whole.end),
            title: found.title,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(texts: &[&str]) -> Option<Range<usize>> {
        find_block_run(texts).ok().map(|run| run.blocks)
    }

    #[test]
    fn elements_numbers_and_headings_are_runs() {
        let elements = [
            "Read this.",
            "<document index=\"1\" title=\"A\">one</document>\n",
            " <document><source>b.txt</source>two</document>",
            "<document>three\n\nQuestion: is it?</document>",
            "What is two?",
        ];
        let run = find_block_run(&elements).unwrap();
        assert_eq!(run.blocks, 1..4);
        let titles = run.spans.iter().zip(&elements[1..4]);
        let titles: Vec<_> = titles
            .map(|(span, text)| span.title.clone().map(|title| &text[title]))
            .collect();
        assert_eq!(titles, [Some("A"), Some("b.txt"), None]);
        assert_eq!(
            blocks(&["[1] a", "[2] b\n\nmore of b", "[3] c", "Why?"]),
            Some(0..3)
        );
        assert_eq!(
            blocks(&["Source 1: a", "Source 2: b", "Source 3: c"]),
            Some(0..3)
        );
        let documents = ["Document [1](Title: A) a", "Document [2](Title: B) b"];
        let run = find_block_run(&[documents[0], documents[1], "Document [3](Title: C) c"]);
        assert_eq!(run.unwrap().spans[0].title, Some(20..21));
        let headed = ["## Result\na", "## Result\nb", "## Result\nc"];
        assert_eq!(blocks(&headed), Some(0..3));
    }

    #[test]
    fn doubt_is_no_run() {
        for texts in [
            &["a", "b", "c", "d"][..],
            &["[1] a", "[2] b", "[4] d"],
            &["[2] a", "[3] b", "[4] d"],
            &["[1] a", "[2] b", "[3] c\n\nQuestion: which?"],
            &["[1] a\n\n[2] b", "[3] c", "[4] d"],
            &[
                "<chunk>a</chunk>",
                "<chunk>b</chunk> and",
                "<chunk>c</chunk>",
            ],
            &["<chunk>a</chunk>", "<source>b</source>", "<chunk>c</chunk>"],
            &[
                "<documents>a</documents>",
                "<documents>b</documents>",
                "<documents>c</documents>",
            ],
            &["# One\na", "# Two\nb", "# Three\nc"],
            &["", " ", "\n"],
            &[],
        ] {
            assert_eq!(find_block_run(texts), Err(WhyNot::NoChunks), "{texts:?}");
        }
        let two = ["[1] a", "[2] b", "[3] c", "and", "[1] a", "[2] b", "[3] c"];
        assert_eq!(find_block_run(&two), Err(WhyNot::Ambiguous));
        let gap = ["[1] a", "[2] b", "[3] c", "[5] e"];
        assert_eq!(find_block_run(&gap), Err(WhyNot::Ambiguous));
    }

    proptest::proptest! {
        #[test]
        fn any_blocks_give_sound_ranges(
            texts in proptest::collection::vec(
                "(<chunk>|</chunk>|\\[[1-4]\\] |## R\n|[a-z é?]{0,5}|\n\n|Source [1-4]: |```\n){0,6}", 0..8),
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            if let Ok(run) = find_block_run(&texts) {
                proptest::prop_assert_eq!(run.blocks.len(), run.spans.len());
                for (span, text) in run.spans.iter().zip(&texts[run.blocks.clone()]) {
                    proptest::prop_assert_eq!(&text[span.extent.clone()], text.trim());
                    proptest::prop_assert!(text.get(span.inner.clone()).is_some());
                    proptest::prop_assert!(span.inner.start >= span.extent.start && span.inner.end <= span.extent.end);
                }
            }
        }
    }
}
