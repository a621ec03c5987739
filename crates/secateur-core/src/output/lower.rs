//! From edits to bytes: the only code that knows commas, quotes and escapes.

use crate::output::splice::{Fragments, Splice};
use crate::plan::edit::{Action, Arrangement, Edit, Mark, MarkPlace, Piece, SkipReason};
use crate::read::view::{ArgsForm, ArrayElement, ContentForm, PartId, Placement, View};
use secateur_json::{JsonStr, Span, escape_into};

/// Edits as bytes.
#[derive(Debug, Default)]
pub(crate) struct Lowered {
    pub(crate) splices: Vec<Splice>,
    /// What they put in.
    pub(crate) bits: Fragments,
    /// Edits that turned out not to fit, by index, with the reason.
    pub(crate) refused: Vec<(usize, SkipReason)>,
    /// How many elements the list of turns has afterwards.
    pub(crate) items_after: usize,
}

impl Lowered {
    /// How many bytes shorter the body becomes.
    pub(crate) fn bytes_saved(&self) -> usize {
        let removed: usize = self.splices.iter().map(Splice::removed_len).sum();
        let added: usize = self.splices.iter().map(Splice::new_len).sum();
        removed.saturating_sub(added)
    }
}

/// Turns edits into splices.
pub(crate) fn lower(view: &View<'_>, edits: &[Edit]) -> Lowered {
    let mut splices = Vec::with_capacity(edits.len());
    let mut bits = Fragments::default();
    bits.reserve(edits.iter().map(most_bits).sum());
    let mut removed: Vec<ArrayElement> = Vec::new();
    let mut refused = Vec::new();
    let mut items_after = view.items().len();
    for (at, edit) in edits.iter().enumerate() {
        let done = match &edit.action {
            Action::DropTurn(turn) => {
                removed.extend(view.items_of(*turn));
                items_after -= view.items_of(*turn).len();
                Ok(())
            }
            Action::DropPart(part) => match view.seat(*part) {
                Some(seat) => {
                    removed.push(seat);
                    items_after -= usize::from(matches!(view.part(*part).home, Placement::Item(_)));
                    Ok(())
                }
                None => Err(SkipReason::DoesNotFit),
            },
            Action::Rewrite(part, pieces) => {
                let mark = bits.mark();
                let done = rewrite(view, *part, edit, pieces, &mut removed, &mut bits);
                if done.is_err() {
                    bits.forget(mark);
                }
                done.map(|splice| splices.push(splice))
            }
            Action::ReplaceInput(part, with) => {
                replace_input(view, *part, with, &mut bits).map(|splice| splices.push(splice))
            }
            Action::Arrange(arranged) => {
                let moved = arrange(view, arranged, &mut removed, &mut bits);
                moved.map(|moved| splices.extend(moved))
            }
            Action::Mark(mark) => {
                mark_splice(view, mark, &mut bits).map(|splice| splices.push(splice))
            }
            Action::InsertTurn(before, text) => {
                let mut escaped = String::new();
                escape_into(text, &mut escaped);
                let turn = view.dialect().dialect().user_turn(&escaped);
                items_after += 1;
                let at = view.turn_span(*before).start;
                let mark = bits.mark();
                bits.write(|out| {
                    out.push_str(&turn);
                    out.push(',');
                });
                splices.push(bits.splice(Span::new(at, at), mark));
                Ok(())
            }
        };
        if let Err(reason) = done {
            refused.push((at, reason));
        }
    }
    removed.sort_by_key(|seat| seat.span.start);
    splices.extend(remove_elements(&removed));
    Lowered {
        splices,
        bits,
        refused,
        items_after,
    }
}

/// A marker becomes the first member of its object, which has others.
fn mark_splice(view: &View<'_>, mark: &Mark, bits: &mut Fragments) -> Result<Splice, SkipReason> {
    let object = match mark.place {
        MarkPlace::Block(part) => view.seat(part).map(|seat| seat.span.start),
        MarkPlace::Tool(at) => Some(at),
        MarkPlace::Body => view.body().find('{').and_then(|at| u32::try_from(at).ok()),
    };
    let at = object.ok_or(SkipReason::DoesNotFit)?;
    let is_object = view.body().as_bytes().get(at as usize) == Some(&b'{');
    if !is_object {
        return Err(SkipReason::DoesNotFit);
    }
    let since = bits.mark();
    bits.write(|out| {
        out.push_str(&mark.member);
        out.push(',');
    });
    Ok(bits.splice(Span::new(at + 1, at + 1), since))
}

/// How many bits an edit is made of, about.
fn most_bits(edit: &Edit) -> usize {
    match &edit.action {
        Action::Rewrite(_, pieces) => pieces.len(),
        _ => 1,
    }
}

