//! A conversation in the provider's cache, twice: without pruning, and as it is sent.

use crate::cost::cache::{
    CacheKind, CachePrices, ConversationCache, MarkerPattern, Patterns, Prefix, Reach,
};
use crate::plan::draft::{Draft, PartState};
use crate::read::view::{PartId, View};

/// One version of the conversation.
#[derive(Debug)]
struct Version<'p> {
    pattern: &'p MarkerPattern,
    /// The parts with a marker in the present request.
    markers: Vec<u32>,
    /// Whether the present request has the pattern's markers.
    is_marked: bool,
    cache: ConversationCache,
    /// At n: characters of the first n parts, up to the visible ones.
    up_to: Vec<f64>,
}

impl<'p> Version<'p> {
    fn new(pattern: &'p MarkerPattern) -> Self {
        Self {
            pattern,
            markers: Vec::new(),
            is_marked: false,
            cache: ConversationCache::default(),
            up_to: vec![0.0],
        }
    }

    fn all(&self) -> f64 {
        self.up_to.last().copied().unwrap_or(0.0)
    }

    /// What the present request reads if it changes nothing that was sent before.
    fn read_unchanged(&self) -> Prefix {
        self.cache.hit(self.pattern, &self.markers)
    }

    /// What the present request costs that reads this prefix.
    fn cost(&self, read: Prefix, head: f64) -> f64 {
        let all = head + self.all();
        let marked = match self.pattern.rules.kind {
            CacheKind::Automatic => all,
            _ => match self.markers.last() {
                Some(last) => Prefix(Some(last + 1)).chars(head, &self.up_to),
                None if self.pattern.covers_head && self.is_marked => head,
                None => 0.0,
            },
        };
        let bill = self
            .pattern
            .bill(read.chars(head, &self.up_to), marked, all);
        bill.cost(self.pattern.prices)
    }

    /// The present request goes out.
    fn send(&mut self, anchor: Option<PartId>, user_spoke: bool) {
        let parts = self.up_to.len() - 1;
        if user_spoke {
            self.cache.forget();
        }
        let cache = &mut self.cache;
        cache.send(&self.markers, anchor, parts, self.is_marked);
    }
}

/// What the present request reads from the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Reads {
    /// Without pruning.
    pub(crate) without: Prefix,
    /// With it.
    pub(crate) with: Reach,
    /// With it, had no round been taken.
    pub(crate) before_round: Prefix,
}

/// What a request costs, in characters at the price of input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    pub(super) without: f64,
    pub(super) with: f64,
}

/// The conversation without pruning and as it is sent, each with its cache.
#[derive(Debug)]
pub(super) struct Versions<'p> {
    /// Characters of tools, instructions and all else outside the turns.
    head: f64,
    full: Version<'p>,
    sent: Version<'p>,
}

impl<'p> Versions<'p> {
    pub(super) fn new(view: &View<'_>, patterns: &'p Patterns) -> Self {
        let list = view.list().unwrap_or_default();
        let (full, sent) = patterns.for_rounds();
        Self {
            head: (view.body().len() - list.len()) as f64,
            full: Version::new(full),
            sent: Version::new(sent),
        }
    }

    /// A request with the first `visible` turns begins: parts of these weights are new. Returns their sum.
    pub(super) fn begin(
        &mut self,
        view: &View<'_>,
        request: u32,
        visible: u32,
        weights: &[f64],
    ) -> f64 {
        for version in [&mut self.full, &mut self.sent] {
            let pattern = version.pattern;
            pattern.markers_at(view, request, visible, &mut version.markers);
            version.is_marked = pattern.marks(request);
        }
        let before = self.full.all();
        let mut all = before;
        for weight in weights {
            all += weight;
            self.full.up_to.push(all);
        }
        all - before
    }

    /// Sets what is sent of the parts from `from` on, which are the last ones that are visible.
    pub(super) fn set_sent(&mut self, from: usize, chars: impl Iterator<Item = f64>) {
        self.sent.up_to.truncate(from + 1);
        let mut sum = self.sent.all();
        for chars in chars {
            sum += chars;
            self.sent.up_to.push(sum);
        }
    }

    /// What cached input costs as it is sent.
    pub(super) fn prices(&self) -> CachePrices {
        self.sent.pattern.prices
    }

    /// At n: characters of the first n parts as they are sent.
    pub(super) fn sent_up_to(&self) -> &[f64] {
        &self.sent.up_to
    }

    /// Whether what was sent before is long enough to be cached, so that cuts cannot keep it from being so.
    pub(super) fn is_cacheable(&self) -> bool {
        let pattern = self.sent.pattern;
        self.head + self.sent.all() >= pattern.min_chars()
    }

    /// The most that may be freed, in characters: what stays is long enough to be cached.
    pub(super) fn max_freed(&self) -> f64 {
        self.head + self.sent.all() - self.sent.pattern.min_chars()
    }

    /// Characters of all visible parts as they are sent.
    pub(super) fn sent(&self) -> f64 {
        self.sent.all()
    }

    /// What the present request reads if it changes nothing that was sent before.
    pub(super) fn read_unchanged(&self) -> Prefix {
        self.sent.read_unchanged()
    }

    /// What cuts make the provider write again.
    pub(super) fn rewrites<'r>(&'r self, view: &'r View<'r>, draft: &'r Draft) -> Rewrites<'r> {
        Rewrites {
            versions: self,
            view,
            draft,
            read_unchanged: self.chars_of(self.read_unchanged()),
        }
    }

    fn chars_of(&self, prefix: Prefix) -> f64 {
        prefix.chars(self.head, &self.sent.up_to)
    }

    /// A round changes everything from a part on.
    pub(super) fn change(&mut self, from: PartId) {
        self.sent.cache.change(from);
    }

    /// The present request goes out, and reads `with` of what is sent. `user_spoke`: it has a new message of the user.
    pub(super) fn send(&mut self, with: Reach, user_spoke: bool) -> (Prefix, Costs) {
        let without = self.full.read_unchanged();
        let costs = Costs {
            without: self.full.cost(without, self.head),
            with: self.sent.cost(with.prefix, self.head),
        };
        self.full.send(None, user_spoke);
        self.sent.send(with.anchor, user_spoke);
        (without, costs)
    }
}

/// What a cut makes the provider write again, by where it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rewrites<'r> {
    versions: &'r Versions<'r>,
    view: &'r View<'r>,
    draft: &'r Draft,
    read_unchanged: f64,
}

impl Rewrites<'_> {
    /// What the present request reads if everything from a part on is changed.
    pub(super) fn reach(&self, from: PartId) -> Reach {
        let is_there = |part| self.draft.state(part) != PartState::Gone;
        let sent = &self.versions.sent;
        let (pattern, markers) = (sent.pattern, &sent.markers);
        let cache = &sent.cache;
        cache.reach(self.view, pattern, markers, from.0, is_there)
    }

    /// Characters, as they were sent, that are read now and not if everything from a part on is changed.
    pub(crate) fn after(&self, from: PartId) -> f64 {
        self.read_unchanged - self.versions.chars_of(self.reach(from).prefix)
    }

    /// The least that a cut at this part or before it makes the provider write again, if what is cut before this part is
    /// at most `open` characters.
    pub(crate) fn at_least(&self, from: PartId, open: f64) -> f64 {
        let whole_prefix = self.versions.chars_of(Prefix(Some(from.0)));
        (self.read_unchanged - whole_prefix).max(self.after(from) - open)
    }
}
