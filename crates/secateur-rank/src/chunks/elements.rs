//! Runs of sibling elements: `<document …>…</document>` and its kin.
//!
//! Only the known names are read, so code with angle brackets inside a chunk is plain text. An open tag
//! without a close tag is plain text too, unless it bears the name of the run: then the cut is not clear.

use std::ops::Range;

use super::{ChunkSpan, Chunks, Form, MIN_CHUNKS, Region, WhyNot, trimmed};

/// Names of chunks and of the elements around them.
const NAMES: [&str; 12] = [
    "context",
    "contexts",
    "documents",
    "document",
    "chunks",
    "chunk",
    "sources",
    "source",
    "search_results",
    "search_result",
    "results",
    "passages",
];
/// Names that only ever hold chunks.
const CONTAINERS: [&str; 7] = [
    "contexts",
    "documents",
    "chunks",
    "sources",
    "search_results",
    "results",
    "passages",
];
/// Attributes that name a chunk, best first.
const TITLE_ATTRIBUTES: [&str; 5] = ["title", "source", "name", "url", "path"];
/// Child elements that name a chunk, best first.
const TITLE_CHILDREN: [&str; 3] = ["title", "source", "url"];

/// All known elements of a text, in the order of their open tags.
#[derive(Debug, Default)]
pub(super) struct Tree {
    elements: Vec<Element>,
    /// Tags of known names without a partner: name and place.
    strays: Vec<(usize, usize)>,
}

#[derive(Debug)]
struct Element {
    name: usize,
    parent: Option<usize>,
    depth: usize,
    open: Range<usize>,
    close: Range<usize>,
}

impl Element {
    fn extent(&self) -> Range<usize> {
        self.open.start..self.close.end
    }

    fn inner(&self) -> Range<usize> {
        self.open.end..self.close.start
    }
}

struct Tag {
    name: usize,
    closing: bool,
    range: Range<usize>,
}

/// Pairs open and close tags. A close tag belongs to the last open tag of its name.
pub(super) fn read(text: &str) -> Tree {
    let tags = tags(text);
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let mut strays = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut waiting = [0_usize; NAMES.len()];
    for (at, tag) in tags.iter().enumerate() {
        if !tag.closing {
            waiting[tag.name] += 1;
            open.push(at);
            continue;
        }
        if waiting[tag.name] == 0 {
            strays.push((tag.name, tag.range.start));
            continue;
        }
        while let Some(last) = open.pop() {
            let name = tags[last].name;
            waiting[name] -= 1;
            if name == tag.name {
                pairs.push((last, at));
                break;
            }
            strays.push((name, tags[last].range.start));
        }
    }
    strays.extend(
        open.into_iter()
            .map(|at| (tags[at].name, tags[at].range.start)),
    );
    pairs.sort_unstable();
    Tree {
        elements: nest(&tags, &pairs),
        strays,
    }
}

fn nest(tags: &[Tag], pairs: &[(usize, usize)]) -> Vec<Element> {
    let mut elements: Vec<Element> = Vec::with_capacity(pairs.len());
    let mut around: Vec<usize> = Vec::new();
    for &(open, close) in pairs {
        let (open, close) = (&tags[open], &tags[close]);
        while around
            .last()
            .is_some_and(|&i| elements[i].close.start < open.range.start)
        {
            around.pop();
        }
        elements.push(Element {
            name: open.name,
            parent: around.last().copied(),
            depth: around.len(),
            open: open.range.clone(),
            close: close.range.clone(),
        });
        around.push(elements.len() - 1);
    }
    elements
}

/// Longer tags than this are not tags but comparisons in code.
const MAX_TAG_BYTES: usize = 2048;

fn tags(text: &str) -> Vec<Tag> {
    let bytes = text.as_bytes();
    let mut tags = Vec::new();
    let mut at = 0;
    while let Some(step) = text.get(at..).and_then(|rest| rest.find('<')) {
        let start = at + step;
        at = start + 1;
        let closing = bytes.get(at) == Some(&b'/');
        let from = at + usize::from(closing);
        let len = bytes[from..]
            .iter()
            .take_while(|b| b.is_ascii_lowercase() || **b == b'_')
            .count();
        let Some(name) = NAMES
            .iter()
            .position(|name| name.as_bytes() == &bytes[from..from + len])
        else {
            continue;
        };
        let window = &bytes[from + len..bytes.len().min(from + len + MAX_TAG_BYTES)];
        let Some(end) = tag_end(window) else { continue };
        if window.get(end.saturating_sub(1)) == Some(&b'/') && end > 0 {
            continue;
        }
        let end = from + len + end + 1;
        tags.push(Tag {
            name,
            closing,
            range: start..end,
        });
        at = end;
    }
    tags
}

