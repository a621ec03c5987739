//! Which parts of a session hold what its answers use.

use std::collections::{BTreeSet, HashMap};

use aho_corasick::AhoCorasick;
use secateur_replay::{
    Message, PartKind, Session,
    targets::{identifiers_of, lines_of},
};

use crate::plan::{Place, places};

/// An identifier or a line that an answer uses.
pub struct Used {
    /// The number of the request that is answered.
    pub request: usize,
    pub is_line: bool,
    /// The parts of the request that hold it, in order. Never empty.
    pub holders: Vec<Place>,
}

/// What a message asks for.
type Targets = fn(&Message) -> BTreeSet<String>;

/// All that the answers use and the requests hold. `text` is what a part says as it is sent.
pub fn used<'t>(session: &Session, text: impl Fn(Place) -> &'t str) -> Vec<Used> {
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut wanted = Vec::new();
    let lists: [(bool, Targets); 2] = [(false, identifiers_of), (true, lines_of)];
    for (request, upto) in session.boundaries().enumerate() {
        for (is_line, targets) in lists {
            for target in targets(&session.messages[upto]) {
                let next = numbers.len();
                let number = *numbers.entry(target).or_insert(next);
                wanted.push((request, upto, is_line, number));
            }
        }
    }
    let holders = find(session, &numbers, text);
    let used = wanted.into_iter().map(|(request, upto, is_line, number)| {
        let before = holders[number].iter().filter(|at| at.0 < upto);
        Used {
            request,
            is_line,
            holders: before.copied().collect(),
        }
    });
    used.filter(|used| !used.holders.is_empty()).collect()
}

/// The parts that hold each target, by the target's number.
fn find<'t>(
    session: &Session,
    numbers: &HashMap<String, usize>,
    text: impl Fn(Place) -> &'t str,
) -> Vec<Vec<Place>> {
    let mut holders: Vec<Vec<Place>> = vec![Vec::new(); numbers.len()];
    let mut patterns = vec![""; numbers.len()];
    for (target, &number) in numbers {
        patterns[number] = target;
    }
    // Nothing is found in the one case that the automaton does not fit into memory.
    let Ok(automaton) = AhoCorasick::new(&patterns) else {
        return holders;
    };
    let end = session.boundaries().last().unwrap_or_default();
    for at in places(session, end) {
        let kind = session.messages[at.0].parts[at.1].kind;
        if matches!(kind, PartKind::Thinking | PartKind::Opaque) {
            continue;
        }
        for hit in automaton.find_overlapping_iter(text(at)) {
            let list = &mut holders[hit.pattern().as_usize()];
            if list.last() != Some(&at) {
                list.push(at);
            }
        }
    }
    holders
}
