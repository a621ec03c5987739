//! The peers' policies as plain functions, for the comparison only.

use std::sync::Arc;

use secateur_replay::price::chars_to_tokens;
use secateur_replay::{PartKind, Policy, Pruned, Role, Run, Session};

use crate::plan::{Cut, Plan, places, results};

const CLEARED: &str = "[Old tool result content cleared]";

fn chars(text: &str) -> usize {
    text.chars().count()
}

fn placeholder() -> Cut {
    Cut::Text(Arc::from(CLEARED))
}

fn clear_all_but_last(session: &Session, upto: usize, keep: usize) -> Plan {
    let mut plan = Plan::keep_all(session);
    let all = results(session, upto);
    for &at in &all[..all.len().saturating_sub(keep)] {
        if chars(&session.messages[at.0].parts[at.1].text) > chars(CLEARED) {
            plan.set(at, placeholder());
        }
    }
    plan
}

/// All but the newest results become a placeholder, afresh on every request.
pub fn mask_all_but_last(keep: usize) -> impl Fn(&Session, usize) -> Pruned + Sync {
    move |session, upto| clear_all_but_last(session, upto, keep).render(session, upto)
}

/// Every result becomes a placeholder once the assistant has answered it.
pub fn floor(session: &Session, upto: usize) -> Pruned {
    let mut plan = Plan::keep_all(session);
    for at in results(session, upto)
        .into_iter()
        .filter(|at| at.0 + 1 < upto)
    {
        if chars(&session.messages[at.0].parts[at.1].text) > chars(CLEARED) {
            plan.set(at, placeholder());
        }
    }
    plan.render(session, upto)
}

/// The last messages only. A request ends on a user message, so an even window never splits a pair.
pub fn sliding_window(max: usize) -> impl Fn(&Session, usize) -> Pruned + Sync {
    move |session, upto| {
        let mut pruned = Pruned::whole(session, upto);
        pruned.messages.drain(..upto.saturating_sub(max));
        pruned
    }
}

/// Keeps the head, the last 8 turns and every turn that calls or answers a tool.
pub fn tessera_m7(session: &Session, upto: usize) -> Pruned {
    let pruned = Pruned::whole(session, upto);
    let body_chars: usize = places(session, upto)
        .map(|(m, p)| chars(&session.messages[m].parts[p].text))
        .sum();
    if upto <= 12 && body_chars <= 32768 {
        return pruned;
    }
    let tools = |m: usize| {
        session.messages[m]
            .parts
            .iter()
            .any(|p| matches!(p.kind, PartKind::ToolUse | PartKind::ToolResult))
    };
    let messages = pruned
        .messages
        .into_iter()
        .enumerate()
        .filter(|(m, _)| *m == 0 || m + 8 >= upto || tools(*m))
        .map(|(_, message)| message)
        .collect();
    Pruned {
        messages,
        round: false,
    }
}

/// Protects the two newest user turns and the newest 40 k tokens of results before them; clears the rest if
/// that frees more than 20 k. What was cleared stays cleared.
pub struct Opencode;

impl Policy for Opencode {
    fn start<'s>(&'s self, session: &'s Session) -> Box<dyn Run + 's> {
        Box::new(OpencodeRun {
            session,
            plan: Plan::keep_all(session),
        })
    }
}

struct OpencodeRun<'s> {
    session: &'s Session,
    plan: Plan,
}

fn is_user_turn(session: &Session, m: usize) -> bool {
    session.messages[m].role == Role::User
        && session.messages[m]
            .parts
            .iter()
            .any(|p| matches!(p.kind, PartKind::Text | PartKind::Opaque))
}

impl Run for OpencodeRun<'_> {
    fn at(&mut self, upto: usize) -> Pruned {
        let session = self.session;
        let mut round = false;
        if is_user_turn(session, upto - 1) {
            let (mut user_turns, mut total, mut freed) = (0, 0, 0);
            let mut prune = Vec::new();
            'walk: for m in (0..upto).rev() {
                user_turns += usize::from(is_user_turn(session, m));
                if user_turns < 2 {
                    continue;
                }
                for p in (0..session.messages[m].parts.len()).rev() {
                    let part = &session.messages[m].parts[p];
                    if part.kind != PartKind::ToolResult {
                        continue;
                    }
                    if part
                        .call
                        .as_ref()
                        .is_some_and(|c| c.name.eq_ignore_ascii_case("skill"))
                    {
                        continue;
                    }
                    if matches!(self.plan.get((m, p)), Cut::Text(_)) {
                        break 'walk;
                    }
                    let tokens = (chars(&part.text) + 2) / 4;
                    total += tokens;
                    if total > 40_000 {
                        freed += tokens;
                        prune.push((m, p));
                    }
                }
            }
            if freed > 20_000 {
                round = true;
                prune
                    .into_iter()
                    .for_each(|at| self.plan.set(at, placeholder()));
            }
        }
        Pruned {
            round,
            ..self.plan.render(session, upto)
        }
    }
}

