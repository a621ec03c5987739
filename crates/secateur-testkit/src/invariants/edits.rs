//! Everything that no edit names is there, byte for byte and in order.

use secateur_core::Limits;
use secateur_core::dialect::{self, Dialect};
use secateur_core::internal::edit::{Action, Mark, MarkPlace, Piece, Plan};
use secateur_core::internal::view::{Placement, View};

use super::demand;
use crate::raw::RawRequest;

/// Elements without an edit are there, byte for byte and in order.
pub(super) fn items_survive(
    dialect: Dialect,
    body: &[u8],
    before: &RawRequest<'_>,
    after: &RawRequest<'_>,
    plan: &Plan,
) -> Result<(), String> {
    let view = dialect::read(body, dialect, &Limits::default()).map_err(|e| e.to_string())?;
    let starts: Vec<usize> = before
        .items
        .iter()
        .map(|item| before.offset(item))
        .collect();
    let item_at = |start: u32| {
        starts
            .binary_search(&(start as usize))
            .map_err(|_| "an item is not where the view has it")
    };
    // What stands at each place: the element itself, an edited one, or none.
    let mut fates: Vec<Option<bool>> = vec![Some(false); before.items.len()];
    let mut inserted = vec![0usize; before.items.len()];
    for edit in &plan.edits {
        match &edit.action {
            Action::DropTurn(turn) => {
                for seat in view.items_of(*turn) {
                    fates[item_at(seat.span.start)?] = None;
                }
            }
            Action::InsertTurn(turn, _) => inserted[item_at(view.turn_span(*turn).start)?] += 1,
            Action::Arrange(arranged) => {
                let first = arranged.blocks.first().ok_or("an arrangement of nothing")?;
                let start = view
                    .element(*first)
                    .ok_or("a block without a seat")?
                    .span
                    .start;
                let at = starts.partition_point(|item| *item <= start as usize);
                let at = at.checked_sub(1).ok_or("an edit before the list")?;
                fates[at] = fates[at].and(Some(true));
            }
            Action::Mark(Mark {
                place: MarkPlace::Block(part),
                ..
            })
            | Action::DropPart(part)
            | Action::Rewrite(part, _)
            | Action::ReplaceInput(part, _) => {
                let gone = matches!(edit.action, Action::DropPart(_))
                    && matches!(view.part(*part).placement, Placement::Item(_));
                let start = match view.element(*part) {
                    Some(seat) => seat.span.start,
                    None => view.part(*part).value.start,
                };
                let at = starts.partition_point(|item| *item <= start as usize);
                let at = at.checked_sub(1).ok_or("an edit before the list")?;
                fates[at] = if gone {
                    None
                } else {
                    fates[at].and(Some(true))
                };
            }
            Action::Mark(_) => {}
        }
    }
    let mut found = after.items.iter();
    for (at, fate) in fates.iter().enumerate() {
        for _ in 0..inserted[at] {
            demand!(found.next().is_some(), "an inserted turn is missing");
        }
        let Some(is_edited) = fate else { continue };
        let item = found
            .next()
            .ok_or_else(|| format!("element {at} is missing"))?;
        demand!(
            *is_edited || *item == before.items[at],
            "element {at} changed without an edit: {item}"
        );
    }
    demand!(found.next().is_none(), "an element came from nowhere");
    Ok(())
}

/// Every part that stays has its bytes, or the text that its edit spells out.
pub(super) fn texts_survive(
    dialect: Dialect,
    body: &[u8],
    out: &[u8],
    plan: &Plan,
) -> Result<(), String> {
    let read = |bytes| dialect::read(bytes, dialect, &Limits::default()).map_err(|e| e.to_string());
    let (before, after): (View<'_>, View<'_>) = (read(body)?, read(out)?);
    let mut parts = after.part_ids();
    let mut edits = vec![None; before.parts().len()];
    let mut moved = vec![None; before.parts().len()];
    let mut is_gone = vec![false; before.parts().len()];
    let mut is_marked = vec![false; before.parts().len()];
    let mut inserted_at = vec![0usize; before.parts().len()];
    for edit in &plan.edits {
        match &edit.action {
            Action::DropTurn(turn) => before
                .parts_of(*turn)
                .for_each(|part| is_gone[part.index()] = true),
            Action::DropPart(part) => is_gone[part.index()] = true,
            Action::Mark(Mark {
                place: MarkPlace::Block(part),
                ..
            }) => is_marked[part.index()] = true,
            Action::Mark(_) => {}
            Action::Rewrite(part, _) | Action::ReplaceInput(part, _) => {
                edits[part.index()] = Some(&edit.action);
            }
            Action::Arrange(arranged) => {
                for (at, block) in arranged.blocks.iter().enumerate() {
                    match arranged.texts.get(at) {
                        Some(text) => moved[block.index()] = Some(*text),
                        None => is_gone[block.index()] = true,
                    }
                }
            }
            Action::InsertTurn(turn, _) => {
                // A turn with nothing in it has no part to stand before; the next one has.
                let behind = before.turn_ids().skip(turn.index());
                if let Some(first) = behind.flat_map(|turn| before.parts_of(turn)).next() {
                    inserted_at[first.index()] += 1;
                }
            }
        }
    }
    for id in before.part_ids() {
        for _ in 0..inserted_at[id.index()] {
            parts.next();
        }
        if is_gone[id.index()] {
            continue;
        }
        let now = parts.next().ok_or("a part is missing")?;
        if let Some(text) = moved[id.index()] {
            demand!(
                after.text(now) == before.text(text),
                "a moved text is not what it was"
            );
            continue;
        }
        match edits[id.index()] {
            None if is_marked[id.index()] => {
                demand!(
                    after.text(now) == before.text(id) && after.args(now) == before.args(id),
                    "a marked part says something else"
                );
            }
            None => {
                let (was, is) = (before.part(id).value, after.part(now).value);
                demand!(
                    was.of(before.body()) == is.of(after.body()),
                    "a part changed without an edit"
                );
            }
            Some(Action::Rewrite(_, pieces)) => {
                let text = before.text(id);
                let mut wanted = String::new();
                for piece in pieces {
                    wanted.push_str(match piece {
                        Piece::Keep(range) => {
                            text.get(range.clone()).ok_or("a cut inside a character")?
                        }
                        Piece::Note(note) => note,
                    });
                }
                demand!(
                    after.text(now) == wanted,
                    "a rewritten text is not what its edit says"
                );
            }
            Some(Action::ReplaceInput(_, wanted)) => {
                demand!(
                    after.args(now) == *wanted,
                    "arguments are not what their edit says"
                );
            }
            Some(_) => {}
        }
    }
    Ok(())
}

pub(super) fn is_subsequence(part: &[u8], whole: &[u8]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|byte| whole.any(|other| other == byte))
}
