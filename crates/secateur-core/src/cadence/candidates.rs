//! The round that pays best, found among what may still be cut, without making a plan.
//!
//! What a strategy could cut is kept from request to request. A part's cut is worked out once, when it first
//! may be cut; a search at a request only asks of each open part whether it is due.
//!
//! **Invariant:** a search finds the round that a plan made from scratch would give: the same start, the same
//! cuts. It walks from the tail to the head and stops where nothing before can pay better: what is
//! freed from there on is at most what is open, and what is rewritten only grows.

use super::versions::Rewrites;
use crate::plan::context::PlanContext;
use crate::plan::edit::{Edit, Effect};
use crate::plan::guard;
use crate::read::view::PartId;
use crate::strategy::{IncrementalCuts, Strategy, Work};

use super::work_budget;

/// What a round has to bring, in characters at the price of input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundEconomics {
    /// What a freed character saves over the horizon.
    pub(crate) value_per_freed: f64,
    /// What it costs to write a character again that would have been read.
    pub(crate) cost_per_rewritten: f64,
    /// What the conversation saved so far, which may be spent.
    pub(crate) saved_so_far: f64,
    /// What a freed character saves at the request itself.
    pub(crate) immediate_saving: f64,
    /// Fewest characters to be freed.
    pub(crate) min_freed: f64,
    /// Most characters to be freed.
    pub(crate) max_freed: f64,
}

/// What was saved must cover the rewrite so many times: characters are not tokens, and what surrounds a text is billed
/// with it.
const COVER: f64 = 1.15;

impl RoundEconomics {
    /// What a round brings that frees so much and rewrites so much; `None` if it is not worth it.
    pub(crate) fn net(self, freed: f64, rewritten: f64) -> Option<f64> {
        let cost = self.cost_per_rewritten * rewritten;
        let net = self.value_per_freed * freed - cost;
        let is_covered = cost * COVER <= self.saved_so_far + self.immediate_saving * freed;
        let fits = (self.min_freed..=self.max_freed).contains(&freed);
        (net > 0.0 && is_covered && fits).then_some(net)
    }

    /// Whether more freed and less rewritten text never makes a round worse.
    fn are_monotone(self) -> bool {
        self.value_per_freed >= 0.0
            && self.cost_per_rewritten >= 0.0
            && self.immediate_saving >= 0.0
    }
}

/// The search for the round that pays best: every part that may be cut is tried as the first one, from the tail to the
/// head.
pub(crate) struct BestStart<'r, 'v> {
    economics: RoundEconomics,
    rewrites: &'r Rewrites<'v>,
    freed: f64,
    /// What is freed, less what grows.
    shorter: f64,
    net: f64,
    /// The best start so far.
    pub(crate) part: Option<PartId>,
}

impl<'r, 'v> BestStart<'r, 'v> {
    pub(crate) fn new(economics: RoundEconomics, rewrites: &'r Rewrites<'v>) -> Self {
        Self {
            economics,
            rewrites,
            freed: 0.0,
            shorter: 0.0,
            net: 0.0,
            part: None,
        }
    }

    /// The cut of a part before all that were offered.
    pub(crate) fn offer(&mut self, part: PartId, gain: f64) {
        self.shorter += gain;
        if gain <= 0.0 {
            return;
        }
        self.freed += gain;
        let rewritten = self.rewrites.after(part) - self.shorter;
        let net = self.economics.net(self.freed, rewritten);
        if let Some(net) = net.filter(|&net| net > self.net) {
            self.net = net;
            self.part = Some(part);
        }
    }

    /// Whether no part before `next` can pay better, if cutting all of them frees at most `open` characters.
    fn is_final(&self, next: PartId, open: f64) -> bool {
        let least = self.rewrites.at_least(next, open) - self.shorter;
        let at_most = (self.freed + open).min(self.economics.max_freed);
        let most = self.economics.net(at_most, least);
        self.economics.are_monotone() && !most.is_some_and(|most| most > self.net)
    }
}

/// A part that may be cut one day.
#[derive(Debug)]
struct Open {
    part: PartId,
    /// Whose it is.
    strategy: u32,
    /// Characters as sent, which is the most that cutting it frees.
    chars: f64,
    /// Characters as sent of all open parts before it.
    before: f64,
    cut: Cut,
    around: Option<Around>,
}

