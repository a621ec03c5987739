//! How a client asks for caching, request after request.
//!
//! A body shows where its own markers are, and only that. Clients place them by rule: on the last message, on the
//! last two, on the first user turn, at the top level of the body. So the markers of the earlier requests are
//! inferred from the present ones. A marker that fits no such rule is taken to have been nowhere else: no entry is
//! counted on that may not be there.

use super::{Bill, CacheKind, CachePrices, CacheRules, Life, Marker, Markers};
use super::{last_tool, marker_key};
use crate::read::dialect::Dialect;
use crate::read::view::{PartId, PartKind, Placement, Role, TurnId, View};
use secateur_json::Span;

/// A marker further from the end than this many turns is not taken to move with the conversation.
const MAX_TURNS_FROM_END: u32 = 3;

/// Where a client puts its markers in every request of a conversation.
#[derive(Clone, Debug)]
pub(crate) struct MarkerPattern {
    pub(crate) rules: CacheRules,
    /// What cached input costs, at the lifetime that the client asks for.
    pub(crate) prices: CachePrices,
    /// The smallest prefix that is cached, in characters.
    min_chars: f64,
    /// Whether an entry covers tools and instructions.
    pub(crate) covers_head: bool,
    /// Markers on the last block of a turn, by the turn's distance from the end of the request.
    from_end: Vec<u32>,
    /// Markers on blocks of the first user turn, which stay where they are.
    fixed: Vec<PartId>,
    /// The markers of the present request on blocks of turns, in order; the provider's own breakpoint included.
    present: Vec<PartId>,
    /// The first request with markers, counted from 0.
    first_marked_request: u32,
    /// A marker for a block that the client did not mark; `None` if no place is free or the client's own markers are
    /// not understood.
    pub(crate) anchor: Option<Anchor>,
    /// Parts whose block cannot take a marker because it has a member of that name already. Ascending.
    occupied: Vec<PartId>,
}

/// How a conversation is marked: by its client, and as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Patterns {
    pub(crate) client: MarkerPattern,
    /// Where the engine marks what the client does not.
    pub(crate) own: Option<MarkerPattern>,
    /// Where nothing of the turns is cached: the cache that rounds are decided for all the same.
    assumed: Option<MarkerPattern>,
}

impl Patterns {
    pub(crate) fn new(view: &View<'_>, client: MarkerPattern, own: Option<MarkerPattern>) -> Self {
        let assumed = client.assumed(view);
        Self {
            client,
            own,
            assumed,
        }
    }

    pub(crate) fn sent(&self) -> &MarkerPattern {
        self.own.as_ref().unwrap_or(&self.client)
    }

    /// The patterns that rounds are decided for: without pruning, and as it is sent.
    pub(crate) fn for_rounds(&self) -> (&MarkerPattern, &MarkerPattern) {
        match (&self.own, &self.assumed) {
            (Some(own), _) => (&self.client, own),
            (None, Some(assumed)) => (assumed, assumed),
            (None, None) => (&self.client, &self.client),
        }
    }

    /// Whether rounds are decided for another cache than the one that is there.
    pub(crate) fn are_assumed(&self) -> bool {
        self.own.is_none() && self.assumed.is_some()
    }
}

/// The member to put on a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anchor {
    pub(crate) key: &'static str,
    /// Where the body spells the value; `None`: the usual one.
    pub(crate) value: Option<Span>,
}

