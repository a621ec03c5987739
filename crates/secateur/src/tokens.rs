//! Token counts of a request before and after.

use secateur_core::dialect::{self, DialectId};
use secateur_core::view::{PartKind, View};
use secateur_tokens::{Basis, Counter};

use crate::args::InputArgs;

#[derive(Debug)]
pub(crate) struct Tokens {
    pub(crate) before: usize,
    pub(crate) after: usize,
    /// What was counted with; an estimate says so.
    pub(crate) counter: String,
    is_estimate: bool,
}

impl Tokens {
    pub(crate) fn of(
        before: &[u8],
        after: &[u8],
        dialect: DialectId,
        input: &InputArgs,
    ) -> Option<Self> {
        let limits = input.request().limits;
        let view = dialect::read(before, dialect, &limits).ok()?;
        let body_model = view.model();
        let model = input.model.as_deref().or(body_model.as_deref());
        let fallback = match dialect {
            DialectId::AnthropicMessages => Some("claude"),
            DialectId::GeminiGenerateContent => Some("gemini"),
            _ => None,
        };
        let counter = Counter::for_model(model.or(fallback));
        let counted = count(&view, counter);
        let after = if before.len() == after.len() {
            counted
        } else {
            count(&dialect::read(after, dialect, &limits).ok()?, counter)
        };
        Some(Self {
            before: counted,
            after,
            counter: counter.name(),
            is_estimate: counter.basis() == Basis::Estimate,
        })
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "before": self.before,
            "after": self.after,
            "counter": self.counter,
            "estimate": self.is_estimate,
        })
    }
}

/// Tokens of the texts, arguments and results; media and the provider's framing are not counted.
fn count(view: &View<'_>, counter: Counter) -> usize {
    counter.count_all(view.part_ids().filter_map(|id| match view.part(id).kind {
        PartKind::Call => Some(view.args(id)),
        PartKind::Text | PartKind::Result | PartKind::Thinking => Some(view.text(id)),
        PartKind::Media | PartKind::ServerTool | PartKind::Opaque => None,
    }))
}
