//! From edits to bytes: the only code that knows commas, quotes and escapes.

use crate::output::splice::{Fragments, Splice};
use crate::plan::edit::{Action, Arrangement, Edit, Mark, MarkPlace, Piece, SkipReason};
use crate::read::view::{ArgsForm, ArrayElement, ContentForm, PartId, Placement, TurnId, View};
use crate::read::wire;
use secateur_json::{JsonStr, Span, escape_into};

/// Edits on their way to bytes.
#[derive(Debug)]
pub(crate) struct Lowering<'v, 'a> {
    view: &'v View<'a>,
    splices: Vec<Splice>,
    fragments: Fragments,
    /// Array elements that go.
    removed: Vec<ArrayElement>,
    items_after: usize,
}

/// All edits as bytes.
#[derive(Debug)]
pub(crate) struct Lowered {
    pub(crate) splices: Vec<Splice>,
    /// What they put in.
    pub(crate) fragments: Fragments,
    /// How many elements the list of turns has afterwards.
    pub(crate) items_after: usize,
}

impl<'v, 'a> Lowering<'v, 'a> {
    /// For about so many edits.
    pub(crate) fn new(view: &'v View<'a>, edits: &[Edit]) -> Self {
        let mut fragments = Fragments::default();
        fragments.reserve(edits.iter().map(most_fragments).sum());
        Self {
            view,
            splices: Vec::with_capacity(edits.len()),
            fragments,
            removed: Vec::new(),
            items_after: view.items().len(),
        }
    }

    /// Adds an edit.
    ///
    /// # Errors
    /// The edit does not fit the body; it leaves nothing behind.
    pub(crate) fn add(&mut self, edit: &Edit) -> Result<(), SkipReason> {
        let mark = self.fragments.mark();
        let (splices, removed) = (self.splices.len(), self.removed.len());
        let done = self.add_action(edit);
        if done.is_err() {
            self.fragments.forget(mark);
            self.splices.truncate(splices);
            self.removed.truncate(removed);
        }
        done
    }

    fn add_action(&mut self, edit: &Edit) -> Result<(), SkipReason> {
        let view = self.view;
        let (removed, fragments) = (&mut self.removed, &mut self.fragments);
        let splice = match &edit.action {
            Action::DropTurn(turn) => {
                removed.extend(view.items_of(*turn));
                self.items_after -= view.items_of(*turn).len();
                return Ok(());
            }
            Action::DropPart(part) => {
                removed.push(view.element(*part).ok_or(SkipReason::DoesNotFit)?);
                let is_item = matches!(view.part(*part).placement, Placement::Item(_));
                self.items_after -= usize::from(is_item);
                return Ok(());
            }
            Action::Arrange(arranged) => {
                let moved = arrange(view, arranged, removed, fragments)?;
                self.splices.extend(moved);
                return Ok(());
            }
            Action::Rewrite(part, pieces) => {
                rewrite(view, *part, edit, pieces, removed, fragments)?
            }
            Action::ReplaceInput(part, with) => replace_input(view, *part, with, fragments)?,
            Action::Mark(mark) => mark_splice(view, mark, fragments)?,
            Action::InsertTurn(before, text) => {
                self.items_after += 1;
                insert_turn(view, *before, text, fragments)
            }
        };
        self.splices.push(splice);
        Ok(())
    }

    /// How many bytes shorter the body becomes by what was added so far.
    pub(crate) fn bytes_saved(&self) -> usize {
        let removals = self.removals();
        let all = || self.splices.iter().chain(&removals);
        let removed: usize = all().map(Splice::removed_len).sum();
        let added: usize = all().map(Splice::new_len).sum();
        removed.saturating_sub(added)
    }

    fn removals(&self) -> Vec<Splice> {
        let mut removed = self.removed.clone();
        removed.sort_by_key(|element| element.span.start);
        remove_elements(&removed).collect()
    }