/// The place of the `>` that ends a tag, after its name. `None` when what follows is no tag.
fn tag_end(rest: &[u8]) -> Option<usize> {
    match rest.first()? {
        b'>' => return Some(0),
        b if b.is_ascii_whitespace() || *b == b'/' => {}
        _ => return None,
    }
    let mut quote = None;
    for (at, &byte) in rest.iter().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'<') => return None,
            (Some(q), b) if q == b => quote = None,
            _ => {}
        }
    }
    None
}

/// The run of at least three siblings of one name that is least deep.
pub(super) fn run(text: &str, tree: &Tree) -> Result<Chunks, WhyNot> {
    let mut keys: Vec<(usize, usize, usize)> = tree
        .elements
        .iter()
        .filter(|e| !CONTAINERS.contains(&NAMES[e.name]))
        .map(|e| (e.depth, e.parent.map_or(0, |p| p + 1), e.name))
        .collect();
    if keys.is_empty() {
        return Err(WhyNot::NoChunks);
    }
    keys.sort_unstable();
    let mut runs = keys
        .chunk_by(|a, b| a == b)
        .filter(|run| run.len() >= MIN_CHUNKS);
    let Some(&[key, ..]) = runs.next() else {
        return Err(WhyNot::TooFew);
    };
    if runs.next().is_some_and(|other| other[0].0 == key.0) {
        return Err(WhyNot::Ambiguous);
    }
    let members: Vec<usize> = (0..tree.elements.len())
        .filter(|&i| {
            let e = &tree.elements[i];
            (e.depth, e.parent.map_or(0, |p| p + 1), e.name) == key
        })
        .collect();
    let apart = members.windows(2).all(|pair| {
        let gap = tree.elements[pair[0]].close.end..tree.elements[pair[1]].open.start;
        text[gap].trim().is_empty()
    });
    let inside = |place: usize| {
        let after = members.partition_point(|&m| tree.elements[m].open.start <= place);
        after > 0 && tree.elements[members[after - 1]].close.end > place
    };
    let stray = tree
        .strays
        .iter()
        .any(|&(name, place)| name == key.2 && !inside(place));
    if !apart || stray {
        return Err(WhyNot::Ambiguous);
    }
    let spans = members.iter().map(|&m| span(text, tree, m)).collect();
    Ok(Chunks {
        form: Form::Elements,
        spans,
    })
}

/// The one chunk element that a text is, between `bounds`, with the place of its name.
pub(super) fn whole(text: &str, bounds: &Range<usize>) -> Option<(usize, ChunkSpan)> {
    if text.as_bytes().get(bounds.start) != Some(&b'<') {
        return None;
    }
    let tree = read(text);
    let element = tree.elements.first()?;
    let is_chunk = !CONTAINERS.contains(&NAMES[element.name]);
    (is_chunk && element.extent() == *bounds).then(|| (element.name, span(text, &tree, 0)))
}

fn span(text: &str, tree: &Tree, at: usize) -> ChunkSpan {
    let element = &tree.elements[at];
    let inner = trimmed(text, element.inner());
    let title = attribute(text, &element.open).or_else(|| child(text, &inner));
    ChunkSpan {
        extent: element.extent(),
        inner,
        title,
    }
}

/// The value of the best naming attribute of an open tag.
fn attribute(text: &str, open: &Range<usize>) -> Option<Range<usize>> {
    let tag = &text[open.clone()];
    TITLE_ATTRIBUTES.iter().find_map(|name| {
        let mut from = 0;
        loop {
            let at = from + tag[from..].find(name)?;
            from = at + name.len();
            let fresh = tag[..at].ends_with(|c: char| c.is_whitespace());
            let Some(value) = tag[from..].strip_prefix('=') else {
                continue;
            };
            let Some(quote) = value.chars().next().filter(|q| matches!(q, '"' | '\'')) else {
                continue;
            };
            let start = from + 2;
            let end = start + tag[start..].find(quote)?;
            if fresh && start < end {
                return Some(open.start + start..open.start + end);
            }
        }
    })
}

/// A naming child at the beginning of the chunk.
fn child(text: &str, inner: &Range<usize>) -> Option<Range<usize>> {
    let body = &text[inner.clone()];
    TITLE_CHILDREN.iter().find_map(|name| {
        let rest = body
            .strip_prefix('<')?
            .strip_prefix(name)?
            .strip_prefix('>')?;
        let start = body.len() - rest.len();
        let end = start + rest.find("</")?;
        (start < end).then_some(inner.start + start..inner.start + end)
    })
}

/// Where a line-based layout is searched for: inside the only outermost element, or everywhere.
pub(super) fn only_container(text: &str, tree: &Tree) -> Region {
    let mut outermost = tree.elements.iter().filter(|e| e.depth == 0);
    match (outermost.next(), outermost.next()) {
        (Some(only), None) => Region {
            bounds: only.inner(),
            closed: true,
        },
        _ => Region {
            bounds: 0..text.len(),
            closed: false,
        },
    }
}
