//! The prototype of `steady`: trims on arrival, and cuts in rounds that pay.

use std::collections::HashMap;
use std::sync::Arc;

use secateur_replay::{PartKind, Policy, Pruned, Role, Run, Session, ToolCall};
use serde_json::Value;

use crate::plan::{Cut, Place, Plan};

/// The options; see `notes` for what each brings.
#[derive(Debug, Clone)]
pub struct Steady {
    /// Results other than reads longer than this are trimmed when they arrive.
    pub arrival_max_chars: usize,
    pub arrival_head: usize,
    pub arrival_tail: usize,
    /// Results shorter than this are never cleared.
    pub min_chars: usize,
    /// Requests after which a result of a kind may go.
    pub age_command: f64,
    pub age_search: f64,
    pub age_edit: f64,
    pub age_task: f64,
    pub age_other: f64,
    /// Requests since the file was last touched.
    pub touch_edited: f64,
    pub touch_unedited: f64,
    pub touch_superseded: f64,
    /// A scale on all of the ages: one knob from careful to bold.
    pub patience: f64,
    /// Further requests that a round may count on.
    pub horizon: f64,
    /// How far a round may put the session into debt, as a share of what it has cost so far.
    pub debt: f64,
    /// Fewest tokens that a round frees.
    pub min_round_tokens: f64,
}

impl Default for Steady {
    fn default() -> Self {
        Self {
            arrival_max_chars: 4000,
            arrival_head: 1500,
            arrival_tail: 1500,
            min_chars: 400,
            age_command: 4.0,
            age_search: 6.0,
            age_edit: 12.0,
            age_task: 30.0,
            age_other: 8.0,
            touch_edited: 6.0,
            touch_unedited: 30.0,
            touch_superseded: 1.0,
            patience: 1.0,
            horizon: 20.0,
            debt: 0.0,
            min_round_tokens: 500.0,
        }
    }
}