    pub(crate) fn finish(mut self) -> Lowered {
        self.splices.extend(self.removals());
        Lowered {
            splices: self.splices,
            fragments: self.fragments,
            items_after: self.items_after,
        }
    }
}

/// A user turn with this text, and a comma.
fn insert_turn(view: &View<'_>, before: TurnId, text: &str, fragments: &mut Fragments) -> Splice {
    let mut escaped = String::new();
    escape_into(text, &mut escaped);
    let turn = wire::user_turn(view.dialect(), &escaped);
    let at = view.turn_span(before).start;
    let mark = fragments.mark();
    fragments.write(|out| {
        out.push_str(&turn);
        out.push(',');
    });
    fragments.splice(Span::new(at, at), mark)
}

/// A marker becomes the first member of its object, which has others.
fn mark_splice(
    view: &View<'_>,
    mark: &Mark,
    fragments: &mut Fragments,
) -> Result<Splice, SkipReason> {
    let object = match mark.place {
        MarkPlace::Block(part) => view.element(part).map(|element| element.span.start),
        MarkPlace::Tool(at) => Some(at),
        MarkPlace::Body => view.body().find('{').and_then(|at| u32::try_from(at).ok()),
    };
    let at = object.ok_or(SkipReason::DoesNotFit)?;
    let is_object = view.body().as_bytes().get(at as usize) == Some(&b'{');
    if !is_object {
        return Err(SkipReason::DoesNotFit);
    }
    let since = fragments.mark();
    fragments.write(|out| {
        out.push_str(&mark.member);
        out.push(',');
    });
    Ok(fragments.splice(Span::new(at + 1, at + 1), since))
}

/// How many fragments an edit is made of, about.
fn most_fragments(edit: &Edit) -> usize {
    match &edit.action {
        Action::Rewrite(_, pieces) => pieces.len(),
        _ => 1,
    }
}

/// Removes array elements with the commas that would be left over. Seats are sorted.
fn remove_elements(elements: &[ArrayElement]) -> impl Iterator<Item = Splice> {
    let is_next = |one: &ArrayElement, other: &ArrayElement| other.prev_end == Some(one.span.end);
    elements.chunk_by(is_next).filter_map(|run| {
        let (first, last) = (run.first()?, run.last()?);
        let span = match (first.prev_end, last.next_start) {
            // Behind a kept element: its comma goes with the run.
            (Some(kept_end), _) => Span::new(kept_end, last.span.end),
            // At the front: the comma and space before the next element go.
            (None, Some(next_start)) => Span::new(first.span.start, next_start),
            (None, None) => Span::new(first.span.start, last.span.end),
        };
        Some(Splice::remove(span))
    })
}

fn rewrite(
    view: &View<'_>,
    id: PartId,
    edit: &Edit,
    pieces: &[Piece],
    removed: &mut Vec<ArrayElement>,
    fragments: &mut Fragments,
) -> Result<Splice, SkipReason> {
    let part = view.part(id);
    let literals = view.literals(id);
    if part.form == ContentForm::Json {
        return rewrite_json(view, id, pieces, fragments);
    }
    // One block carries the new text: the one with the cache marker if any, else the first.
    let survivor = literals
        .iter()
        .position(|literal| literal.is_cache_marked)
        .unwrap_or(0);
    let literal = literals.get(survivor).ok_or(SkipReason::DoesNotFit)?;
    let (only, several);
    let texts: &[JsonStr] = if literals.len() == 1 {
        only = [literal.text];
        &only
    } else {
        several = literals
            .iter()
            .map(|literal| literal.text)
            .collect::<Vec<_>>();
        &several
    };
    let mark = fragments.mark();
    add_pieces(view, texts, pieces, fragments).ok_or(SkipReason::DoesNotFit)?;
    let splice = fragments.splice(literal.text.span, mark);
    let before: usize = texts.iter().map(|text| text.span.len()).sum();
    let is_as_long = splice.new_len() == before && edit.reorders();
    if splice.new_len() >= before && !is_as_long {
        return Err(SkipReason::NotSmaller);
    }
    if literals.len() > 1 {
        for (at, other) in literals.iter().enumerate() {
            if at != survivor {
                removed.push(view.literal_element(other).ok_or(SkipReason::DoesNotFit)?);
            }
        }
    }
    Ok(splice)
}

