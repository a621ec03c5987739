//! Clearing a result that notes point to: the lines that they stand for stay, all others go.
//!
//! **Invariant:** every line that a note in the output replaces is in the result that the note points to,
//! whole and in the same order. Lines are recognised by their content, so equal lines elsewhere in the result may
//! stay too.

use std::ops::Range;

use crate::plan::arriving_text::{ArrivalText, ScanScratch};
use crate::plan::context::PlanContext;
use crate::plan::edit::{Action, CutReason, Edit, Effect, Piece};
use crate::read::view::PartId;
use crate::text::hash::QuickMap;
use crate::text::line_facts::LineKey;

/// What notes stand for, found once for each part that has them.
#[derive(Debug, Default)]
pub(crate) struct CitedLines {
    of: QuickMap<PartId, Box<[LineKey]>>,
    scratch: ScanScratch,
    /// Bytes that were read since this was last asked.
    read: usize,
}

/// Lines that notes stand for.
type Cited = QuickMap<LineKey, ()>;

/// With more notes than these the result stays as it is: the work is bounded.
const MAX_NOTES: usize = 16;
/// Clearing that frees fewer characters is not worth the holes.
const LEAST_FREED: usize = 500;

const KEPT: &str = "\n[What later results point to:]\n";
const GAP: &str = "[…]\n";

impl CitedLines {
    /// The edit that clears a result but for what notes in the output point to; `None` if that frees too little.
    pub(crate) fn keep(&mut self, context: &PlanContext<'_, '_>, clear: &Edit) -> Option<Edit> {
        let Action::Rewrite(part, pieces) = &clear.action else {
            return None;
        };
        let [Piece::Note(words)] = &pieces[..] else {
            return None;
        };
        let notes = context.draft.cited_by(*part).iter().copied();
        let notes: Vec<PartId> = notes
            .filter(|note| context.state(*note).is_shown())
            .collect();
        if notes.len() > MAX_NOTES {
            return None;
        }
        let mut cited = Cited::default();
        for note in notes {
            cited.extend(self.of_note(context, note).iter().map(|key| (*key, ())));
        }
        let mut text = ArrivalText::of(context, *part, false, &mut self.scratch);
        self.read += text.text_len();
        let kept = kept(context, *part, text.text_len());
        let mut pieces = vec![Piece::Note(words.clone()), Piece::Note(KEPT.into())];
        for run in runs(&mut text, &cited) {
            if pieces.len() > 2 {
                pieces.push(Piece::Note(GAP.into()));
            }
            pieces.extend(inside(&kept, &run).map(Piece::Keep));
        }
        let chars = |piece: &Piece| match piece {
            Piece::Keep(range) => text.chars_in(range),
            Piece::Note(words) => words.chars().count(),
        };
        let chars_after = pieces.iter().map(chars).sum();
        let memory = text.into_memory();
        self.scratch.take_back(memory);
        (chars_after + LEAST_FREED <= context.chars(*part)).then_some(Edit {
            action: Action::Rewrite(*part, pieces),
            strategy: clear.strategy,
            why: CutReason::ClearedAroundNotes,
            effect: Effect::KeepsCitedLines,
            chars_before: clear.chars_before,
            chars_after,
        })
    }

    /// Bytes that were read since this was last asked.
    pub(crate) fn take_read(&mut self) -> usize {
        std::mem::take(&mut self.read)
    }

    /// The lines that were taken from a part with notes when it arrived.
    fn of_note(&mut self, context: &PlanContext<'_, '_>, note: PartId) -> &[LineKey] {
        let Self { of, scratch, read } = self;
        of.entry(note).or_insert_with(|| {
            let text = ArrivalText::of(context, note, false, scratch);
            *read += text.text_len();
            let kept = kept(context, note, text.text_len());
            // Only these are looked at: most lines stay.
            let mut gone = Vec::new();
            let mut kept = kept.iter().peekable();
            for line in text.lines() {
                let last = line.keep().end - 1;
                while kept.next_if(|range| range.end <= last).is_some() {}
                if kept.peek().is_none_or(|range| range.start > last) {
                    gone.push(text.key_of(line));
                }
            }
            let gone = gone.into();
            let memory = text.into_memory();
            scratch.take_back(memory);
            gone
        })
    }
}

/// The bytes of a part's text that are sent.
fn kept(context: &PlanContext<'_, '_>, part: PartId, len: usize) -> Vec<Range<usize>> {
    let Some(pieces) = context.draft.rewrite_of(part) else {
        return std::iter::once(0..len).collect();
    };
    let keep = |piece: &Piece| match piece {
        Piece::Keep(range) => Some(range.clone()),
        Piece::Note(_) => None,
    };
    let mut kept = Vec::with_capacity(pieces.len());
    kept.extend(pieces.iter().filter_map(keep));
    kept
}

/// The runs of lines that are cited. A run without a line that says something is none: no note points to it.
fn runs(text: &mut ArrivalText<'_>, cited: &Cited) -> Vec<Range<usize>> {
    text.scan_for_keys();
    let mut runs = Vec::new();
    let (mut run, mut says) = (0..0, false);
    for (line, key) in text.keyed_lines() {
        if !cited.contains_key(&key) {
            continue;
        }
        if run.end != line.start {
            if says {
                runs.push(run);
            }
            run = line.start..line.start;
            says = false;
        }
        run.end = line.end;
        says |= key.is_anchor();
    }
    if says {
        runs.push(run);
    }
    runs
}

/// The parts of the ranges inside this one.
fn inside<'k>(
    ranges: &'k [Range<usize>],
    within: &Range<usize>,
) -> impl Iterator<Item = Range<usize>> + use<'k> {
    let Range { start, end } = *within;
    let first = ranges.partition_point(|range| range.end <= start);
    ranges[first..]
        .iter()
        .take_while(move |range| range.start < end)
        .map(move |range| range.start.max(start)..range.end.min(end))
}