impl Anchor {
    /// The member as written.
    pub(crate) fn member(&self, body: &str) -> String {
        let usual = match self.key {
            "prompt_cache_breakpoint" => r#"{"mode":"explicit"}"#,
            _ => r#"{"type":"ephemeral"}"#,
        };
        let value = self.value.map_or(usual, |value| value.of(body));
        format!(r#""{}":{value}"#, self.key)
    }
}

impl MarkerPattern {
    pub(crate) fn of(
        view: &View<'_>,
        rules: CacheRules,
        prices: CachePrices,
        chars_per_token: f64,
        markers: &Markers,
    ) -> Self {
        let turns = view.turns().len();
        let mut pattern = Self {
            rules,
            prices: at_life(prices, &rules, tail_life(markers)),
            min_chars: rules.min_tokens.unwrap_or(0) as f64 * chars_per_token,
            covers_head: markers.covers_head,
            from_end: Vec::new(),
            fixed: Vec::new(),
            present: Vec::new(),
            first_marked_request: 0,
            anchor: None,
            occupied: markers.blocks_with_member.clone(),
        };
        let has_own_breakpoint = rules.kind == CacheKind::Breakpoints && !markers.only_explicit;
        let stands_for_last = has_own_breakpoint || markers.top_level.is_some();
        let is_valid = markers.count() + usize::from(has_own_breakpoint) <= rules.max_markers;
        let is_known = |marker: &&Marker| marker.life != Life::Unknown;
        if marker_key(rules.kind).is_none() || !is_valid {
            pattern.covers_head = false;
            return pattern;
        }
        for marker in markers.turns.iter().filter(is_known) {
            pattern.present.push(marker.part);
            let Some(turn) = view.part(marker.part).turn else {
                continue;
            };
            let from_end = turns as u32 - 1 - turn.0;
            if last_block(view, turn) == Some(marker.part) && from_end <= MAX_TURNS_FROM_END {
                pattern.from_end.push(from_end);
            } else if view.first_user() == Some(turn) {
                pattern.fixed.push(marker.part);
            }
        }
        let top_level_is_known = markers
            .top_level
            .is_none_or(|(life, _)| life != Life::Unknown);
        if stands_for_last && top_level_is_known && turns > 0 {
            let last = last_block(view, TurnId(turns as u32 - 1));
            pattern
                .present
                .extend(last.filter(|last| !pattern.present.contains(last)));
            if !pattern.from_end.contains(&0) {
                pattern.from_end.push(0);
            }
        }
        pattern.anchor = pattern.anchor_of(markers, has_own_breakpoint);
        pattern
    }

    /// Where nothing of the turns goes through a cache, a cut rewrites nothing. Rounds are decided as if the last
    /// message were marked by somebody on the way: they stay as rare as elsewhere, so that the model sees as much, and
    /// a gateway that adds markers of its own does not make them a loss.
    fn assumed(&self, view: &View<'_>) -> Option<Self> {
        if self.caches_turns() {
            return None;
        }
        let mut assumed = Self {
            min_chars: 0.0,
            ..self.clone()
        };
        if self.rules.kind == CacheKind::None {
            assumed.rules = CacheRules::PREFIX;
            assumed.prices = CacheRules::PREFIX.usual_prices();
            return Some(assumed);
        }
        assumed.covers_head = true;
        assumed.from_end = vec![0];
        assumed.present = view
            .turn_ids()
            .next_back()
            .and_then(|last| last_block(view, last))
            .into_iter()
            .collect();
        assumed.anchor = None;
        Some(assumed)
    }

    /// The pattern of a conversation that the engine marks because its client does not: at the end of the instructions
    /// and of the last message, from the second request on. `None` where that is not to be done.
    pub(crate) fn of_own_marks(
        view: &View<'_>,
        unmarked: &Self,
        markers: &Markers,
    ) -> Option<Self> {
        let is_for_us = unmarked.rules.kind == CacheKind::Marked && !markers.has_member();
        let last = last_block(view, view.turn_ids().next_back()?)?;
        let system = view
            .part_ids()
            .rfind(|&part| view.part(part).turn.is_none());
        is_for_us.then(|| Self {
            covers_head: match system {
                Some(system) => unmarked.can_mark(view, system),
                None => last_tool(view.body()).is_some(),
            },
            from_end: vec![0],
            present: vec![last],
            first_marked_request: 1,
            anchor: Some(Anchor {
                key: "cache_control",
                value: None,
            }),
            ..unmarked.clone()
        })
    }

    /// The anchor that this client's requests have room for. Its lifetime is that of all the client's markers on turns:
    /// one that lives longer must not follow one that lives shorter.
    fn anchor_of(&self, markers: &Markers, has_own_breakpoint: bool) -> Option<Anchor> {
        let taken = markers.count() + usize::from(has_own_breakpoint);
        let caches_turns = self.from_end.contains(&0);
        let life = tail_life(markers);
        let top_level = markers.top_level.iter().map(|(life, _)| *life);
        let mut lives = markers
            .turns
            .iter()
            .map(|marker| marker.life)
            .chain(top_level);
        let is_understood = lives.all(|other| other == life) && life != Life::Unknown;
        if taken >= self.rules.max_markers || !caches_turns || !is_understood {
            return None;
        }
        let key = marker_key(self.rules.kind)?;
        let value = match (markers.top_level, markers.turns.last()) {
            (Some((_, value)), _) => Some(value),
            (None, Some(last)) => Some(last.value),
            (None, None) if has_own_breakpoint => None,
            (None, None) => return None,
        };
        Some(Anchor { key, value })
    }

