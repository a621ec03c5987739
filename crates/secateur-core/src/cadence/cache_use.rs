//! What a request reads from the provider's cache, and the markers that the engine adds for it.

use super::versions::Reads;
use crate::cost::cache::{
    Anchor, CacheHit, CacheKind, Cached, ConversationCache, Covered, MarkerPattern, Patterns,
    Prefix, Reach,
};
use crate::output::splice::Splices;
use crate::plan::edit::{Action, CutReason, Edit, Effect, Mark, MarkPlace, StrategyId};
use crate::plan::timeline::Timeline;
use crate::read::view::{PartId, TurnId, View};

/// The author of anchors.
const ANCHOR: StrategyId = StrategyId("cache-anchor");
/// The author of markers for clients that set none.
const MARK: StrategyId = StrategyId("cache-mark");

/// What a request reads that is planned from scratch, as are all before it. Everything from `first_edit` on may have
/// been sent otherwise before.
pub(crate) fn reads_from_scratch(
    view: &View<'_>,
    timeline: &Timeline,
    patterns: &Patterns,
    first_edit: Option<PartId>,
) -> Reads {
    let read = |pattern: &MarkerPattern, first_edit: Option<PartId>| {
        let mut cache = ConversationCache::default();
        let mut markers = Vec::new();
        for (request, &visible) in (0..).zip(timeline.requests()) {
            pattern.markers_at(view, request, visible, &mut markers);
            if visible as usize == view.turns().len() {
                break;
            }
            let parts = visible.checked_sub(1);
            let parts = parts.map_or(0, |last| view.parts_end(TurnId(last)));
            cache.send(&markers, None, parts, pattern.marks(request));
        }
        if let Some(first) = first_edit {
            cache.change(first);
        }
        cache.hit(pattern, &markers)
    };
    Reads {
        without: read(&patterns.client, None),
        with: Reach {
            prefix: read(patterns.sent(), first_edit),
            anchor: None,
        },
        before_round: read(patterns.sent(), None),
    }
}

/// The same in bytes, and why.
pub(crate) fn cached(
    view: &View<'_>,
    patterns: &Patterns,
    splices: &Splices,
    reads: &Reads,
    has_earlier: bool,
) -> Cached {
    let read = |prefix: Prefix| end_of(view, prefix);
    let marked = |pattern: &MarkerPattern| match pattern.rules.kind {
        CacheKind::None => 0,
        CacheKind::Automatic => view.body().len(),
        CacheKind::Marked | CacheKind::Breakpoints => match pattern.present().iter().max() {
            Some(last) => end_of(view, Prefix(Some(last.0 + 1))),
            None if pattern.covers_head => end_of(view, Prefix(Some(0))),
            None => 0,
        },
    };
    let moved = |at: usize| splices.moved(u32::try_from(at).unwrap_or(u32::MAX));
    Cached {
        has_earlier,
        covers_turns: patterns.client.caches_turns(),
        before: Covered {
            read: read(reads.without),
            marked: marked(&patterns.client),
        },
        after: Covered {
            read: moved(read(reads.with.prefix)),
            marked: moved(marked(patterns.sent())),
        },
        unbroken_after: moved(read(reads.before_round)),
        hit: hit(view, patterns.sent(), &reads.with, has_earlier),
    }
}

/// The byte at which a prefix ends.
fn end_of(view: &View<'_>, prefix: Prefix) -> usize {
    match prefix.0.map(|parts| parts.checked_sub(1)) {
        None => 0,
        Some(None) => view.list().map_or(0, |list| list.start as usize),
        Some(Some(last)) => {
            let last = PartId(last);
            let span = view
                .element(last)
                .map_or(view.part(last).value, |element| element.span);
            span.end as usize
        }
    }
}

fn hit(view: &View<'_>, pattern: &MarkerPattern, with: &Reach, has_earlier: bool) -> CacheHit {
    let message = || {
        let last = PartId(with.prefix.0?.checked_sub(1)?);
        view.item_index(view.part(last).turn?)
    };
    match (pattern.rules.kind, with.prefix.0) {
        (CacheKind::None, _) => CacheHit::NoCache,
        (CacheKind::Marked, _) if !pattern.caches_turns() && !pattern.covers_head => {
            CacheHit::NoMarker
        }
        _ if !has_earlier => CacheHit::FirstRequest,
        (_, None) => CacheHit::OutOfReach,
        (CacheKind::Automatic, Some(_)) => CacheHit::Prefix { message: message() },
        (_, Some(_)) if with.anchor.is_some() => CacheHit::Anchor { message: message() },
        (_, Some(_)) => CacheHit::Marker { message: message() },
    }
}

/// The edit that puts an anchor on a block.
pub(crate) fn anchor_edit(view: &View<'_>, anchor: &Anchor, block: PartId) -> Edit {
    let member = anchor.member(view.body());
    mark(
        MarkPlace::Block(block),
        member,
        ANCHOR,
        CutReason::KeepsCacheEntry,
        false,
    )
}

fn mark(
    place: MarkPlace,
    member: String,
    strategy: StrategyId,
    why: CutReason,
    is_asked_for: bool,
) -> Edit {
    Edit {
        action: Action::Mark(Mark {
            place,
            member,
            is_asked_for,
        }),
        strategy,
        why,
        effect: Effect::Marks,
        chars_before: 0,
        chars_after: 0,
    }
}

/// The markers of a conversation that the engine marks: on the last of the instructions (or the last tool), and on the
/// last message. Content given as a string carries none: then the marker goes to the top level of the body, which
/// stands for the last block.
pub(crate) fn own_marks(view: &View<'_>, own: &MarkerPattern, last_tool: Option<u32>) -> Vec<Edit> {
    let carries = |part: &PartId| own.can_mark(view, *part);
    let system = view
        .part_ids()
        .rfind(|&part| view.part(part).turn.is_none())
        .filter(carries)
        .map(MarkPlace::Block);
    let last = own.present().last().copied().filter(carries);
    let last = last.map_or(MarkPlace::Body, MarkPlace::Block);
    let places = system.or(last_tool.map(MarkPlace::Tool)).into_iter();
    let member = own.anchor.as_ref().map(|anchor| anchor.member(view.body()));
    let edit = |place| {
        Some(mark(
            place,
            member.clone()?,
            MARK,
            CutReason::CachesConversation,
            true,
        ))
    };
    places.chain([last]).filter_map(edit).collect()
}