/// Puts texts into blocks. Blocks with a cache marker stay, the first ones for the rest; the others go.
fn arrange(
    view: &View<'_>,
    arranged: &Arrangement,
    removed: &mut Vec<ArrayElement>,
    fragments: &mut Fragments,
) -> Result<Vec<Splice>, SkipReason> {
    let only = |part: &PartId| match view.literals(*part) {
        [literal] => Ok(*literal),
        _ => Err(SkipReason::DoesNotFit),
    };
    let literals = arranged.blocks.iter().map(only);
    let literals = literals.collect::<Result<Vec<_>, _>>()?;
    let marked = literals
        .iter()
        .filter(|literal| literal.is_cache_marked)
        .count();
    let mut free = (arranged.texts.len())
        .checked_sub(marked)
        .ok_or(SkipReason::DoesNotFit)?;
    let mut texts = arranged.texts.iter();
    let mut splices = Vec::with_capacity(arranged.texts.len());
    let mut gone = Vec::new();
    for (part, literal) in arranged.blocks.iter().zip(&literals) {
        if !literal.is_cache_marked && free == 0 {
            gone.push(view.element(*part).ok_or(SkipReason::DoesNotFit)?);
            continue;
        }
        free -= usize::from(!literal.is_cache_marked);
        let text = texts.next().ok_or(SkipReason::DoesNotFit)?;
        if text != part {
            let from = only(text)?.text.span;
            let mark = fragments.mark();
            fragments.copy(from);
            splices.push(fragments.splice(literal.text.span, mark));
        }
    }
    removed.extend(gone);
    Ok(splices)
}

/// A structured result becomes an object with one string.
fn rewrite_json(
    view: &View<'_>,
    id: PartId,
    pieces: &[Piece],
    fragments: &mut Fragments,
) -> Result<Splice, SkipReason> {
    let part = view.part(id);
    let text = view.text(id);
    let mut out = String::from("{\"output\":\"");
    for piece in pieces {
        let words = match piece {
            Piece::Keep(range) => text.get(range.clone()).ok_or(SkipReason::DoesNotFit)?,
            Piece::Note(note) => note,
        };
        escape_into(words, &mut out);
    }
    out.push_str("\"}");
    if out.len() >= part.value.len() {
        return Err(SkipReason::NotSmaller);
    }
    let mark = fragments.mark();
    fragments.write(|text| text.push_str(&out));
    Ok(fragments.splice(part.value, mark))
}

fn replace_input(
    view: &View<'_>,
    id: PartId,
    with: &str,
    fragments: &mut Fragments,
) -> Result<Splice, SkipReason> {
    let part = view.part(id);
    let mark = fragments.mark();
    match part.args {
        ArgsForm::None => return Err(SkipReason::DoesNotFit),
        ArgsForm::Value => fragments.write(|out| out.push_str(with)),
        ArgsForm::Text => fragments.write(|out| {
            out.push('"');
            escape_into(with, out);
            out.push('"');
        }),
    }
    let splice = fragments.splice(part.value, mark);
    match splice.new_len() < part.value.len() {
        true => Ok(splice),
        false => Err(SkipReason::NotSmaller),
    }
}

