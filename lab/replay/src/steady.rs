//! The prototype of `steady`: trims on arrival, and cuts in rounds that pay.

use std::collections::HashMap;
use std::sync::Arc;

use secateur_replay::{PartKind, Policy, Pruned, Role, Run, Session, ToolCall};
use serde_json::Value;

use crate::compact::{group_hits, unpad};
use crate::plan::{Cut, Place, Plan};
use crate::relevance::Focus;
use crate::repeats::{Shown, plain_in_json, without};

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
    /// Unedited files after a later user turn; those that the user named.
    pub touch_past_turn: f64,
    pub touch_named: f64,
    /// Factor on ages of other results after a later user turn.
    pub past_turn_factor: f64,
    /// What stays of a cleared result other than a read: first and last characters.
    pub stub_head: usize,
    pub stub_tail: usize,
    /// Most characters of an outline that stays of a cleared read; 0: none.
    pub outline_chars: usize,
    /// Arrival trims by relevance instead of head and tail.
    pub arrival_focus: bool,
    /// Runs of at least so many lines and characters that a result repeats are left out; 0: off.
    pub repeat_lines: usize,
    pub repeat_chars: usize,
    /// Results of these kinds are trimmed on arrival: task and others too.
    pub arrival_all: bool,
    /// Share of a cleared result that stays: the lines that the conversation is about.
    pub clear_share_read: f64,
    pub clear_share_other: f64,
    /// Listings lose their padding, search hits are grouped by file.
    pub compact: bool,
    /// A scale on all of the ages: one knob from careful to bold.
    pub patience: f64,
    /// Further requests that a round may count on.
    pub horizon: f64,
    /// How far a round may put the session into debt, as a share of what it has cost so far.
    pub debt: f64,
    /// Read results: requests since the last touch after which only the relevant lines stay, and their share.
    pub focus_read_age: f64,
    pub focus_read_share: f64,
    /// The same for results of commands, searches and others, by age.
    pub focus_other_age: f64,
    pub focus_other_share: f64,
    /// Results shorter than this are not focused.
    pub focus_min_chars: usize,
    /// Neighbour lines that a relevant line brings along.
    pub focus_reach: usize,
    /// Requests after which a mention counts half.
    pub focus_half_life: f32,
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
            age_command: 6.0,
            age_search: 4.0,
            age_edit: 12.0,
            age_task: 1e9,
            age_other: 1e9,
            touch_edited: 6.0,
            touch_unedited: 20.0,
            touch_superseded: 1.0,
            touch_past_turn: 10.0,
            touch_named: 100.0,
            past_turn_factor: 0.25,
            stub_head: 0,
            stub_tail: 0,
            outline_chars: 0,
            arrival_focus: false,
            repeat_lines: 3,
            repeat_chars: 120,
            arrival_all: false,
            clear_share_read: 0.0,
            clear_share_other: 0.0,
            compact: true,
            patience: 1.0,
            horizon: 15.0,
            debt: 0.0,
            focus_read_age: 1e9,
            focus_read_share: 0.4,
            focus_other_age: 1e9,
            focus_other_share: 0.4,
            focus_min_chars: 2000,
            focus_reach: 6,
            focus_half_life: 20.0,
            min_round_tokens: 200.0,
        }
    }
}

