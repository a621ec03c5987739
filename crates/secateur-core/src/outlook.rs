//! Whether a round can pay at all, told without planning one.
//!
//! Most requests take no round. What a strategy could clear is therefore kept from request to request,
//! and a round is planned only where clearing all of that would pay.
//!
//! **Invariant:** the answer "no" is always right: what is counted here is at least what a plan frees, and
//! more freed text never makes a round pay less. So the outlook changes no decision.

use crate::compose::{self, Draft};
use crate::scene::{PartState, Scene};
use crate::strategy::Strategy;
use crate::view::PartId;

/// A strategy's memory of what has arrived. For strategies that clear whole results and do nothing else.
///
/// Holds while nothing is dropped: every part that has arrived is still there, cleared or not.
pub trait Prospects {
    /// Looks at a part that has just arrived. Returns whether it may be cleared at a later request.
    fn arrive(&mut self, scene: &Scene<'_, '_>, part: PartId) -> bool;

    /// A note of the present request points to the part.
    fn use_again(&mut self, scene: &Scene<'_, '_>, part: PartId);

    /// Whether the strategy may clear the part at the present request: true for all that it clears.
    fn may_clear(&self, scene: &Scene<'_, '_>, part: PartId) -> bool;
}

/// What a round has to bring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// What a freed character brings, and what a character behind the first cut costs.
    pub(crate) gain: f64,
    pub(crate) price: f64,
    /// What may be spent.
    pub(crate) capital: f64,
    /// Fewest characters to be freed.
    pub(crate) least: f64,
}

impl Terms {
    /// Whether a round that frees so much and rewrites so much is worth it, and how much it brings.
    pub(crate) fn net(self, freed: f64, behind: f64) -> Option<f64> {
        let cost = self.price * behind;
        let net = self.gain * freed - cost;
        (net > 0.0 && cost <= self.capital && freed >= self.least).then_some(net)
    }
}

/// A part that may be cleared one day.
struct Open {
    part: PartId,
    chars: f64,
    /// Characters of all open parts before it.
    before: f64,
}

/// See the module.
pub(crate) struct Outlook<'o> {
    prospects: Vec<Box<dyn Prospects + 'o>>,
    /// In the order of the parts.
    open: Vec<Open>,
    /// How many citations of the draft were told to the prospects.
    cited: usize,
    /// Scratch: whether a part is cleared at the request that is looked at.
    goes: Vec<bool>,
}

impl<'o> Outlook<'o> {
    /// `None` where a strategy of the rounds does not tell its prospects.
    pub(crate) fn of(strategies: &[&'o dyn Strategy], parts: usize) -> Option<Self> {
        let planners = strategies
            .iter()
            .filter(|strategy| compose::plans_rounds(**strategy));
        Some(Self {
            prospects: planners
                .map(|strategy| strategy.prospects())
                .collect::<Option<_>>()?,
            open: Vec::new(),
            cited: 0,
            goes: vec![false; parts],
        })
    }

    /// Takes in what has arrived at a request, after what was decided on its arrival.
    pub(crate) fn arrive(&mut self, scene: &Scene<'_, '_>, parts: std::ops::Range<usize>) {
        for part in parts.map(part_id) {
            let mut may_be_cleared = false;
            for prospects in &mut self.prospects {
                may_be_cleared |= prospects.arrive(scene, part);
            }
            if may_be_cleared && is_open(scene.state(part)) {
                self.push(part, scene.chars(part) as f64);
            }
        }
        for &part in scene.draft.cited().iter().skip(self.cited) {
            for prospects in &mut self.prospects {
                prospects.use_again(scene, part);
            }
        }
        self.cited = scene.draft.cited().len();
    }

    fn push(&mut self, part: PartId, chars: f64) {
        let before = self
            .open
            .last()
            .map_or(0.0, |last| last.before + last.chars);
        self.open.push(Open {
            part,
            chars,
            before,
        });
    }

    /// Forgets what a round has cleared.
    pub(crate) fn take(&mut self, draft: &Draft) {
        for one in std::mem::take(&mut self.open) {
            if is_open(draft.state(one.part)) {
                self.push(one.part, one.chars);
            }
        }
    }

    /// Whether a round over the first parts may pay. `sent_up_to[n]`: characters of the first n parts as
    /// they are sent.
    pub(crate) fn may_pay(
        &mut self,
        scene: &Scene<'_, '_>,
        sent_up_to: &[f64],
        terms: Terms,
    ) -> bool {
        let is_bound = scene.draft.only_rewrites() && terms.gain >= 0.0 && terms.price >= 0.0;
        let (Some(&all), true) = (sent_up_to.last(), is_bound) else {
            return true;
        };
        let mut freed = 0.0;
        let mut is_possible = false;
        let mut looked_at = self.open.len();
        for (at, one) in self.open.iter().enumerate().rev() {
            let Some(&sent_behind) = sent_up_to.get(one.part.index() + 1) else {
                continue;
            };
            looked_at = at;
            // From here to the head no more than this is freed and no less than that rewritten.
            let most_freed = freed + one.chars + one.before;
            let least_behind = all - sent_behind - freed;
            if terms.net(most_freed, least_behind).is_none() {
                break;
            }
            let note_goes = |note: &PartId| self.goes[note.index()] || !is_open(scene.state(*note));
            let goes = scene.draft.cited_by(one.part).iter().all(note_goes)
                && self
                    .prospects
                    .iter()
                    .any(|one_of| one_of.may_clear(scene, one.part));
            if !goes {
                continue;
            }
            self.goes[one.part.index()] = true;
            freed += one.chars;
            let behind = all - sent_up_to[one.part.index()] - freed;
            if terms.net(freed, behind).is_some() {
                is_possible = true;
                break;
            }
        }
        for one in &self.open[looked_at..] {
            self.goes[one.part.index()] = false;
        }
        is_possible
    }
}

fn is_open(state: PartState) -> bool {
    !matches!(state, PartState::Cleared | PartState::Gone)
}

fn part_id(at: usize) -> PartId {
    PartId(u32::try_from(at).unwrap_or(u32::MAX))
}