/// The cut of a part that notes point to.
#[derive(Debug)]
struct Around {
    /// How many notes point to it, and how many of them are in force. A note that is dropped does not come back, so the
    /// second number identifies them.
    notes: (usize, usize),
    edit: Option<Box<Edit>>,
}

#[derive(Debug)]
enum Cut {
    /// It was not due yet.
    Unknown,
    /// The guards or the strategy keep the part as it is.
    Never,
    Known(Box<Edit>),
}

/// A cut of the present search.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// Index of the open part.
    at: usize,
    gain: f64,
    /// Whether what notes point to stays.
    around_notes: bool,
}

/// The parts that may still be cut, and the search for the round that pays best.
pub(crate) struct RoundCandidates<'o> {
    cuts: Vec<Box<dyn IncrementalCuts + 'o>>,
    /// In the order of the parts.
    open: Vec<Open>,
    /// How many citations of the draft the candidates have taken in.
    cited: usize,
    /// For each part: whether the present search cuts its text.
    goes: Vec<bool>,
    /// What the present search would cut, from the tail to the head: indices of open parts.
    found: Vec<Found>,
    cited_lines: guard::CitedLines,
    /// How many open parts and notes were visited, since it was last asked.
    visits: usize,
    /// How many open parts turned out to be never cut since they were last forgotten.
    dead: usize,
}

