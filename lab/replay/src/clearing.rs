//! What clearing a whole result would save from then on, and what it would take: the headroom of any rule
//! on whole results, without the price of rewriting.

use std::collections::{HashMap, HashSet};

use secateur_core::policy::PolicyError;
use secateur_core::strategy::ToolClass;
use secateur_replay::Pricing;
use secateur_replay::price::chars_to_tokens;
use secateur_replay::{PartKind, Policy, Session, replay};

use crate::bench::{engine, resolve};
use crate::holders::used;
use crate::plan::{Place, places};

/// How many requests have shown a result when it goes.
const AGE: usize = 6;
/// What is cleared stands in a context that has been shortened without loss.
const BASE: &str = "steady-lossless";

/// A result at the age at which it goes.
struct Cleared {
    class: ToolClass,
    /// Characters of the request.
    context: usize,
    /// Words of seven characters and more that nothing else in the request holds, in 1,000 characters.
    new_words: f64,
    saved: f64,
    ids: usize,
    lines: usize,
}

/// Which results, in a table's words.
type Choice = (&'static str, fn(&Cleared) -> bool);

const CHOICES: [Choice; 10] = [
    ("reads", |c| c.class == ToolClass::Read),
    ("reads, context under 50 k characters", |c| {
        c.class == ToolClass::Read && c.context < 50_000
    }),
    ("reads, context over 150 k characters", |c| {
        c.class == ToolClass::Read && c.context > 150_000
    }),
    ("reads, under 2 new words in 1,000", |c| {
        c.class == ToolClass::Read && c.new_words < 2.0
    }),
    ("commands", |c| c.class == ToolClass::Command),
    ("commands, under 2 new words in 1,000", |c| {
        c.class == ToolClass::Command && c.new_words < 2.0
    }),
    ("searches", |c| c.class == ToolClass::Search),
    ("searches, under 2 new words in 1,000", |c| {
        c.class == ToolClass::Search && c.new_words < 2.0
    }),
    ("answers of edits", |c| c.class == ToolClass::Edit),
    ("other agents", |c| c.class == ToolClass::Task),
];

/// Shares of the bill without pruning, and of all that the answers use.
pub fn print(sessions: &[Session]) -> Result<(), PolicyError> {
    let policy = resolve(BASE)?;
    let policy = engine(&policy);
    let mut all = Vec::new();
    for session in sessions {
        of_session(session, &policy, &mut all);
    }
    let totals = replay(sessions, &[&policy], Pricing::default(), 0, &|_, _| {});
    let scores = || totals.iter().flat_map(|t| &t.sessions);
    let cost: f64 = scores().map(|s| s.full_cost).sum();
    let ids: usize = scores().map(|s| s.ids).sum();
    let lines: usize = scores().map(|s| s.lines).sum();
    println!(
        "{:40} saves  ids    lines  ids/bill lines/bill",
        format!("cleared at age {AGE}")
    );
    for (name, is_chosen) in CHOICES {
        let chosen = || all.iter().filter(|c| is_chosen(c));
        let saved = chosen().map(|c| c.saved).sum::<f64>() / cost;
        let ids = chosen().map(|c| c.ids).sum::<usize>() as f64 / ids as f64;
        let lines = chosen().map(|c| c.lines).sum::<usize>() as f64 / lines as f64;
        println!(
            "{name:40} {saved:.4} {ids:.4} {lines:.4} {:.2}     {:.2}",
            ids / saved,
            lines / saved
        );
    }
    Ok(())
}

fn of_session(session: &Session, policy: &dyn Policy, all: &mut Vec<Cleared>) {
    let bounds: Vec<usize> = session.boundaries().collect();
    let mut run = policy.start(session);
    // Nothing that was sent changes without rounds: the last request shows all.
    let Some(sent) = bounds.iter().map(|&b| run.at(b)).last() else {
        return;
    };
    let text = |at: Place| &*sent.messages[at.0].parts[at.1].text;
    let mut uses: HashMap<Place, Vec<(usize, bool)>> = HashMap::new();
    for used in used(session, text) {
        if let [only] = used.holders[..] {
            let list = uses.entry(only).or_default();
            list.push((used.request, used.is_line));
        }
    }
    let mut held_by: HashMap<&str, usize> = HashMap::new();
    let (mut seen, mut context) = (0, 0);
    let mut arrived: Vec<Vec<Place>> = Vec::new();
    for (request, &upto) in bounds.iter().enumerate() {
        let new: Vec<Place> = places(session, upto).filter(|at| at.0 >= seen).collect();
        seen = upto;
        for &at in &new {
            if session.messages[at.0].parts[at.1].kind != PartKind::Thinking {
                context += text(at).chars().count();
                for word in words(text(at)) {
                    *held_by.entry(word).or_default() += 1;
                }
            }
        }
        arrived.push(new);
        let Some(due) = request.checked_sub(AGE).map(|born| &arrived[born]) else {
            continue;
        };
        for &at in due {
            let part = &session.messages[at.0].parts[at.1];
            let Some(call) = part
                .call
                .as_ref()
                .filter(|_| part.kind == PartKind::ToolResult)
            else {
                continue;
            };
            let chars = text(at).chars().count();
            let alone = words(text(at)).iter().filter(|w| held_by[*w] == 1).count();
            let later = uses.get(&at).into_iter().flatten();
            let lost = |is_line: bool| {
                let lost = later.clone().filter(|u| u.0 >= request && u.1 == is_line);
                lost.count()
            };
            all.push(Cleared {
                class: ToolClass::of(&call.name),
                context,
                new_words: alone as f64 * 1000.0 / chars.max(1) as f64,
                saved: chars_to_tokens(chars)
                    * crate::shares::CACHE_READ
                    * (bounds.len() - request) as f64,
                ids: lost(false),
                lines: lost(true),
            });
        }
    }
}

fn words(text: &str) -> HashSet<&str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.len() >= 7)
        .collect()
}
