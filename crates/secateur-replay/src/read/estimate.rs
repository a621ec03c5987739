//! What a record does not say and its billed usage shows: the size of what comes before the messages, and at which
//! requests the cache was cold.

use secateur_core::cost::Terms;
use secateur_core::models;

use crate::price::tokens_of;
use crate::session::{Answer, PartKind, Session};

/// Fills in what follows from the answers of a session: model, fixed tokens, cold boundaries, the cache's life.
pub(super) fn from_answers(session: &mut Session) {
    session.model = usual_model(&session.answers);
    let has_long_cache = |answer: &Answer| answer.usage.is_some_and(|usage| usage.written_long > 0);
    session.has_long_cache = session.answers.iter().any(has_long_cache);
    let usage_of = |upto: usize| session.answer_at(upto)?.usage;
    session.fixed_tokens = fixed_tokens(session, |upto| {
        let input = usage_of(upto)?.input();
        (input > 0).then(|| count(input))
    });
    session.cold = cold_in_log(session);
}

/// The model of most answers; of equals the first.
fn usual_model(answers: &[Answer]) -> Option<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for model in answers.iter().filter_map(|answer| answer.model.as_deref()) {
        match counts.iter_mut().find(|(name, _)| *name == model) {
            Some((_, count)) => *count += 1,
            None => counts.push((model, 1)),
        }
    }
    let most = counts.iter().map(|&(_, count)| count).max()?;
    let found = counts.iter().find(|&&(_, count)| count == most)?;
    Some(found.0.to_owned())
}

/// Cold by what was billed; where the log has no cache reads at all, by pauses longer than the cache's life.
fn cold_in_log(session: &Session) -> Vec<usize> {
    let read_at = |upto: usize| Some(count(session.answer_at(upto)?.usage?.read));
    if session.boundaries().any(|upto| read_at(upto) > Some(0.0)) {
        let mut cold = cold_boundaries(session, read_at);
        cold.extend(cold_after_history(session));
        cold.sort_unstable();
        cold.dedup();
        return cold;
    }
    let rules = Terms::of(session.model.as_deref(), Some(session.dialect)).rules;
    let Some(life_seconds) = rules.ttl_seconds else {
        return Vec::new();
    };
    let life_ms = i64::from(life_seconds) * 1000;
    let mut before: Option<i64> = None;
    let mut cold = Vec::new();
    for upto in session.boundaries() {
        let at = session.answer_at(upto).and_then(|answer| answer.at_ms);
        if let (Some(before), Some(at)) = (before, at)
            && at.saturating_sub(before) > life_ms
        {
            cold.push(upto);
        }
        before = at.or(before);
    }
    cold
}

/// The first request after history that was sent in an earlier context, if it read less than half of its input: the
/// history is not as it was.
fn cold_after_history(session: &Session) -> Option<usize> {
    session.answers.iter().find(|answer| answer.is_history)?;
    let first = session.answers.iter().find(|answer| !answer.is_history)?;
    let usage = first.usage?;
    (usage.read < usage.input() / 2).then_some(first.message)
}

/// The boundaries at which less than half as much was read from the cache as at the one before.
pub(super) fn cold_boundaries(
    session: &Session,
    read: impl Fn(usize) -> Option<f64>,
) -> Vec<usize> {
    let mut before: Option<f64> = None;
    let mut cold = Vec::new();
    for upto in session.boundaries() {
        let Some(now) = read(upto) else { continue };
        if before.is_some_and(|before| now < before / 2.0) {
            cold.push(upto);
        }
        before = Some(now);
    }
    cold
}

/// The billed tokens of the first request that has a count, minus those of its messages.
pub(super) fn fixed_tokens(session: &Session, billed: impl Fn(usize) -> Option<f64>) -> f64 {
    let chars_per_token = models::chars_per_token(session.model.as_deref());
    for upto in session.boundaries() {
        let Some(billed) = billed(upto) else { continue };
        let parts = session.messages[..upto].iter().flat_map(|m| &m.parts);
        let chars: usize = parts
            .filter(|p| p.kind != PartKind::Thinking)
            .map(|p| p.text.chars().count())
            .sum();
        return (billed - tokens_of(chars, chars_per_token)).max(0.0);
    }
    0.0
}

#[expect(
    clippy::cast_precision_loss,
    reason = "token counts are far below 2^52"
)]
fn count(tokens: u64) -> f64 {
    tokens as f64
}