impl Steady {
    fn uses_focus(&self) -> bool {
        self.arrival_focus
            || self.clear_share_read > 0.0
            || self.clear_share_other > 0.0
            || self.focus_read_age < 1e6
            || self.focus_other_age < 1e6
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
            focus: Focus::default(),
            turn: 0,
            user_text: String::new(),
            shown: Shown::default(),
            shown_items: Vec::new(),
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
    turn: usize,
    path: Option<String>,
    lines: (u64, u64),
    superseded: Option<usize>,
    stage: Stage,
    shown: Option<usize>,
    cited: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Stage {
    Whole,
    Focused,
    Cleared,
}

#[derive(Default)]
struct File {
    touched: usize,
    edited: Option<usize>,
    turn: usize,
    named: bool,
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
    focus: Focus,
    turn: usize,
    user_text: String,
    shown: Shown,
    shown_items: Vec<usize>,
}

fn note_cleared(item_chars: usize) -> Arc<str> {
    format!("[Result cleared: {item_chars} characters. Call the tool again if it is needed.]")
        .into()
}

impl SteadyRun<'_> {
    fn arrive(&mut self, m: usize) {
        let message = &self.session.messages[m];
        if message.role == Role::User
            && message.parts.iter().all(|p| p.kind != PartKind::ToolResult)
        {
            self.turn += 1;
            for part in message.parts.iter().filter(|p| p.kind == PartKind::Text) {
                self.user_text.push_str(&part.text);
                for (path, file) in &mut self.files {
                    file.named =
                        file.named || part.text.contains(path.rsplit('/').next().unwrap_or(path));
                }
            }
        }
        for p in 0..self.session.messages[m].parts.len() {
            let part = &self.session.messages[m].parts[p];
            if !self.o.uses_focus() {
            } else if part.kind == PartKind::ToolResult {
                self.focus.observe(&part.text);
            } else {
                self.focus.mention(&part.text, self.request);
            }
            if matches!(part.kind, PartKind::Thinking | PartKind::Opaque) {
                continue;
            }
            let n = part.text.chars().count();
            self.full_chars += n as f64;
            let mut item = Item {
                at: (m, p),
                class: Class::Kept,
                chars: n as f64,
                born: self.request,
                turn: self.turn,
                path: None,
                lines: (0, 0),
                superseded: None,
                stage: Stage::Whole,
                shown: None,
                cited: false,
            };
            if let Some(call) = &part.call {
                if let Some(path) = call.input.get("file_path").and_then(Value::as_str) {
                    let file = self.files.entry(path.to_owned()).or_default();
                    file.touched = self.request;
                    file.turn = self.turn;
                    let base = path.rsplit('/').next().unwrap_or(path);
                    file.named = file.named || self.user_text.contains(base);
                    if part.kind == PartKind::ToolUse
                        && matches!(call.name.as_str(), "Edit" | "Write" | "MultiEdit")
                    {
                        file.edited = Some(self.request);
                    }
                    item.path = Some(path.to_owned());
                }
            }
            if part.kind == PartKind::ToolResult {
                item.class = class_of(part.call.as_ref());
                if item.class == Class::Read {
                    let input = part.call.as_ref().map(|c| &c.input);
                    let lo = input
                        .and_then(|i| i.get("offset"))
                        .and_then(Value::as_u64)
                        .unwrap_or(1);
                    item.lines = (lo, lo + part.text.lines().count() as u64);
                    if !part.is_error {
                        for old in self
                            .parts
                            .iter_mut()
                            .filter(|o| o.class == Class::Read && o.path == item.path)
                        {
                            if item.lines.0 <= old.lines.0 && item.lines.1 + 5 >= old.lines.1 {
                                old.superseded.get_or_insert(self.request);
                            }
                        }
                    }
                }
                let mut text = Arc::clone(&part.text);
                if self.o.compact {
                    let shorter = match item.class {
                        Class::Search => group_hits(&text),
                        Class::Read | Class::Edit => unpad(&text),
                        _ => None,
                    };
                    if let Some(shorter) = shorter {
                        text = shorter.into();
                        item.chars = text.chars().count() as f64;
                        self.plan.set(item.at, Cut::Text(Arc::clone(&text)));
                    }
                }
                let n = item.chars as usize;
                let trim = match item.class {
                    Class::Command | Class::Search => true,
                    Class::Kept | Class::Read => false,
                    _ => self.o.arrival_all,
                } && n > self.o.arrival_max_chars;
                if self.o.repeat_lines > 0 && item.class != Class::Kept && !trim {
                    let lines: Vec<&str> = text.lines().collect();
                    let repeats =
                        self.shown
                            .repeats(&lines, self.o.repeat_lines, self.o.repeat_chars);
                    if !repeats.is_empty() {
                        let left = without(&lines, &repeats);
                        item.chars = left.chars().count() as f64;
                        self.plan.set(item.at, Cut::Text(left.into()));
                        for r in &repeats {
                            let source = self.shown_items[r.source];
                            if source < self.parts.len() {
                                let source = &mut self.parts[source];
                                source.born = self.request;
                                source.turn = self.turn;
                                source.cited = true;
                                if let Some(file) =
                                    source.path.as_ref().and_then(|p| self.files.get_mut(p))
                                {
                                    file.touched = self.request;
                                    file.turn = self.turn;
                                }
                            }
                        }
                    }
                    item.shown = Some(self.shown.add(&lines, &repeats, |_| true));
                    self.shown_items.push(self.parts.len());
                }
                if trim {
                    let head: String = text.chars().take(self.o.arrival_head).collect();
                    let tail: String = text.chars().skip(n - self.o.arrival_tail).collect();
                    let text = if self.o.arrival_focus {
                        self.focus.digest(
                            &text,
                            self.o.arrival_head + self.o.arrival_tail,
                            2,
                            self.request,
                            20.0,
                        )
                    } else {
                        format!(
                            "{head}\n[... {} characters left out ...]\n{tail}",
                            n - self.o.arrival_head - self.o.arrival_tail
                        )
                    };
                    item.chars = text.chars().count() as f64;
                    self.plan.set(item.at, Cut::Text(text.into()));
                }
            }
            if part.kind == PartKind::ToolUse && self.o.repeat_lines > 0 {
                for key in ["new_string", "content"] {
                    if let Some(text) = part
                        .call
                        .as_ref()
                        .and_then(|c| c.input.get(key))
                        .and_then(Value::as_str)
                    {
                        self.shown
                            .add(&text.lines().collect::<Vec<_>>(), &[], plain_in_json);
                        self.shown_items.push(self.parts.len());
                    }
                }
            }
            self.parts.push(item);
        }
    }

    /// The stage that a part may move to now.
    fn next_stage(&self, item: &Item) -> Option<Stage> {
        if item.stage == Stage::Cleared
            || item.class == Class::Kept
            || item.chars < self.o.min_chars as f64
        {
            return None;
        }
        let o = self.o;
        let k = o.patience;
        let age = (self.request - item.born) as f64;
        let past = if item.turn < self.turn {
            o.past_turn_factor
        } else {
            1.0
        };
        let (since, clear_after, focus_after) = match item.class {
            Class::Read => {
                let file = item.path.as_ref().and_then(|p| self.files.get(p));
                let touch = file.map_or(age, |f| (self.request - f.touched) as f64);
                if !item.cited
                    && item
                        .superseded
                        .is_some_and(|at| (self.request - at) as f64 >= o.touch_superseded)
                {
                    return Some(Stage::Cleared);
                }
                let limit = match file {
                    Some(f) if f.edited.is_some() => o.touch_edited,
                    Some(f) if f.turn < self.turn => o.touch_past_turn,
                    Some(f) if f.named => o.touch_named,
                    _ => o.touch_unedited,
                };
                (touch.min(age), limit * k, o.focus_read_age)
            }
            Class::Command => (age, o.age_command * k * past, o.focus_other_age),
            Class::Search => (age, o.age_search * k * past, o.focus_other_age),
            Class::Edit => (age, o.age_edit * k * past, o.focus_other_age),
            Class::Task => (age, o.age_task * k * past, o.focus_other_age),
            Class::Other => (age, o.age_other * k * past, o.focus_other_age),
            Class::Kept => return None,
        };
        if since >= clear_after {
            return Some(Stage::Cleared);
        }
        let focus = item.stage == Stage::Whole
            && since >= focus_after
            && item.chars >= o.focus_min_chars as f64;
        focus.then_some(Stage::Focused)
    }

    fn size_after(&self, item: &Item, stage: Stage) -> f64 {
        match stage {
            Stage::Whole => item.chars,
            Stage::Focused => item.chars * self.share(item.class),
            Stage::Cleared if self.clear_share(item.class) > 0.0 => {
                75.0 + item.chars * self.clear_share(item.class)
            }
            Stage::Cleared if item.class == Class::Read => {
                75.0 + self.o.outline_chars.min(item.chars as usize / 12) as f64
            }
            Stage::Cleared => 75.0 + (self.o.stub_head + self.o.stub_tail) as f64,
        }
    }

    fn clear_share(&self, class: Class) -> f64 {
        if class == Class::Read {
            self.o.clear_share_read
        } else {
            self.o.clear_share_other
        }
    }

    fn share(&self, class: Class) -> f64 {
        if class == Class::Read {
            self.o.focus_read_share
        } else {
            self.o.focus_other_share
        }
    }

    fn rewrite(&mut self, n: usize, stage: Stage) {
        let item = &self.parts[n];
        let at = item.at;
        let whole = &self.session.messages[at.0].parts[at.1].text;
        let text: Arc<str> = match stage {
            Stage::Focused => {
                let now = match self.plan.get(at) {
                    Cut::Text(text) => Arc::clone(text),
                    _ => Arc::clone(whole),
                };
                let budget = (item.chars * self.share(item.class)) as usize;
                self.focus
                    .digest(
                        &now,
                        budget,
                        self.o.focus_reach,
                        self.request,
                        self.o.focus_half_life,
                    )
                    .into()
            }
            _ if self.clear_share(item.class) > 0.0 => {
                let now = match self.plan.get(at) {
                    Cut::Text(text) => Arc::clone(text),
                    _ => Arc::clone(whole),
                };
                let budget = (item.chars * self.clear_share(item.class)) as usize;
                let digest = self.focus.digest(
                    &now,
                    budget,
                    self.o.focus_reach,
                    self.request,
                    self.o.focus_half_life,
                );
                format!("{digest}{}", note_cleared(whole.chars().count())).into()
            }
            _ if item.class == Class::Read && self.o.outline_chars > 0 => {
                let outline = outline(whole, self.o.outline_chars);
                format!("{outline}{}", note_cleared(whole.chars().count())).into()
            }
            _ if item.class != Class::Read && self.o.stub_head + self.o.stub_tail > 0 => {
                let n = whole.chars().count();
                let head: String = whole.chars().take(self.o.stub_head).collect();
                let tail: String = whole.chars().skip(n - self.o.stub_tail.min(n)).collect();
                format!("{head}\n{}\n{tail}", note_cleared(n)).into()
            }
            _ => note_cleared(whole.chars().count()),
        };
        let item = &mut self.parts[n];
        if let Some(number) = item.shown {
            self.shown.forget(number);
        }
        item.stage = stage;
        let chars = text.chars().count() as f64;
        if chars < item.chars {
            item.chars = chars;
            self.plan.set(at, Cut::Text(text));
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

        // Walk from the tail: the first cut that pays best.
        let (mut behind, mut freed, mut best, mut best_net) = (0.0, 0.0, None, 0.0);
        for n in (0..cached).rev() {
            let item = &self.parts[n];
            if let Some(stage) = self.next_stage(item) {
                let after = self.size_after(item, stage);
                freed += item.chars - after;
                behind += after;
                let cost = 1.15 * behind * tok;
                let net = 0.1 * self.o.horizon * freed * tok - cost;
                if net > best_net
                    && freed * tok >= self.o.min_round_tokens
                    && cost <= self.saved + self.o.debt * self.cost
                {
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
                if let Some(stage) = self.next_stage(&self.parts[n]) {
                    self.rewrite(n, stage);
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
        Pruned {
            round: best.is_some(),
            ..self.plan.render(self.session, upto)
        }
    }
}

/// The lines of a numbered listing that open a block: less indented than the next line.
fn outline(text: &str, max_chars: usize) -> String {
    let code = |line: &str| {
        line.split_once('\u{2192}')
            .map_or_else(|| line.to_owned(), |(_, code)| code.to_owned())
    };
    let indent = |code: &str| code.len() - code.trim_start().len();
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::new();
    let mut used = 0;
    for pair in lines.windows(2) {
        let (a, b) = (code(pair[0]), code(pair[1]));
        let opens = indent(&a) == 0
            && !b.trim().is_empty()
            && indent(&b) > 0
            && a.starts_with(|c: char| c.is_ascii_alphabetic());
        if opens && a.len() >= 8 {
            let n = pair[0].chars().count() + 1;
            if used + n > max_chars {
                break;
            }
            used += n;
            out.push_str(pair[0]);
            out.push('\n');
        }
    }
    out
}
