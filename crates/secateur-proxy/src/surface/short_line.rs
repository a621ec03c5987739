//! A request in one short line, for people on a terminal.

use secateur_ledger::shown::in_line;

use crate::audit::{AuditEvent, Ended};
use secateur_core::internal::thousands;

/// `agent  claude-opus-4-6  m7  184,220 → 121,004 characters  $0.0214, saved $0.0102  200`.
pub(super) fn short_line(event: &AuditEvent) -> String {
    let mut parts = vec![event.workload.to_string()];
    // Clients choose the model's name.
    let model = event.model.as_deref().map(in_line);
    parts.push(model.map_or_else(|| event.provider.name().to_owned(), Into::into));
    match &event.untouched {
        Some(untouched) => parts.push(format!("untouched ({})", untouched.name())),
        None => parts.push(event.stack_name()),
    }
    if let (Some(before), Some(after)) = (event.chars_before, event.chars_after) {
        if after < before {
            parts.push(format!(
                "{} → {} characters",
                thousands(before),
                thousands(after)
            ));
        } else {
            parts.push(format!("{} characters", thousands(before)));
        }
    }
    if let Some(cost) = event.receipt.billed_usd {
        let saved = event.receipt.saved_usd.filter(|&saved| saved != 0.0);
        let saved = saved.map_or(String::new(), |saved| format!(", saved {}", usd(saved)));
        parts.push(format!("{}{saved}", usd(cost)));
    }
    parts.push(match event.ended {
        Ended::Complete => event.status.to_string(),
        ended => format!("{} {}", event.status, ended.name()),
    });
    parts.join("  ")
}

fn usd(amount: f64) -> String {
    let sign = if amount < 0.0 { "-" } else { "" };
    format!("{sign}${:.4}", amount.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Untouched;
    use crate::config::Provider;

    #[test]
    fn a_line_says_what_was_cut_and_paid_and_why_nothing_was() {
        let mut event = AuditEvent::new("r".into(), "agent".into(), Provider::Anthropic, None);
        event.model = Some("claude\u{1b}\u{202e}".into());
        event.stack = vec!["m7"];
        (event.chars_before, event.chars_after) = (Some(184_220), Some(121_004));
        event.receipt.billed_usd = Some(0.0214);
        event.receipt.saved_usd = Some(0.0102);
        (event.status, event.ended) = (200, Ended::Complete);
        assert_eq!(
            short_line(&event),
            "agent  claude⟨U+001B⟩⟨U+202E⟩  m7  184,220 → 121,004 characters  $0.0214, saved $0.0102  200"
        );
        let mut event = AuditEvent::new("r".into(), "default".into(), Provider::Openai, None);
        event.untouched = Some(Untouched::NoWorkload);
        (event.status, event.ended) = (502, Ended::Refused("upstream-refused"));
        assert_eq!(
            short_line(&event),
            "default  openai  untouched (no-workload)  502 upstream-refused"
        );
    }
}
