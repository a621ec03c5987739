//! The prototype of `steady`: say it shorter on arrival, then cut in rounds that are paid for.
//!
//! A fold over the request boundaries: what is decided at boundary k depends on messages before k only, and
//! stays until a later round cuts the same part further.

use std::collections::HashMap;
use std::sync::Arc;

use secateur_core::condense::{Budget, condense};
use secateur_replay::price::{CACHE_READ, CACHE_WRITE, CHARS_PER_TOKEN};
use secateur_replay::{Part, PartKind, Policy, Pruned, Role, Run, Session};
use serde_json::Value;

use crate::compact::{bare_lines, group_hits, sparse_numbers, unpad};
use crate::plan::{Cut, Place, Plan};
use crate::remains::{self, Extracts};
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
    /// Sparse lines lose their arrow too.
    pub bare: bool,
    /// Shorter runs of the same file count from this many lines and characters on.
    pub short_lines: usize,
    pub short_chars: usize,
    /// Lines that JSON spells otherwise may be pointed to as well.
    pub escaped: bool,
    /// Shorter reads stay.
    pub min_read: usize,
    /// The limit of new words for results that are no reads.
    pub other_novelty: f64,
    /// What each request so far adds to the horizon.
    pub horizon_growth: f64,
    /// Texts may be pointed to.
    pub texts: bool,
    /// Clearing reads only from this many characters of context on.
    pub read_trigger: f64,
    /// Notes for repeats are short.
    pub brief: bool,
    /// Limits of results of searches on arrival; commands have their own.
    pub search_max_chars: usize,
    /// Whether arrivals are condensed rather than cut in the middle.
    pub condense: bool,
    /// What remains of cleared results.
    pub extracts: Extracts,
    /// Age at which the replaced text of an edit may go from its call.
    pub age_old_string: f64,
    /// Age at which text written to a file may go from its call.
    pub age_written: f64,
    /// Age at which an earlier list of tasks may go.
    pub age_todo: f64,
    /// What stays of a string in a call.
    pub keep_call: usize,
    /// Rounds only from this many characters of context on.
    pub trigger: f64,
    /// Arrivals are only trimmed from this many characters of context on.
    pub arrival_trigger: f64,
    /// Most words per 1000 characters that no other part holds, in a result that goes.
    pub novelty: f64,
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
            bare: false,
            brief: false,
            short_lines: usize::MAX,
            short_chars: usize::MAX,
            escaped: false,
            read_trigger: 0.0,
            min_read: 0,
            other_novelty: NEVER,
            horizon_growth: 0.0,
            texts: false,
            search_max_chars: 0,
            condense: false,
            extracts: Extracts::default(),
            age_old_string: NEVER,
            age_written: NEVER,
            age_todo: NEVER,
            keep_call: 40,
            trigger: 0.0,
            arrival_trigger: 0.0,
            novelty: NEVER,
            debt: 0.0,
        }
    }

    /// Everything that says the same in fewer characters, as the presets have it.
    pub fn shorten(&mut self) {
        (self.bare, self.brief) = (true, true);
        (self.short_lines, self.short_chars) = (1, 60);
    }

    /// Sets an option by its name.
    pub fn set(&mut self, name: &str, value: f64) -> bool {
        match name {
            "shorten" => self.shorten(),
            "compact" => self.compact = value > 0.0,
            "sparse" => self.sparse = value > 0.0,
            "bare" => self.bare = value > 0.0,
            "brief" => self.brief = value > 0.0,
            "slines" => self.short_lines = value as usize,
            "schars" => self.short_chars = value as usize,
            "escaped" => self.escaped = value > 0.0,
            "rtrigger" => self.read_trigger = value,
            "minread" => self.min_read = value as usize,
            "onovelty" => self.other_novelty = value,
            "hgrow" => self.horizon_growth = value,
            "texts" => self.texts = value > 0.0,
            "rlines" => self.repeat_lines = value as usize,
            "rchars" => self.repeat_chars = value as usize,
            "arr" => {
                self.arrival_max_chars = value as usize;
                self.arrival_head = self.arrival_max_chars * 3 / 8;
                self.arrival_tail = self.arrival_head;
            }
            "sarr" => self.search_max_chars = value as usize,
            "condense" => self.condense = value > 0.0,
            "cmd" => self.age_command = value,
            "search" => self.age_search = value,
            "edit" => self.age_edit = value,
            "task" => self.age_task = value,
            "other" => self.age_other = value,
            "past" => self.past_turn_factor = value,
            "edited" => self.touch_edited = value,
            "pastfile" => self.touch_past_turn = value,
            "named" => self.touch_named = value,
            "unedited" => self.touch_unedited = value,
            "min" => self.min_chars = value as usize,
            "horizon" => self.horizon = value,
            "round" => self.min_round_tokens = value,
            "debt" => self.debt = value,
            "xread" => self.extracts.read = value as usize,
            "xpct" => self.extracts.read_percent = value as usize,
            "xcmd" => self.extracts.command = value as usize,
            "xsearch" => self.extracts.search = value as usize,
            "xother" => self.extracts.other = value as usize,
            "old" => self.age_old_string = value,
            "written" => self.age_written = value,
            "todo" => self.age_todo = value,
            "keepcall" => self.keep_call = value as usize,
            "trigger" => self.trigger = value,
            "atrigger" => self.arrival_trigger = value,
            "novelty" => self.novelty = value,
            _ => return false,
        }
        true
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
            word_counts: HashMap::new(),
            shown_items: Vec::new(),
            seen: 0,
            request: 0,
            turn: 0,
            full_chars: 0.0,
            sent: 0.0,
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
    /// What stands here once it is cleared.
    after: Option<Arc<str>>,
    after_chars: f64,
    goes: Goes,
    /// Hashes of its words.
    words: Vec<u64>,
    /// Later items whose notes point here.
    cited_by: Vec<usize>,
}