impl<'o> RoundCandidates<'o> {
    /// `None` if a strategy of the rounds does not list its candidates.
    pub(crate) fn of(strategies: &[&'o dyn Strategy], parts: usize) -> Option<Self> {
        let works = strategies.iter().map(|strategy| strategy.work());
        let cuts = works.filter(Work::is_for_rounds).map(|work| match work {
            Work::PartByPart(cuts) => Some(cuts),
            Work::OnArrival(_) | Work::PerTurn(_) | Work::Whole(_) => None,
        });
        Some(Self {
            cuts: cuts.collect::<Option<_>>()?,
            open: Vec::new(),
            cited: 0,
            goes: vec![false; parts],
            found: Vec::new(),
            cited_lines: guard::CitedLines::default(),
            visits: 0,
            dead: 0,
        })
    }

    /// Takes in what has arrived at a request, after what was decided on its arrival. `sent_up_to[n]`:
    /// characters of the first n parts as they are sent.
    pub(crate) fn arrive(
        &mut self,
        context: &PlanContext<'_, '_>,
        parts: std::ops::Range<usize>,
        sent_up_to: &[f64],
    ) {
        for at in parts {
            let part = PartId(u32::try_from(at).unwrap_or(u32::MAX));
            let mut owner = None;
            for (number, cuts) in self.cuts.iter_mut().enumerate() {
                let is_open = cuts.arrive(context, part);
                owner = owner.or(is_open.then_some(number));
            }
            if let Some(owner) = owner.filter(|_| context.state(part).is_shown()) {
                self.open.push(Open {
                    part,
                    strategy: u32::try_from(owner).unwrap_or(u32::MAX),
                    chars: sent_up_to[at + 1] - sent_up_to[at],
                    before: self.open.last().map_or(0.0, Open::up_to),
                    cut: Cut::Unknown,
                    around: None,
                });
            }
        }
        for &part in context.draft.cited().iter().skip(self.cited) {
            for cuts in &mut self.cuts {
                cuts.use_again(context, part);
            }
        }
        self.cited = context.draft.cited().len();
    }

    /// Where the round over the first `cached` parts begins that pays best, if any pays.
    pub(crate) fn best_start(
        &mut self,
        context: &PlanContext<'_, '_>,
        cached: usize,
        economics: RoundEconomics,
        rewrites: &Rewrites<'_>,
    ) -> Option<PartId> {
        self.found.clear();
        if self.dead * 2 > self.open.len() {
            self.keep_alive(0);
        }
        let mut best = BestStart::new(economics, rewrites);
        let arrived = self.open.partition_point(|one| one.part.index() < cached);
        for at in (0..arrived).rev() {
            self.visits += 1;
            let one = &self.open[at];
            let next = PartId(one.part.0 + 1);
            if best.is_final(next, one.up_to()) {
                break;
            }
            let Some(found) = self.cut_of(context, at) else {
                continue;
            };
            let gain = found.gain;
            self.found.push(found);
            best.offer(self.open[at].part, gain);
        }
        for found in &self.found {
            self.goes[self.open[found.at].part.index()] = false;
        }
        best.part
    }

    /// The cut of an open part at the present request; `None` if it is not to be cut.
    fn cut_of(&mut self, context: &PlanContext<'_, '_>, at: usize) -> Option<Found> {
        let one = &mut self.open[at];
        let cuts = self.cuts.get(one.strategy as usize)?;
        if matches!(one.cut, Cut::Never) || !cuts.is_due(context, one.part) {
            return None;
        }
        if matches!(one.cut, Cut::Unknown) {
            let is_allowed = |edit: &Edit| {
                guard::veto_part(context, edit, one.part, guard::Reach::default()).is_ok()
            };
            let cut = cuts.cut(context, one.part).filter(is_allowed);
            self.dead += usize::from(cut.is_none());
            one.cut = cut.map_or(Cut::Never, |edit| Cut::Known(Box::new(edit)));
        }
        let Cut::Known(edit) = &one.cut else {
            return None;
        };
        if edit.effect != Effect::KeepsShownText {
            // A note comes after what it points to, so it was decided before.
            let notes = context.draft.cited_by(one.part);
            self.visits += notes.len();
            let stays = |note: &PartId| !self.goes[note.index()] && context.state(*note).is_shown();
            if notes.iter().any(stays) {
                let open = notes.iter().filter(|note| context.state(**note).is_shown());
                let notes = (notes.len(), open.count());
                let around = one.around.take_if(|around| around.notes == notes);
                let around = one.around.insert(around.unwrap_or_else(|| Around {
                    notes,
                    edit: self.cited_lines.keep(context, edit).map(Box::new),
                }));
                self.visits += work_budget::visits_of_chars(self.cited_lines.take_read());
                let gain = one.chars - around.edit.as_ref()?.chars_after as f64;
                self.goes[one.part.index()] = true;
                return Some(Found {
                    at,
                    gain,
                    around_notes: true,
                });
            }
            self.goes[one.part.index()] = true;
        }
        Some(Found {
            at,
            gain: one.chars - edit.chars_after as f64,
            around_notes: false,
        })
    }

    /// The cuts of the round that was found last, from `from` on, strategy by strategy. They are open no
    /// more.
    pub(crate) fn take(&mut self, from: PartId) -> Vec<Edit> {
        self.found.retain(|found| self.open[found.at].part >= from);
        let mut cuts = Vec::with_capacity(self.found.len());
        let first = self.found.last().map_or(self.open.len(), |found| found.at);
        for found in self.found.iter().rev() {
            let one = &mut self.open[found.at];
            let around = one.around.take().and_then(|around| around.edit);
            if let Cut::Known(edit) = std::mem::replace(&mut one.cut, Cut::Never) {
                let edit = around.filter(|_| found.around_notes).unwrap_or(edit);
                cuts.push((one.strategy, *edit));
            }
        }
        self.visits += self.open.len() - first;
        self.keep_alive(first);
        // The sort is stable: each strategy's cuts stay in the order of the parts.
        cuts.sort_by_key(|&(strategy, _)| strategy);
        cuts.into_iter().map(|(_, edit)| edit).collect()
    }

    /// Forgets the open parts from this index on that are never cut again.
    fn keep_alive(&mut self, first: usize) {
        let tail = self.open.split_off(first);
        self.dead = 0;
        for one in tail {
            if !matches!(one.cut, Cut::Never) {
                let before = self.open.last().map_or(0.0, Open::up_to);
                self.open.push(Open { before, ..one });
            }
        }
    }

    /// Open parts and notes that were visited since this was last asked.
    pub(crate) fn take_visits(&mut self) -> usize {
        std::mem::take(&mut self.visits)
    }
}

impl Open {
    /// Characters of the open parts up to this one.
    fn up_to(&self) -> f64 {
        self.before + self.chars
    }
}