/// Soft trim at 0.3 of an 800,000-character window, hard clear at 0.5; or every eligible result.
pub fn openclaw(aggressive: bool) -> impl Fn(&Session, usize) -> Pruned + Sync {
    move |session, upto| {
        let mut plan = Plan::keep_all(session);
        let assistants: Vec<usize> = (0..upto)
            .filter(|&m| session.messages[m].role == Role::Assistant)
            .collect();
        let Some(&cutoff) = assistants
            .len()
            .checked_sub(3)
            .and_then(|n| assistants.get(n))
        else {
            return plan.render(session, upto);
        };
        let first_user = (0..upto)
            .find(|&m| is_user_turn(session, m))
            .unwrap_or(upto);
        let eligible: Vec<_> = results(session, upto)
            .into_iter()
            .filter(|at| at.0 < cutoff && at.0 > first_user)
            .collect();
        if aggressive {
            eligible
                .into_iter()
                .for_each(|at| plan.set(at, placeholder()));
            return plan.render(session, upto);
        }
        let window = 800_000;
        let mut total = plan.total_chars(session, upto);
        if total * 10 < window * 3 {
            return plan.render(session, upto);
        }
        for &at in &eligible {
            let text = &session.messages[at.0].parts[at.1].text;
            let n = chars(text);
            if n > 4000 {
                let head: String = text.chars().take(1500).collect();
                let tail: String = text.chars().skip(n - 1500).collect();
                let new = format!(
                    "{head}\n...\n{tail}\n\n[Tool result trimmed: kept first 1500 chars and last 1500 chars of {n} chars.]"
                );
                total = total - n + chars(&new);
                plan.set(at, Cut::Text(new.into()));
            }
        }
        let prunable: usize = eligible.iter().map(|&at| plan.chars(session, at)).sum();
        if total * 2 >= window && prunable >= 50_000 {
            for &at in &eligible {
                if total * 2 < window {
                    break;
                }
                total = total + chars(CLEARED) - plan.chars(session, at);
                plan.set(at, placeholder());
            }
        }
        plan.render(session, upto)
    }
}

/// Over a number of tokens, fixed prefix included, all but the newest results go; decided afresh every time.
pub struct ClearOver {
    pub trigger_tokens: f64,
    pub keep: usize,
}

impl Policy for ClearOver {
    fn start<'s>(&'s self, session: &'s Session) -> Box<dyn Run + 's> {
        Box::new(ClearOverRun {
            options: self,
            session,
        })
    }
}

struct ClearOverRun<'s> {
    options: &'s ClearOver,
    session: &'s Session,
}

impl Run for ClearOverRun<'_> {
    fn at(&mut self, upto: usize) -> Pruned {
        let whole = Plan::keep_all(self.session);
        let tokens =
            chars_to_tokens(whole.total_chars(self.session, upto)) + self.session.fixed_tokens;
        let over = tokens > self.options.trigger_tokens;
        let mut plan = whole;
        if over {
            // The provider clears a tool use whatever its size.
            let all = results(self.session, upto);
            for &at in &all[..all.len().saturating_sub(self.options.keep)] {
                plan.set(at, placeholder());
            }
        }
        Pruned {
            round: over,
            ..plan.render(self.session, upto)
        }
    }
}

/// Below this many tokens of messages no round of [`MaskInRounds`] is taken.
const ROUND_TRIGGER_TOKENS: f64 = 20_000.0;

/// Masking in rounds: a fresh plan is taken only when the frozen one sends enough, and when it frees a share
/// of that.
pub struct MaskInRounds {
    pub keep: usize,
    pub min_gain: f64,
}

impl Policy for MaskInRounds {
    fn start<'s>(&'s self, session: &'s Session) -> Box<dyn Run + 's> {
        Box::new(MaskInRoundsRun {
            options: self,
            session,
            plan: Plan::keep_all(session),
        })
    }
}

struct MaskInRoundsRun<'s> {
    options: &'s MaskInRounds,
    session: &'s Session,
    plan: Plan,
}

impl Run for MaskInRoundsRun<'_> {
    fn at(&mut self, upto: usize) -> Pruned {
        let session = self.session;
        let fresh = clear_all_but_last(session, upto, self.options.keep);
        let (now, then) = (
            chars_to_tokens(self.plan.total_chars(session, upto)),
            chars_to_tokens(fresh.total_chars(session, upto)),
        );
        let round =
            now >= ROUND_TRIGGER_TOKENS && now - then >= self.options.min_gain * now && now > then;
        if round {
            self.plan = fresh;
        }
        Pruned {
            round,
            ..self.plan.render(session, upto)
        }
    }
}