impl Policy for Steady {
    fn start<'s>(&'s self, session: &'s Session) -> Box<dyn Run + 's> {
        Box::new(SteadyRun {
            o: self,
            session,
            plan: Plan::keep_all(session),
            parts: Vec::new(),
            files: HashMap::new(),
            seen: 0,
            request: 0,
            sent_chars: 0.0,
            full_chars: 0.0,
            saved: 0.0,
            cost: 0.0,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Kept,
    Read,
    Command,
    Search,
    Edit,
    Task,
    Other,
}

fn class_of(call: Option<&Arc<ToolCall>>) -> Class {
    match call.map_or("", |c| c.name.as_str()) {
        "Read" => Class::Read,
        "Bash" => Class::Command,
        "Grep" | "Glob" => Class::Search,
        "Edit" | "Write" | "MultiEdit" => Class::Edit,
        "Task" => Class::Task,
        "" => Class::Kept,
        _ => Class::Other,
    }
}

struct Item {
    at: Place,
    class: Class,
    chars: f64,
    born: usize,
    path: Option<String>,
    lines: (u64, u64),
    superseded: Option<usize>,
    live: bool,
}

#[derive(Default)]
struct File {
    touched: usize,
    edited: Option<usize>,
}

struct SteadyRun<'s> {
    o: &'s Steady,
    session: &'s Session,
    plan: Plan,
    /// All parts in order, results and others.
    parts: Vec<Item>,
    files: HashMap<String, File>,
    seen: usize,
    request: usize,
    sent_chars: f64,
    full_chars: f64,
    saved: f64,
    cost: f64,
}

fn note_cleared(item_chars: usize) -> Arc<str> {
    format!("[Result cleared: {item_chars} characters. Call the tool again if it is needed.]").into()
}

impl SteadyRun<'_> {
    fn arrive(&mut self, m: usize) {
        for p in 0..self.session.messages[m].parts.len() {
            let part = &self.session.messages[m].parts[p];
            if matches!(part.kind, PartKind::Thinking | PartKind::Opaque) {
                continue;
            }
            let n = part.text.chars().count();
            self.full_chars += n as f64;
            let mut item = Item { at: (m, p), class: Class::Kept, chars: n as f64, born: self.request, path: None, lines: (0, 0), superseded: None, live: true };
            if let Some(call) = &part.call {
                if let Some(path) = call.input.get("file_path").and_then(Value::as_str) {
                    let file = self.files.entry(path.to_owned()).or_default();
                    file.touched = self.request;
                    if part.kind == PartKind::ToolUse && matches!(call.name.as_str(), "Edit" | "Write" | "MultiEdit") {
                        file.edited = Some(self.request);
                    }
                    item.path = Some(path.to_owned());
                }
            }
            if part.kind == PartKind::ToolResult {
                item.class = class_of(part.call.as_ref());
                if item.class == Class::Read {
                    let input = part.call.as_ref().map(|c| &c.input);
                    let lo = input.and_then(|i| i.get("offset")).and_then(Value::as_u64).unwrap_or(1);
                    item.lines = (lo, lo + part.text.lines().count() as u64);
                    if !part.is_error {
                        for old in self.parts.iter_mut().filter(|o| o.class == Class::Read && o.path == item.path) {
                            if item.lines.0 <= old.lines.0 && item.lines.1 + 5 >= old.lines.1 {
                                old.superseded.get_or_insert(self.request);
                            }
                        }
                    }
                } else if item.class != Class::Kept && n > self.o.arrival_max_chars {
                    let head: String = part.text.chars().take(self.o.arrival_head).collect();
                    let tail: String = part.text.chars().skip(n - self.o.arrival_tail).collect();
                    let text = format!("{head}\n[... {} characters left out ...]\n{tail}", n - self.o.arrival_head - self.o.arrival_tail);
                    item.chars = text.chars().count() as f64;
                    self.plan.set(item.at, Cut::Text(text.into()));
                }
            }
            self.parts.push(item);
        }
    }

    fn eligible(&self, item: &Item) -> bool {
        if !item.live || item.class == Class::Kept || item.chars < self.o.min_chars as f64 {
            return false;
        }
        let k = self.o.patience;
        let age = (self.request - item.born) as f64;
        let o = self.o;
        match item.class {
            Class::Read => {
                let file = item.path.as_ref().and_then(|p| self.files.get(p));
                let touch = file.map_or(age, |f| (self.request - f.touched) as f64);
                let superseded = item.superseded.is_some_and(|at| (self.request - at) as f64 >= o.touch_superseded);
                let limit = if file.is_some_and(|f| f.edited.is_some()) { o.touch_edited } else { o.touch_unedited };
                superseded || touch >= limit * k
            }
            Class::Command => age >= o.age_command * k,
            Class::Search => age >= o.age_search * k,
            Class::Edit => age >= o.age_edit * k,
            Class::Task => age >= o.age_task * k,
            Class::Other => age >= o.age_other * k,
            Class::Kept => false,
        }
    }
}

impl Run for SteadyRun<'_> {
    fn at(&mut self, upto: usize) -> Pruned {
        let cached = self.parts.len();
        let full_before = self.full_chars;
        for m in self.seen..upto {
            self.arrive(m);
        }
        self.seen = upto;
        let tok = 1.0 / 2.6;
        let note = 75.0;

        // Walk from the tail: the first cut that pays best.
        let (mut behind, mut freed, mut best, mut best_net) = (0.0, 0.0, None, 0.0);
        for n in (0..cached).rev() {
            let item = &self.parts[n];
            if self.eligible(item) {
                freed += item.chars - note;
                behind += note;
                let cost = 1.15 * behind * tok;
                let net = 0.1 * self.o.horizon * freed * tok - cost;
                if net > best_net && freed * tok >= self.o.min_round_tokens && cost <= self.saved + self.o.debt * self.cost {
                    best_net = net;
                    best = Some(n);
                }
            } else {
                behind += item.chars;
            }
        }
        let mut rewritten = 0.0;
        if let Some(first) = best {
            for n in first..cached {
                if self.eligible(&self.parts[n]) {
                    let at = self.parts[n].at;
                    let chars = self.session.messages[at.0].parts[at.1].text.chars().count();
                    let text = note_cleared(chars);
                    self.parts[n].chars = text.chars().count() as f64;
                    self.parts[n].live = false;
                    self.plan.set(at, Cut::Text(text));
                }
                rewritten += self.parts[n].chars;
            }
        }
        let now: f64 = self.parts.iter().map(|p| p.chars).sum();
        let shared = self.parts[..cached].iter().map(|p| p.chars).sum::<f64>() - rewritten;
        let request = |shared: f64, all: f64| (0.1 * shared + 1.25 * (all - shared)) * tok;
        let full = request(full_before, self.full_chars);
        let ours = request(shared, now);
        self.saved += full - ours;
        self.cost += full + 0.1 * self.session.fixed_tokens;
        self.sent_chars = now;
        self.request += 1;
        Pruned { round: best.is_some(), ..self.plan.render(self.session, upto) }
    }
}

/// Roles are part of the message; kept for callers that print.
pub fn is_assistant(session: &Session, m: usize) -> bool {
    session.messages[m].role == Role::Assistant
}