    /// Whether a marker can be put on a block as it is written. Content given as a string has no place for one, and
    /// Anthropic rejects one on thinking and on an empty text.
    pub(crate) fn can_mark(&self, view: &View<'_>, part: PartId) -> bool {
        let is_block = matches!(view.part(part).placement, Placement::Nested(_));
        if !is_block || self.occupied.binary_search(&part).is_ok() {
            return false;
        }
        let kind = view.part(part).kind;
        let is_text = kind == PartKind::Text && view.chars(part) > 0;
        match self.rules.kind {
            CacheKind::Marked if view.dialect() == Dialect::AnthropicMessages => match kind {
                PartKind::Thinking | PartKind::Opaque => false,
                PartKind::Text => is_text,
                _ => true,
            },
            // Gateways for Claude in other formats take markers on texts.
            CacheKind::Marked => is_text,
            // Only blocks of input take a breakpoint.
            CacheKind::Breakpoints => {
                let turn = view.part(part).turn.map(|turn| view.turn(turn).role);
                let is_input = matches!(turn, Some(Role::User | Role::System));
                is_input && is_text
            }
            CacheKind::Automatic | CacheKind::None => false,
        }
    }

    /// Whether what the turns say goes through the cache.
    pub(crate) fn caches_turns(&self) -> bool {
        match self.rules.kind {
            CacheKind::Automatic => true,
            CacheKind::None => false,
            CacheKind::Marked | CacheKind::Breakpoints => !self.present.is_empty(),
        }
    }

    /// The smallest prefix that is cached, in characters.
    pub(crate) fn min_chars(&self) -> f64 {
        self.min_chars
    }

    /// How a request of `all` characters is billed, of which the cache holds `read` and markers cover `marked`.
    pub(crate) fn bill(&self, read: f64, marked: f64, all: f64) -> Bill {
        if self.rules.kind == CacheKind::None || marked < self.min_chars {
            return Bill::of(0.0, 0.0, all);
        }
        let is_entry = read >= self.min_chars;
        Bill::of(if is_entry { read } else { 0.0 }, marked, all)
    }

    /// Whether a request had the pattern's markers.
    pub(crate) fn marks(&self, request: u32) -> bool {
        request >= self.first_marked_request
    }

    /// The markers of the present request on blocks of turns.
    pub(crate) fn present(&self) -> &[PartId] {
        &self.present
    }

    /// The markers that a request, the one with the first `visible` turns, had on blocks of turns, ascending.
    pub(crate) fn markers_at(
        &self,
        view: &View<'_>,
        request: u32,
        visible: u32,
        out: &mut Vec<u32>,
    ) {
        out.clear();
        if !self.marks(request) {
            return;
        }
        if visible as usize == view.turns().len() {
            out.extend(self.present.iter().map(|part| part.0));
        } else {
            let turns = self
                .from_end
                .iter()
                .filter_map(|back| visible.checked_sub(back + 1));
            out.extend(turns.filter_map(|turn| Some(last_block(view, TurnId(turn))?.0)));
            let shown =
                |part: &&PartId| view.part(**part).turn.is_some_and(|turn| turn.0 < visible);
            out.extend(self.fixed.iter().filter(shown).map(|part| part.0));
        }
        out.sort_unstable();
        out.dedup();
    }
}

/// The last block of a turn that can carry a marker.
fn last_block(view: &View<'_>, turn: TurnId) -> Option<PartId> {
    view.parts_of(turn)
        .rev()
        .find(|&part| view.part(part).kind != PartKind::Thinking)
}

fn tail_life(markers: &Markers) -> Life {
    match (markers.top_level, markers.turns.last()) {
        (Some((life, _)), _) => life,
        (None, Some(last)) => last.life,
        (None, None) => Life::Usual,
    }
}

/// The price of writing with a lifetime.
fn at_life(prices: CachePrices, rules: &CacheRules, life: Life) -> CachePrices {
    let write = match life {
        // A policy may name a higher price itself.
        Life::Long => rules.long_write.unwrap_or(prices.write).max(prices.write),
        Life::Usual | Life::Unknown => prices.write,
    };
    CachePrices { write, ..prices }
}