/// What part of a call may go.
#[derive(Clone, Copy, PartialEq)]
enum Goes {
    Result,
    OldString,
    Written,
    Todo,
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
    word_counts: HashMap<u64, u32>,
    /// Number of a shown text → item that holds it.
    shown_items: Vec<usize>,
    seen: usize,
    request: usize,
    turn: usize,
    full_chars: f64,
    sent: f64,
    /// What the session has cost less than without pruning, and what it has cost, in input tokens.
    saved: f64,
    spent: f64,
}

fn chars(text: &str) -> f64 {
    text.chars().count() as f64
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
                after: None,
                after_chars: NOTE_CHARS,
                goes: Goes::Result,
                words: Vec::new(),
                cited_by: Vec::new(),
            };
            match part.kind {
                PartKind::ToolResult => self.arrive_result(&mut item, part),
                PartKind::ToolUse => {
                    self.show_arguments(part);
                    self.arrive_call(&mut item, part);
                }
                PartKind::Text if self.o.texts => {
                    self.shown
                        .add(&part.text.lines().collect::<Vec<_>>(), &[], |_| true);
                    self.shown_items.push(self.items.len());
                }
                _ => {}
            }
            if self.o.novelty < NEVER || self.o.other_novelty < NEVER {
                let text = match self.plan.get(item.at) {
                    Cut::Keep => Arc::clone(&part.text),
                    Cut::Text(text) => Arc::clone(text),
                };
                item.words = words(&text);
                for &word in &item.words {
                    *self.word_counts.entry(word).or_default() += 1;
                }
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
                self.shown.add(
                    &text.lines().collect::<Vec<_>>(),
                    &[],
                    if self.o.escaped {
                        |_| true
                    } else {
                        plain_in_json
                    },
                );
                self.shown_items.push(self.items.len());
            }
        }
    }

    fn arrive_call(&mut self, item: &mut Item, part: &Part) {
        let name = part.call.as_ref().map_or("", |c| c.name.as_str());
        let (goes, keys): (Goes, &[&str]) = match name {
            "Edit" | "MultiEdit" => (Goes::OldString, &["old_string"]),
            "Write" => (Goes::Written, &["content"]),
            "TodoWrite" => (Goes::Todo, &[]),
            _ => return,
        };
        let age = match goes {
            Goes::OldString => self.o.age_old_string,
            Goes::Written => self.o.age_written,
            _ => self.o.age_todo,
        };
        if age >= NEVER {
            return;
        }
        let after = if goes == Goes::Todo {
            for item in self.items.iter_mut().filter(|i| i.goes == Goes::Todo) {
                item.class = Class::Other;
            }
            Some("{\"todos\":[]}".to_owned())
        } else {
            item.class = Class::Other;
            remains::of_call(part, keys, self.o.keep_call)
        };
        let Some(after) = after else {
            item.class = Class::Kept;
            return;
        };
        item.goes = goes;
        item.after_chars = chars(&after);
        item.after = Some(after.into());
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
                let sparse = sparse.map(|s| if self.o.bare { bare_lines(&s) } else { s });
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
        let max = if item.class == Class::Search && self.o.search_max_chars > 0 {
            self.o.search_max_chars
        } else {
            self.o.arrival_max_chars
        };
        let long = text.chars().count() > max && self.full_chars >= self.o.arrival_trigger;
        if long && matches!(item.class, Class::Command | Class::Search) {
            let keep = max * 3 / 4;
            text = if self.o.condense {
                match condense(&part.text, &Budget::chars(keep)) {
                    Some(condensed) => condensed.render(&part.text).into(),
                    None => text,
                }
            } else {
                trimmed(&text, keep / 2, keep / 2).into()
            };
            // Part of it is left out, so nothing may point to it.
            if let Some(number) = item.shown {
                self.shown.forget(number);
            }
        }
        item.chars = chars(&text);
        let after = remains::of_result(part, item.class, &text, &self.o.extracts);
        item.after_chars = chars(&after);
        item.after = Some(after.into());
        if text != part.text {
            self.plan.set(item.at, Cut::Text(text));
        }
    }

    /// Leaves out what stands above. A part that is pointed to counts as fresh, and stays while the note stays.
    fn without_repeats(&mut self, item: &mut Item, text: &Arc<str>) -> Arc<str> {
        let lines: Vec<&str> = text.lines().collect();
        let repeats = self.shown.repeats(
            &lines,
            self.o.repeat_lines,
            self.o.repeat_chars,
            &|source| {
                let source = &self.items[self.shown_items[source]];
                source.path.is_some() && source.path == item.path
            },
            self.o.short_lines,
            self.o.short_chars,
        );
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
            without(&lines, &repeats, self.o.brief).into()
        }
    }

    /// May the result go now, by its age?
    fn is_old(&self, item: &Item) -> bool {
        let o = self.o;
        let age = (self.request - item.born) as f64;
        match item.goes {
            Goes::OldString => return age >= o.age_old_string,
            Goes::Written => return age >= o.age_written,
            Goes::Todo => return item.class != Class::Kept && age >= o.age_todo,
            Goes::Result => {}
        }
        let past = if item.turn < self.turn {
            o.past_turn_factor
        } else {
            1.0
        };
        match item.class {
            Class::Kept => false,
            Class::Read if self.sent < o.read_trigger => false,
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

    /// Words per 1000 characters that stand nowhere else.
    fn novelty(&self, item: &Item) -> f64 {
        let alone = item
            .words
            .iter()
            .filter(|w| self.word_counts.get(w) == Some(&1))
            .count();
        alone as f64 * 1000.0 / item.chars.max(1.0)
    }

    /// Which of the cached parts may go: old, large enough, and no note that stays points to them.
    fn may_go(&self, cached: usize) -> Vec<bool> {
        let mut go = vec![false; cached];
        for n in (0..cached).rev() {
            let item = &self.items[n];
            if item.class == Class::Kept || item.cleared {
                continue;
            }
            let least = if item.goes == Goes::Result {
                if item.class == Class::Read {
                    self.o.min_chars.max(self.o.min_read) as f64
                } else {
                    self.o.min_chars as f64
                }
            } else {
                0.0
            };
            let big = item.chars >= least && item.chars > item.after_chars + 40.0;
            let free = |&c: &usize| {
                self.items[c].cleared
                    || go.get(c).copied().unwrap_or(false)
                    || item.goes != Goes::Result
            };
            go[n] = big && self.is_old(item) && item.cited_by.iter().all(free) && {
                let most = if item.goes != Goes::Result {
                    NEVER
                } else if item.class == Class::Read {
                    self.o.novelty
                } else {
                    self.o.other_novelty
                };
                most >= NEVER || self.novelty(item) <= most
            };
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
            freed += self.items[n].chars - self.items[n].after_chars;
            behind += self.items[n].after_chars;
            let cost = (CACHE_WRITE - CACHE_READ) * behind / CHARS_PER_TOKEN;
            let net =
                CACHE_READ * (self.o.horizon + self.o.horizon_growth * self.request as f64) * freed
                    / CHARS_PER_TOKEN
                    - cost;
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
        let item = &mut self.items[n];
        let Some(text) = item.after.take() else {
            return;
        };
        item.cleared = true;
        for word in std::mem::take(&mut item.words) {
            *self.word_counts.entry(word).or_default() -= 1;
        }
        item.chars = chars(&text);
        if let Some(number) = item.shown {
            self.shown.forget(number);
        }
        self.plan.set(at, Cut::Text(text));
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
        self.sent = self.items.iter().map(|i| i.chars).sum();
        let old = self.may_go(cached);
        let round = if self.sent >= self.o.trigger {
            self.best_round(cached, &old)
        } else {
            None
        };
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

/// Hashes of the distinct words of seven characters and more.
fn words(text: &str) -> Vec<u64> {
    let mut found: Vec<u64> = text
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|w| w.len() >= 7)
        .map(|w| {
            w.bytes().fold(14_695_981_039_346_656_037, |h: u64, b| {
                (h ^ u64::from(b)).wrapping_mul(1_099_511_628_211)
            })
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
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
            word_counts: HashMap::new(),
            shown_items: Vec::new(),
            seen: 0,
            request: 0,
            turn: 0,
            full_chars: 0.0,
            sent: 0.0,
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
