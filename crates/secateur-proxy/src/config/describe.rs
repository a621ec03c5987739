//! What a workload does, in a few words for people.

use super::Workload;

impl Workload {
    /// What is done to its requests: `prunes (long-arrivals, …)`, `passes through`.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut mechanics = Vec::new();
        if let Some(policy) = &self.policy {
            let strategies = policy.strategies();
            let names: Vec<&str> = strategies.iter().map(|strategy| strategy.id().0).collect();
            if !names.is_empty() {
                mechanics.push(format!("prunes ({})", names.join(", ")));
            }
            if policy.m3.is_active() {
                mechanics.push("compresses white space".to_owned());
            }
        }
        if self.schema.is_some() {
            mechanics.push("asks for a schema".to_owned());
        }
        if self.routes.is_some() {
            mechanics.push("routes to cheaper models".to_owned());
        }
        if mechanics.is_empty() {
            return "passes through".to_owned();
        }
        mechanics.join(", ")
    }
}
