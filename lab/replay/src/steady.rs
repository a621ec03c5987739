//! The prototype of `steady`: say it shorter on arrival, then cut in rounds that are paid for.
//!
//! A fold over the request boundaries: what is decided at boundary k depends on messages before k only, and
//! stays until a later round cuts the same part further.

use std::collections::HashMap;
use std::sync::Arc;

use secateur_replay::price::{CACHE_READ, CACHE_WRITE, CHARS_PER_TOKEN};
use secateur_replay::{Part, PartKind, Policy, Pruned, Role, Run, Session};
use serde_json::Value;

use crate::compact::{group_hits, sparse_numbers, unpad};
use crate::plan::{Cut, Place, Plan};
use crate::repeats::{Shown, plain_in_json, without};
use crate::tools::{Class, class_of, file_name, path_of};

/// An age that is never reached.
pub const NEVER: f64 = 1e9;

/// The options. Ages and touches are in requests; a file is touched when a call names it.
#[derive(Debug, Clone)]
pub struct Steady {
    /// Listings lose their padding, search hits are grouped by file.
    pub compact: bool,
    /// Only every tenth line of a listing keeps its number.
    pub sparse: bool,
    /// A run of at least so many lines that stands above already becomes a note; 0: off.
    pub repeat_lines: usize,
    /// The same, in characters.
    pub repeat_chars: usize,
    /// Results of commands and searches longer than this are trimmed when they arrive.
    pub arrival_max_chars: usize,
    /// What a trim keeps from the start.
    pub arrival_head: usize,
    /// What a trim keeps from the end.
    pub arrival_tail: usize,
    /// Age at which the result of a command may go.
    pub age_command: f64,
    /// Age at which the result of a search may go.
    pub age_search: f64,
    /// Age at which the answer of an edit may go.
    pub age_edit: f64,
    /// Age at which a sub-agent's report may go.
    pub age_task: f64,
    /// Age at which any other result may go.
    pub age_other: f64,
    /// Factor on these ages once the user has spoken again.
    pub past_turn_factor: f64,
    /// Requests since the last touch after which reads of an edited file may go.
    pub touch_edited: f64,
    /// The same for a file that was last touched before the user's latest turn.
    pub touch_past_turn: f64,
    /// The same for a file that the user named and nobody has edited.
    pub touch_named: f64,
    /// The same for all other files.
    pub touch_unedited: f64,
    /// Shorter results stay.
    pub min_chars: usize,
    /// Further requests that a round may count on.
    pub horizon: f64,
    /// Fewest tokens that a round frees.
    pub min_round_tokens: f64,
    /// How far a round may put the session into debt, as a share of its cost so far; 0: never.
    pub debt: f64,
}

impl Steady {
    /// Nothing is lost: only what says the same in fewer characters.
    pub fn lossless() -> Self {
        Self {
            compact: true,
            sparse: true,
            repeat_lines: 3,
            repeat_chars: 120,
            arrival_max_chars: usize::MAX,
            arrival_head: 0,
            arrival_tail: 0,
            age_command: NEVER,
            age_search: NEVER,
            age_edit: NEVER,
            age_task: NEVER,
            age_other: NEVER,
            past_turn_factor: 1.0,
            touch_edited: NEVER,
            touch_past_turn: NEVER,
            touch_named: NEVER,
            touch_unedited: NEVER,
            min_chars: 500,
            horizon: 8.0,
            min_round_tokens: 300.0,
            debt: 0.0,
        }
    }
}

impl Policy for Steady {
    fn start<'s>(&'s self, session: &'s Session) -> Box<dyn Run + 's> {
        Box::new(Fold {
            o: self,
            session,
            plan: Plan::keep_all(session),
            items: Vec::new(),
            files: HashMap::new(),
            user_text: String::new(),
            shown: Shown::default(),
            shown_items: Vec::new(),
            seen: 0,
            request: 0,
            turn: 0,
            full_chars: 0.0,
            saved: 0.0,
            spent: 0.0,
        })
    }
}

/// A part in the context.
struct Item {
    at: Place,
    class: Class,
    chars: f64,
    born: usize,
    turn: usize,
    path: Option<String>,
    cleared: bool,
    shown: Option<usize>,
    /// Later items whose notes point here.
    cited_by: Vec<usize>,
}

#[derive(Default)]
struct File {
    touched: usize,
    turn: usize,
    edited: bool,
    named: bool,
}

struct Fold<'s> {
    o: &'s Steady,
    session: &'s Session,
    plan: Plan,
    items: Vec<Item>,
    files: HashMap<String, File>,
    user_text: String,
    shown: Shown,
    /// Number of a shown text → item that holds it.
    shown_items: Vec<usize>,
    seen: usize,
    request: usize,
    turn: usize,
    full_chars: f64,
    /// What the session has cost less than without pruning, and what it has cost, in input tokens.
    saved: f64,
    spent: f64,
}

