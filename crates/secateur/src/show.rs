//! A request as text: what the model sees of it.

use secateur_core::internal::view::{PartId, PartKind, Role, TurnId, View};

/// The system texts and the turns of a request, in order.
pub(crate) fn conversation(view: &View<'_>) -> String {
    let mut text = String::new();
    let system: Vec<PartId> = view
        .part_ids()
        .filter(|part| view.part(*part).turn.is_none())
        .collect();
    if !system.is_empty() {
        block(view, "system", system.into_iter(), &mut text);
    }
    for turn in view.turn_ids() {
        block(view, role(view, turn), view.parts_of(turn), &mut text);
    }
    text
}

fn role(view: &View<'_>, turn: TurnId) -> &'static str {
    match view.turn(turn).role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
        Role::Other => "other",
    }
}

/// A heading with the role, and the parts below it.
fn block(view: &View<'_>, role: &str, parts: impl Iterator<Item = PartId>, out: &mut String) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(&format!("=== {role} ===\n"));
    for part in parts {
        out.push_str(&spell(view, part));
        if !out.ends_with('\n') {
            out.push('\n');
        }
    }
}

fn spell(view: &View<'_>, part: PartId) -> String {
    let tool = || {
        let call = || view.name(view.exchanges().call_of(part)?);
        view.name(part).or_else(call).unwrap_or("a tool".into())
    };
    match view.part(part).kind {
        PartKind::Text => view.text(part).into_owned(),
        PartKind::Call => format!("--- call of {}\n{}", tool(), view.args(part)),
        PartKind::Result => {
            let failed = if view.part(part).is_error {
                ", failed"
            } else {
                ""
            };
            format!("--- result of {}{failed}\n{}", tool(), view.text(part))
        }
        PartKind::Thinking => "--- thinking".to_owned(),
        PartKind::Media => "--- image or document".to_owned(),
        PartKind::ServerTool => "--- tool that the provider runs".to_owned(),
        PartKind::Opaque => "--- content of unknown kind".to_owned(),
    }
}