/// Removes array elements with the commas that would be left over. Seats are sorted.
fn remove_elements(seats: &[ArrayElement]) -> impl Iterator<Item = Splice> {
    let is_next = |one: &ArrayElement, other: &ArrayElement| other.prev_end == Some(one.span.end);
    seats.chunk_by(is_next).filter_map(|run| {
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
    bits: &mut Fragments,
) -> Result<Splice, SkipReason> {
    let part = view.part(id);
    let slots = view.slots(id);
    if part.form == ContentForm::Json {
        return rewrite_json(view, id, pieces, bits);
    }
    // One block carries the new text: the one with the cache marker if any, else the first.
    let survivor = slots
        .iter()
        .position(|slot| slot.is_cache_marked)
        .unwrap_or(0);
    let slot = slots.get(survivor).ok_or(SkipReason::DoesNotFit)?;
    let (only, several);
    let texts: &[JsonStr] = if slots.len() == 1 {
        only = [slot.text];
        &only
    } else {
        several = slots.iter().map(|slot| slot.text).collect::<Vec<_>>();
        &several
    };
    let mark = bits.mark();
    add_pieces(view, texts, pieces, bits).ok_or(SkipReason::DoesNotFit)?;
    let splice = bits.splice(slot.text.span, mark);
    let before: usize = texts.iter().map(|text| text.span.len()).sum();
    let is_as_long = splice.new_len() == before && edit.reorders();
    if splice.new_len() >= before && !is_as_long {
        return Err(SkipReason::NotSmaller);
    }
    if slots.len() > 1 {
        for (at, other) in slots.iter().enumerate() {
            if at != survivor {
                removed.push(view.slot_seat(other).ok_or(SkipReason::DoesNotFit)?);
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
    bits: &mut Fragments,
) -> Result<Vec<Splice>, SkipReason> {
    let only = |part: &PartId| match view.slots(*part) {
        [slot] => Ok(*slot),
        _ => Err(SkipReason::DoesNotFit),
    };
    let slots = arranged.blocks.iter().map(only);
    let slots = slots.collect::<Result<Vec<_>, _>>()?;
    let marked = slots.iter().filter(|slot| slot.is_cache_marked).count();
    let mut free = (arranged.texts.len())
        .checked_sub(marked)
        .ok_or(SkipReason::DoesNotFit)?;
    let mut texts = arranged.texts.iter();
    let mut splices = Vec::with_capacity(arranged.texts.len());
    let mut gone = Vec::new();
    for (part, slot) in arranged.blocks.iter().zip(&slots) {
        if !slot.is_cache_marked && free == 0 {
            gone.push(view.seat(*part).ok_or(SkipReason::DoesNotFit)?);
            continue;
        }
        free -= usize::from(!slot.is_cache_marked);
        let text = texts.next().ok_or(SkipReason::DoesNotFit)?;
        if text != part {
            let from = only(text)?.text.span;
            let mark = bits.mark();
            bits.copy(from);
            splices.push(bits.splice(slot.text.span, mark));
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
    bits: &mut Fragments,
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
    let mark = bits.mark();
    bits.write(|text| text.push_str(&out));
    Ok(bits.splice(part.value, mark))
}

fn replace_input(
    view: &View<'_>,
    id: PartId,
    with: &str,
    bits: &mut Fragments,
) -> Result<Splice, SkipReason> {
    let part = view.part(id);
    let mark = bits.mark();
    match part.args {
        ArgsForm::None => return Err(SkipReason::DoesNotFit),
        ArgsForm::Value => bits.write(|out| out.push_str(with)),
        ArgsForm::Text => bits.write(|out| {
            out.push('"');
            escape_into(with, out);
            out.push('"');
        }),
    }
    let splice = bits.splice(part.value, mark);
    if splice.new_len() >= part.value.len() {
        bits.forget(mark);
        return Err(SkipReason::NotSmaller);
    }
    Ok(splice)
}

/// The pieces as bits. Kept ranges count in the texts joined by newlines.
fn add_pieces(
    view: &View<'_>,
    texts: &[JsonStr],
    pieces: &[Piece],
    bits: &mut Fragments,
) -> Option<()> {
    bits.reserve(pieces.len());
    if let [only] = texts {
        let mark = bits.mark();
        if add_in_order(view, *only, pieces, bits).is_some() {
            return Some(());
        }
        bits.forget(mark);
    }
    let places = Places::of(view, texts, pieces)?;
    for piece in pieces {
        match piece {
            Piece::Note(note) => bits.write(|out| escape_into(note, out)),
            Piece::Keep(range) if range.is_empty() => {}
            Piece::Keep(range) => places.copy(range.start, range.end, bits)?,
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
    bits: &mut Fragments,
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
            Piece::Note(note) => bits.write(|out| escape_into(note, out)),
            Piece::Keep(range) if range.is_empty() => {}
            Piece::Keep(_) => {
                let &[start, end] = kept.next()? else {
                    return None;
                };
                let (start, end) = (u32::try_from(start).ok()?, u32::try_from(end).ok()?);
                bits.copy(Span::new(start, end));
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
    fn copy(&self, start: usize, end: usize, bits: &mut Fragments) -> Option<()> {
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
            bits.copy(piece);
            if at < last {
                bits.write(|out| out.push_str("\\n"));
            }
        }
        Some(())
    }
}