fn chars(text: &str) -> f64 {
    text.chars().count() as f64
}

/// The note that a cleared result leaves.
fn note(part: &Part) -> String {
    format!(
        "[Result cleared: {} characters. Call the tool again if it is needed.]",
        part.text.chars().count()
    )
}

const NOTE_CHARS: f64 = 75.0;

impl Fold<'_> {
    fn arrive(&mut self, m: usize) {
        let message = &self.session.messages[m];
        if message.role == Role::User
            && message.parts.iter().all(|p| p.kind != PartKind::ToolResult)
        {
            self.turn += 1;
            for part in message.parts.iter().filter(|p| p.kind == PartKind::Text) {
                self.user_text.push_str(&part.text);
                for (path, file) in &mut self.files {
                    file.named = file.named || part.text.contains(file_name(path));
                }
            }
        }
        for (p, part) in message.parts.iter().enumerate() {
            if matches!(part.kind, PartKind::Thinking | PartKind::Opaque) {
                continue;
            }
            self.full_chars += chars(&part.text);
            let path = part
                .call
                .as_ref()
                .and_then(|c| path_of(c))
                .map(str::to_owned);
            if let Some(path) = &path {
                self.touch(path, part);
            }
            let mut item = Item {
                at: (m, p),
                class: Class::Kept,
                chars: chars(&part.text),
                born: self.request,
                turn: self.turn,
                path,
                cleared: false,
                shown: None,
                cited_by: Vec::new(),
            };
            match part.kind {
                PartKind::ToolResult => self.arrive_result(&mut item, part),
                PartKind::ToolUse => self.show_arguments(part),
                _ => {}
            }
            self.items.push(item);
        }
    }

    fn touch(&mut self, path: &str, part: &Part) {
        let file = self.files.entry(path.to_owned()).or_default();
        file.touched = self.request;
        file.turn = self.turn;
        file.named = file.named || self.user_text.contains(file_name(path));
        file.edited = file.edited
            || (part.kind == PartKind::ToolUse && class_of(part.call.as_ref()) == Class::Edit);
    }

    /// What the model wrote into a file stands in the context as its argument.
    fn show_arguments(&mut self, part: &Part) {
        for key in ["new_string", "content"] {
            if let Some(text) = part
                .call
                .as_ref()
                .and_then(|c| c.input.get(key))
                .and_then(Value::as_str)
            {
                self.shown
                    .add(&text.lines().collect::<Vec<_>>(), &[], plain_in_json);
                self.shown_items.push(self.items.len());
            }
        }
    }

    fn arrive_result(&mut self, item: &mut Item, part: &Part) {
        item.class = class_of(part.call.as_ref());
        if item.class == Class::Kept {
            return;
        }
        let mut text = Arc::clone(&part.text);
        let shorter = match item.class {
            Class::Search if self.o.compact => group_hits(&text),
            Class::Read | Class::Edit if self.o.compact => {
                let unpadded = unpad(&text);
                let sparse = if self.o.sparse {
                    unpadded.as_deref().and_then(sparse_numbers)
                } else {
                    None
                };
                sparse.or(unpadded)
            }
            _ => None,
        };
        if let Some(shorter) = shorter {
            text = shorter.into();
        }
        if self.o.repeat_lines > 0 {
            text = self.without_repeats(item, &text);
        }
        let long = text.chars().count() > self.o.arrival_max_chars;
        if long && matches!(item.class, Class::Command | Class::Search) {
            text = trimmed(&text, self.o.arrival_head, self.o.arrival_tail).into();
            // Part of it is left out, so nothing may point to it.
            if let Some(number) = item.shown {
                self.shown.forget(number);
            }
        }
        item.chars = chars(&text);
        if text != part.text {
            self.plan.set(item.at, Cut::Text(text));
        }
    }

    /// Leaves out what stands above. A part that is pointed to counts as fresh, and stays while the note stays.
    fn without_repeats(&mut self, item: &mut Item, text: &Arc<str>) -> Arc<str> {
        let lines: Vec<&str> = text.lines().collect();
        let repeats = self
            .shown
            .repeats(&lines, self.o.repeat_lines, self.o.repeat_chars);
        for repeat in &repeats {
            let source = &mut self.items[self.shown_items[repeat.source]];
            source.born = self.request;
            source.turn = self.turn;
            if let Some(file) = source.path.as_ref().and_then(|p| self.files.get_mut(p)) {
                file.touched = self.request;
                file.turn = self.turn;
            }
        }
        let here = self.items.len();
        for repeat in &repeats {
            self.items[self.shown_items[repeat.source]]
                .cited_by
                .push(here);
        }
        item.shown = Some(self.shown.add(&lines, &repeats, |_| true));
        self.shown_items.push(here);
        if repeats.is_empty() {
            Arc::clone(text)
        } else {
            without(&lines, &repeats).into()
        }
    }

    /// May the result go now, by its age?
    fn is_old(&self, item: &Item) -> bool {
        let o = self.o;
        let age = (self.request - item.born) as f64;
        let past = if item.turn < self.turn {
            o.past_turn_factor
        } else {
            1.0
        };
        match item.class {
            Class::Kept => false,
            Class::Read => {
                let file = item.path.as_ref().and_then(|p| self.files.get(p));
                let touch = file.map_or(age, |f| age.min((self.request - f.touched) as f64));
                touch
                    >= match file {
                        Some(f) if f.edited => o.touch_edited,
                        Some(f) if f.turn < self.turn => o.touch_past_turn,
                        Some(f) if f.named => o.touch_named,
                        _ => o.touch_unedited,
                    }
            }
            Class::Command => age >= o.age_command * past,
            Class::Search => age >= o.age_search * past,
            Class::Edit => age >= o.age_edit * past,
            Class::Task => age >= o.age_task * past,
            Class::Other => age >= o.age_other * past,
        }
    }

    /// Which of the cached parts may go: old, large enough, and no note that stays points to them.
    fn may_go(&self, cached: usize) -> Vec<bool> {
        let mut go = vec![false; cached];
        for n in (0..cached).rev() {
            let item = &self.items[n];
            let big = item.chars >= self.o.min_chars as f64 && item.chars > NOTE_CHARS;
            let free = |&c: &usize| self.items[c].cleared || go.get(c).copied().unwrap_or(false);
            go[n] = !item.cleared && big && self.is_old(item) && item.cited_by.iter().all(free);
        }
        go
    }

    /// Where the round that pays best begins, among the parts that the provider has cached.
    fn best_round(&self, cached: usize, old: &[bool]) -> Option<usize> {
        let (mut behind, mut freed) = (0.0, 0.0);
        let (mut best, mut best_net) = (None, 0.0);
        for n in (0..cached).rev() {
            if !old[n] {
                behind += self.items[n].chars;
                continue;
            }
            freed += self.items[n].chars - NOTE_CHARS;
            behind += NOTE_CHARS;
            let cost = (CACHE_WRITE - CACHE_READ) * behind / CHARS_PER_TOKEN;
            let net = CACHE_READ * self.o.horizon * freed / CHARS_PER_TOKEN - cost;
            let affordable = cost <= self.saved + self.o.debt * self.spent;
            if net > best_net && affordable && freed / CHARS_PER_TOKEN >= self.o.min_round_tokens {
                best_net = net;
                best = Some(n);
            }
        }
        best
    }

    fn clear(&mut self, n: usize) {
        let at = self.items[n].at;
        let text = note(&self.session.messages[at.0].parts[at.1]);
        let item = &mut self.items[n];
        item.cleared = true;
        item.chars = chars(&text);
        if let Some(number) = item.shown {
            self.shown.forget(number);
        }
        self.plan.set(at, Cut::Text(text.into()));
    }
}

