//! What a policy that knew the future could reach: the headroom, not a policy.

use std::collections::HashSet;
use std::sync::Arc;

use secateur_replay::{PartKind, Policy, Pruned, Run, Session};

use crate::holders::used;
use crate::plan::{Cut, Place, Plan, results};

/// Clears every result one request after it came unless a line of it is repeated later than that; cutting
/// there rewrites nothing that was cached.
pub struct Oracle;

impl Policy for Oracle {
    fn start<'s>(&'s self, session: &'s Session) -> Box<dyn Run + 's> {
        let bounds: Vec<usize> = session.boundaries().collect();
        let part = |at: Place| &session.messages[at.0].parts[at.1];
        let needed = used(session, |at| &part(at).text)
            .into_iter()
            .filter(|used| used.is_line)
            .filter(|used| {
                let mut holders = used.holders.iter();
                holders.all(|at| part(*at).kind == PartKind::ToolResult)
            })
            .filter_map(|used| Some((used.request, *used.holders.last()?)))
            .filter(|(request, at)| {
                bounds.iter().filter(|&&b| b > at.0).count() > bounds.len() - request
            })
            .map(|(_, at)| at)
            .collect();
        Box::new(OracleRun {
            session,
            needed,
            plan: Plan::keep_all(session),
        })
    }
}

struct OracleRun<'s> {
    session: &'s Session,
    needed: HashSet<Place>,
    plan: Plan,
}

impl Run for OracleRun<'_> {
    fn at(&mut self, upto: usize) -> Pruned {
        for at in results(self.session, upto)
            .into_iter()
            .filter(|at| at.0 + 1 < upto)
        {
            let part = &self.session.messages[at.0].parts[at.1];
            let long = part.kind == PartKind::ToolResult && part.text.len() > 75;
            if long && !self.needed.contains(&at) && matches!(self.plan.get(at), Cut::Keep) {
                self.plan.set(at, Cut::Text(Arc::from("[Result cleared.]")));
            }
        }
        self.plan.render(self.session, upto)
    }
}