/// The pieces as fragments. Kept ranges count in the texts joined by newlines.
fn add_pieces(
    view: &View<'_>,
    texts: &[JsonStr],
    pieces: &[Piece],
    fragments: &mut Fragments,
) -> Option<()> {
    fragments.reserve(pieces.len());
    if let [only] = texts {
        let mark = fragments.mark();
        if add_in_order(view, *only, pieces, fragments).is_some() {
            return Some(());
        }
        fragments.forget(mark);
    }
    let places = Places::of(view, texts, pieces)?;
    for piece in pieces {
        match piece {
            Piece::Note(note) => fragments.write(|out| escape_into(note, out)),
            Piece::Keep(range) if range.is_empty() => {}
            Piece::Keep(range) => places.copy(range.start, range.end, fragments)?,
        }
    }
    Some(())
}

/// The same for one text whose kept ranges ascend, as they mostly do: one walk, nothing is looked up. `None` if they
/// do not; what was added until then is to be forgotten.
fn add_in_order(
    view: &View<'_>,
    text: JsonStr,
    pieces: &[Piece],
    fragments: &mut Fragments,
) -> Option<()> {
    let mut places = Vec::with_capacity(2 * pieces.len());
    for piece in pieces {
        if let Piece::Keep(range) = piece
            && !range.is_empty()
        {
            places.extend([range.start, range.end]);
        }
    }
    text.body_offsets(view.body(), &mut places)?;
    let mut kept = places.chunks_exact(2);
    for piece in pieces {
        match piece {
            Piece::Note(note) => fragments.write(|out| escape_into(note, out)),
            Piece::Keep(range) if range.is_empty() => {}
            Piece::Keep(_) => {
                let &[start, end] = kept.next()? else {
                    return None;
                };
                let (start, end) = (u32::try_from(start).ok()?, u32::try_from(end).ok()?);
                fragments.copy(Span::new(start, end));
            }
        }
    }
    Some(())
}

/// Where decoded offsets are in the body.
struct Places {
    /// Start of each text in the joined text.
    starts: Vec<usize>,
    /// (joined offset, body offset), sorted.
    offsets: Vec<(usize, u32)>,
    spans: Vec<Span>,
}

impl Places {
    fn of(view: &View<'_>, texts: &[JsonStr], pieces: &[Piece]) -> Option<Self> {
        let mut wanted: Vec<usize> = pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Keep(range) => Some([range.start, range.end]),
                Piece::Note(_) => None,
            })
            .flatten()
            .collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut places = Self {
            starts: Vec::with_capacity(texts.len()),
            offsets: Vec::with_capacity(wanted.len()),
            spans: texts.iter().map(|text| text.span).collect(),
        };
        let (mut start, mut next) = (0, 0);
        for (at, text) in texts.iter().enumerate() {
            places.starts.push(start);
            let end = if at + 1 < texts.len() {
                start + text.decode(view.body()).len()
            } else {
                usize::MAX
            };
            let mut map = text.offsets(view.body());
            while let Some(&offset) = wanted.get(next).filter(|&&offset| offset <= end) {
                places
                    .offsets
                    .push((offset, map.body_offset(offset - start)?));
                next += 1;
            }
            // The newline that joins two texts has no bytes of its own.
            start = end.saturating_add(1);
        }
        Some(places)
    }

    fn body_offset(&self, joined: usize) -> Option<u32> {
        let at = self
            .offsets
            .binary_search_by_key(&joined, |&(offset, _)| offset)
            .ok()?;
        Some(self.offsets[at].1)
    }

    /// Copies the joined range, text by text, with the newlines between them.
    fn copy(&self, start: usize, end: usize, fragments: &mut Fragments) -> Option<()> {
        let (from, to) = (self.body_offset(start)?, self.body_offset(end)?);
        let text_at = |offset| self.starts.partition_point(|&text| text <= offset) - 1;
        let (first, last) = (text_at(start), text_at(end));
        if start > end {
            return None;
        }
        for at in first..=last {
            let span = self.spans.get(at)?;
            let piece = Span::new(
                if at == first { from } else { span.start },
                if at == last { to } else { span.end },
            );
            fragments.copy(piece);
            if at < last {
                fragments.write(|out| out.push_str("\\n"));
            }
        }
        Some(())
    }
}