impl Run for Fold<'_> {
    fn at(&mut self, upto: usize) -> Pruned {
        let cached = self.items.len();
        let full_before = self.full_chars;
        for m in self.seen..upto {
            self.arrive(m);
        }
        self.seen = upto;
        let old = self.may_go(cached);
        let round = self.best_round(cached, &old);
        if let Some(first) = round {
            (first..cached)
                .filter(|&n| old[n])
                .for_each(|n| self.clear(n));
        }
        let kept = round.unwrap_or(cached);
        let shared: f64 = self.items[..kept].iter().map(|i| i.chars).sum();
        let all: f64 = self.items.iter().map(|i| i.chars).sum();
        let price = |shared: f64, all: f64| {
            (CACHE_READ * shared + CACHE_WRITE * (all - shared)) / CHARS_PER_TOKEN
        };
        let (full, ours) = (price(full_before, self.full_chars), price(shared, all));
        self.saved += full - ours;
        self.spent += ours + CACHE_READ * self.session.fixed_tokens;
        self.request += 1;
        Pruned {
            round: round.is_some(),
            ..self.plan.render(self.session, upto)
        }
    }
}

/// The start and the end of a text, on character boundaries.
fn trimmed(text: &str, head: usize, tail: usize) -> String {
    let n = text.chars().count();
    let first: String = text.chars().take(head).collect();
    let last: String = text.chars().skip(n.saturating_sub(tail)).collect();
    format!(
        "{first}\n[... {} characters left out ...]\n{last}",
        n.saturating_sub(head + tail)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use secateur_replay::{read_bytes, replay};

    /// Reads, edits, commands and user turns in a fixed mixture.
    fn session(seed: usize) -> Session {
        let mut messages =
            vec![serde_json::json!({ "role": "user", "content": "change src/f1.rs" })];
        for n in 0..80 {
            let file = format!("/src/f{}.rs", (n * 7 + seed) % 9);
            let (name, input) = match (n + seed) % 5 {
                0 | 1 => ("Read", serde_json::json!({ "file_path": file })),
                2 => (
                    "Edit",
                    serde_json::json!({ "file_path": file, "old_string": "a", "new_string": format!("let value_{n} = compute();") }),
                ),
                3 => ("Bash", serde_json::json!({ "command": "make" })),
                _ => ("Grep", serde_json::json!({ "pattern": "value" })),
            };
            let lines: String = (0..(20 + (n * 37 + seed) % 180))
                .map(|l| {
                    format!(
                        "{:6}\u{2192}    statement number {} of {file};\n",
                        l + 1,
                        l * (1 + n % 3)
                    )
                })
                .collect();
            messages.push(serde_json::json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": format!("t{n}"), "name": name, "input": input }] }));
            messages.push(serde_json::json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": format!("t{n}"), "content": lines }] }));
            if n % 17 == 16 {
                messages.push(serde_json::json!({ "role": "assistant", "content": "done" }));
                messages.push(serde_json::json!({ "role": "user", "content": "now the next" }));
            }
        }
        messages.push(serde_json::json!({ "role": "assistant", "content": "end" }));
        read_bytes(
            "generated",
            serde_json::json!({ "messages": messages })
                .to_string()
                .as_bytes(),
        )
        .sessions
        .remove(0)
    }

    fn bold() -> Steady {
        Steady {
            arrival_max_chars: 3000,
            arrival_head: 1000,
            arrival_tail: 1000,
            age_command: 1.0,
            age_search: 2.0,
            age_edit: 4.0,
            touch_edited: 2.0,
            touch_past_turn: 1.0,
            touch_unedited: 6.0,
            touch_named: 20.0,
            ..Steady::lossless()
        }
    }

    fn texts(pruned: &Pruned) -> Vec<String> {
        pruned
            .messages
            .iter()
            .flat_map(|m| m.parts.iter().map(|p| p.text.to_string()))
            .collect()
    }

    #[test]
    fn between_rounds_the_output_begins_with_the_previous_one() {
        let policy = bold();
        let mut rounds = 0;
        for seed in 0..6 {
            let session = session(seed);
            let mut run = policy.start(&session);
            let mut before: Vec<String> = Vec::new();
            for upto in session.boundaries() {
                let pruned = run.at(upto);
                let now = texts(&pruned);
                rounds += usize::from(pruned.round);
                assert!(
                    pruned.round || now.starts_with(&before),
                    "seed {seed}, boundary {upto}"
                );
                before = now;
            }
        }
        assert!(
            rounds > 6,
            "the sessions must take rounds, else this shows nothing"
        );
    }

    #[test]
    fn a_session_cut_short_decides_the_same_up_to_there() {
        let policy = bold();
        let whole = session(3);
        let bounds: Vec<usize> = whole.boundaries().collect();
        let stop = bounds[bounds.len() / 2];
        let short = Session {
            messages: whole.messages[..=stop].to_vec(),
            ..whole.clone()
        };
        let last = |s: &Session| {
            let mut run = policy.start(s);
            s.boundaries()
                .take_while(|&b| b <= stop)
                .map(|b| texts(&run.at(b)))
                .last()
        };
        assert_eq!(last(&whole), last(&short));
    }

    #[test]
    fn no_session_costs_more_than_without_pruning_wherever_it_ends() {
        let policy = bold();
        for seed in 0..3 {
            let whole = session(seed);
            for stop in whole.boundaries().step_by(13) {
                let short = Session {
                    messages: whole.messages[..=stop].to_vec(),
                    ..whole.clone()
                };
                let totals = replay(&[short], &[&policy], 1, &|_, _| {}).swap_remove(0);
                assert!(
                    totals.worst() <= 1.0 + 1e-9,
                    "seed {seed}, end {stop}: {}",
                    totals.worst()
                );
            }
        }
    }

    #[test]
    fn a_note_never_points_to_a_part_that_is_gone() {
        let policy = bold();
        let session = session(1);
        let mut fold = Fold {
            o: &policy,
            session: &session,
            plan: Plan::keep_all(&session),
            items: Vec::new(),
            files: HashMap::new(),
            user_text: String::new(),
            shown: Shown::default(),
            shown_items: Vec::new(),
            seen: 0,
            request: 0,
            turn: 0,
            full_chars: 0.0,
            saved: 0.0,
            spent: 0.0,
        };
        for upto in session.boundaries() {
            fold.at(upto);
            for item in fold.items.iter().filter(|i| i.cleared) {
                assert!(item.cited_by.iter().all(|&c| fold.items[c].cleared));
            }
        }
    }
}
