//! Growing conversations against a simulated provider: what is claimed request by request, in sum, against
//! the bill of the same conversation unpruned.

use std::sync::Arc;
use std::time::{Duration, Instant};

use secateur_core::Dialect;
use secateur_core::cost::Terms;
use secateur_core::cost::cache::{Bill, BlockList, CacheKind, CacheRules, SimulatedCache};
use secateur_core::models::{self, Prices};
use secateur_core::policy::Policy;
use secateur_core::report::CacheHit;
use secateur_core::{Request, prune};
use serde_json::{Value, json};

use crate::audit::{AuditEvent, MissCause};
use crate::config::Provider as Whose;
use crate::conversations::Conversations;
use crate::usage::Usage;

/// Where a client of a marked cache puts its markers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Marks {
    /// After the system prompt and at the top level of the body.
    SystemAndEnd,
    /// After the system prompt and on the last block, as agents do.
    SystemAndLast,
    /// On the last tool, after the system prompt and on the last two messages of the user: no place is free.
    Four,
    System,
    None,
}

/// What happens half-way.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Nothing,
    /// The client changes `system[2]`.
    SystemChanges,
    /// The client changes the description of a tool.
    ToolsChange,
    /// Nothing is sent for so many seconds.
    Pause(u64),
}

/// What this process knows of the session when a request comes.
#[derive(Clone, Copy, Debug)]
enum Process {
    /// It had all the requests before.
    Same,
    /// It was started anew before every third request.
    Restarted,
    /// Each request goes to a process that had none of the session.
    Another,
}

const PROCESSES: [Process; 3] = [Process::Same, Process::Restarted, Process::Another];

#[derive(Clone, Copy, Debug)]
struct Case {
    model: &'static str,
    preset: &'static str,
    marks: Marks,
    /// Characters of the system prompt and of each tool result, more or less.
    system: usize,
    result: usize,
    requests: usize,
    /// Whether instructions and tools stand behind the turns in the body, as some clients write them.
    is_system_last: bool,
    event: Event,
}

impl Case {
    fn is_after_event(&self, steps: usize) -> bool {
        steps >= self.requests / 2
    }

    /// When a request is sent.
    fn seconds(&self, steps: usize) -> u64 {
        let pause = match self.event {
            Event::Pause(seconds) if self.is_after_event(steps) => seconds,
            _ => 0,
        };
        steps as u64 * 20 + pause
    }
}

const CHARS_PER_TOKEN: usize = 4;

/// A provider that keeps its cache by its own rules.
struct Provider {
    model: &'static str,
    dialect: Dialect,
    rules: CacheRules,
    prices: Prices,
    cache: SimulatedCache,
}

impl Provider {
    fn of(case: &Case) -> Self {
        let is_claude = case.model.contains("claude");
        Self {
            model: case.model,
            dialect: if is_claude {
                Dialect::AnthropicMessages
            } else {
                Dialect::OpenaiChat
            },
            rules: Terms::of(Some(case.model), None).rules,
            prices: models::prices(Some(case.model)).unwrap(),
            cache: SimulatedCache::default(),
        }
    }

    fn bill(&mut self, body: &[u8], seconds: u64) -> Usage {
        let prompt = BlockList::of(body, self.dialect, self.rules.kind).unwrap();
        let tokens = |bytes: usize| (bytes / CHARS_PER_TOKEN) as f64;
        let cache = &mut self.cache;
        let billed = cache.request(&self.rules, self.model, &prompt, seconds as f64, tokens);
        let Bill {
            read,
            written,
            plain,
        } = billed.bill;
        let count = |tokens: f64| Some(tokens as u64);
        Usage {
            input_tokens: count(read + written + plain),
            cache_read_tokens: count(read),
            cache_write_tokens: count(written).filter(|_| self.rules.kind == CacheKind::Marked),
            ..Usage::default()
        }
    }
}

/// A conversation of tool calls: the request after `steps` of them.
fn body(case: &Case, steps: usize) -> Value {
    let is_claude = case.model.contains("claude");
    let system = "Be good. ".repeat(case.system / 9);
    let changes = |event: Event| case.event == event && case.is_after_event(steps);
    let word = |is_changed: bool| if is_changed { "today" } else { "yesterday" };
    let state = format!("State: {}", word(changes(Event::SystemChanges)));
    let tool = format!("runs {}", word(changes(Event::ToolsChange)));
    let mut tools = json!([{"name": "see"}, {"name": "run", "description": tool.repeat(20)}]);
    let mut turns = vec![json!({"role": "user", "content": text("find the bug in the build")})];
    if !is_claude {
        turns.insert(
            0,
            json!({"role": "system", "content": format!("{system}{state}")}),
        );
    }
    for step in 0..steps {
        let id = format!("t{step}");
        let size = case.result * (1 + step * 7 % 5) / 3;
        let mut text = String::new();
        while text.len() < size {
            text += &format!(
                "line {} of step {step}: ok {}\n",
                text.len(),
                text.len() * 31 % 977
            );
        }
        if is_claude {
            turns.push(json!({"role": "assistant", "content": [
                {"type": "tool_use", "id": id, "name": "run", "input": {"step": step}}]}));
            turns.push(json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": text}]}));
        } else {
            turns.push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": id,
                "type": "function", "function": {"name": "run", "arguments": format!("{{\"step\":{step}}}")}}]}));
            turns.push(json!({"role": "tool", "tool_call_id": id, "content": text}));
        }
    }
    if !is_claude {
        return json!({"model": case.model, "messages": turns, "tools": tools});
    }
    let marker = json!({"type": "ephemeral"});
    let mut system = json!([
        text("You are an agent.")[0],
        text(&system)[0],
        text(&state)[0]
    ]);
    if case.marks != Marks::None {
        system[2]["cache_control"] = marker.clone();
    }
    let mut mark_turn = |at: usize| turns[at]["content"][0]["cache_control"] = marker.clone();
    match case.marks {
        Marks::SystemAndLast => mark_turn(2 * steps),
        Marks::Four => {
            mark_turn(2 * steps);
            mark_turn((2 * steps).saturating_sub(2));
            tools[1]["cache_control"] = marker.clone();
        }
        Marks::None | Marks::System | Marks::SystemAndEnd => {}
    }
    json!({"model": case.model, "max_tokens": 99, "messages": turns, "system": system, "tools": tools})
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// A body as a client writes it, in its own order of keys.
fn written(case: &Case, body: &Value) -> Vec<u8> {
    let head = ["model", "max_tokens"];
    let prompt = ["tools", "system", "messages"];
    let mut keys: Vec<&str> = head.into_iter().chain(prompt).collect();
    if case.is_system_last {
        keys.reverse();
    }
    let member = |key: &&str| Some(format!("{}:{}", json!(key), body.get(*key)?));
    let members: Vec<String> = keys.iter().filter_map(member).collect();
    let marker = match case.marks {
        Marks::None | Marks::System | Marks::SystemAndLast | Marks::Four => "",
        Marks::SystemAndEnd => r#","cache_control":{"type":"ephemeral"}"#,
    };
    format!("{{{}{marker}}}", members.join(",")).into_bytes()
}

/// The bill without pruning, what was really saved, and what was claimed: by each of [`PROCESSES`].
#[derive(Debug, Default)]
struct Outcome {
    plain_usd: f64,
    saved_usd: f64,
    claimed_usd: [f64; PROCESSES.len()],
    cuts: usize,
    anchors: usize,
    /// By the process that had all requests.
    predicted_read: u64,
    billed_read: u64,
    misses: Vec<(usize, MissCause)>,
}

impl Outcome {
    /// By how much too much is claimed, in shares of the bill without pruning.
    fn off(&self) -> [f64; PROCESSES.len()] {
        let off = |claimed: f64| (claimed - self.saved_usd) / self.plain_usd;
        self.claimed_usd.map(off)
    }
}

fn run(case: &Case) -> Outcome {
    let policy = Policy::resolve(Some(case.preset), None, &[]).unwrap();
    let (mut plain, mut pruned) = (Provider::of(case), Provider::of(case));
    let mut outcome = Outcome::default();
    let mut processes = PROCESSES.map(|_| Conversations::default());
    let begin = Instant::now();
    for steps in 0..case.requests {
        let whole = body(case, steps);
        let sent = written(case, &whole);
        let result = prune(&sent, &Request::default(), &policy);
        assert!(result.error.is_none(), "{:?}", result.error);
        let seconds = case.seconds(steps);
        let usage = pruned.bill(&result.body, seconds);
        let plain_usd = plain.bill(&sent, seconds).usd(&plain.prices).unwrap();
        outcome.plain_usd += plain_usd;
        outcome.saved_usd += plain_usd - usage.usd(&pruned.prices).unwrap();
        let mut event = AuditEvent::new("r".into(), "w".into(), Whose::Openai, None);
        event.model = Some(case.model.into());
        event.session = Some("s".into());
        event.status = 200;
        event.stack.clone_from(&result.report.stack);
        event.bytes_before = sent.len() as u64;
        event.bytes_after = result.body.len() as u64;
        event.chars_before = Some(result.report.before.chars as u64);
        event.chars_after = Some(result.report.after.chars as u64);
        outcome.cuts += usize::from(!event.stack.is_empty());
        outcome.anchors += usize::from(matches!(result.report.cached.hit, CacheHit::Anchor { .. }));
        outcome.billed_read += usage.cache_read_tokens.unwrap_or(0);
        event.report = Some(Arc::new(result.report));
        event.usage = Some(usage);
        let blocks = BlockList::of(&sent, plain.dialect, plain.rules.kind).unwrap();
        let started = begin + Duration::from_secs(seconds);
        for (at, process) in PROCESSES.iter().enumerate() {
            let is_new = match process {
                Process::Same => false,
                Process::Restarted => steps % 3 == 0,
                Process::Another => true,
            };
            if is_new {
                processes[at] = Conversations::default();
            }
            processes[at].observe(&mut event, Some(&blocks), started);
            event = event.settle();
            outcome.claimed_usd[at] += event.receipt.saved_usd.unwrap();
            if at == 0 {
                let read = event.receipt.cache_read.unwrap();
                outcome.predicted_read += read.predicted;
                outcome.misses.extend(read.miss.map(|cause| (steps, cause)));
            }
        }
    }
    outcome
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let models = [
        ("gpt-5", Marks::None),
        ("gpt-5.6", Marks::None),
        ("gemini-2.5-pro", Marks::None),
        ("claude-haiku-4-5", Marks::SystemAndEnd),
        ("claude-sonnet-4-5", Marks::SystemAndEnd),
        ("claude-sonnet-4-5", Marks::SystemAndLast),
        ("claude-sonnet-4-5", Marks::Four),
        ("claude-sonnet-4-5", Marks::System),
        ("claude-sonnet-4-5", Marks::None),
    ];
    for (model, marks) in models {
        for preset in ["openclaw-aggressive", "tessera", "steady", "steady-bold"] {
            for (system, result, requests) in
                [(60, 6_000, 10), (8_000, 6_000, 10), (30_000, 12_000, 16)]
            {
                let case = Case {
                    model,
                    preset,
                    marks,
                    system,
                    result,
                    requests,
                    is_system_last: false,
                    event: Event::Nothing,
                };
                cases.push(case);
                // Other bodies have their instructions among the turns.
                if model.contains("claude") {
                    let is_system_last = true;
                    cases.push(Case {
                        is_system_last,
                        ..case
                    });
                }
            }
        }
    }
    cases
}

/// Cases in which something happens half-way.
fn cases_with_events() -> Vec<Case> {
    let mut cases = cases();
    cases.retain(|case| {
        let is_preset = ["openclaw-aggressive", "steady"].contains(&case.preset);
        case.system == 30_000 && is_preset && !case.is_system_last
    });
    let events = [
        Event::SystemChanges,
        Event::ToolsChange,
        Event::Pause(400),
        Event::Pause(2 * 3600),
    ];
    let with_events = |case: Case| events.map(|event| Case { event, ..case });
    cases.into_iter().flat_map(with_events).collect()
}

#[test]
fn no_saving_is_claimed_that_the_bill_without_pruning_does_not_show() {
    let mut cuts = 0;
    let mut wrong: Vec<String> = Vec::new();
    for case in cases() {
        let found = run(&case);
        cuts += found.cuts;
        // Where a cut leaves too little to be cached, what would have been written is taken for plain input.
        if found.off().iter().any(|off| !(-0.1..0.02).contains(off)) {
            wrong.push(format!("{case:?} {:.3?} {found:?}", found.off()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(cuts > 500, "{cuts}");
}

#[test]
fn what_a_client_changes_or_lets_expire_is_no_loss_of_ours() {
    let mut wrong: Vec<String> = Vec::new();
    for case in cases_with_events() {
        let found = run(&case);
        let [same, restarted, another] = found.off();
        let is_certain = |off: f64| (-0.03..0.02).contains(&off);
        // A process that knows nothing of the request before takes the loss on itself, and claims too little.
        if !is_certain(same) || !is_certain(restarted) || !(-0.3..0.02).contains(&another) {
            wrong.push(format!("{case:?} {:.3?} {found:?}", found.off()));
        }
        let half = case.requests / 2;
        let cause = found.misses.iter().find(|(at, _)| *at == half);
        let is_right = match (case.event, cause.map(|(_, cause)| *cause)) {
            (Event::SystemChanges, Some(MissCause::ClientChange(place))) => {
                let instructions = ["system[2]", "messages[0].content[0]"];
                instructions.contains(&place.to_string().as_str())
            }
            (Event::ToolsChange, Some(MissCause::ToolsChanged(place))) => {
                place.to_string() == "tools[1]"
            }
            (Event::Pause(seconds), Some(MissCause::Expired { idle_seconds, .. })) => {
                idle_seconds == seconds + 20
            }
            // Kept for half an hour.
            (Event::Pause(400), _) if case.model == "gpt-5.6" => true,
            // No page says how long Gemini keeps an entry, and a client without markers has none.
            (Event::Pause(_), None) if case.model.starts_with("gemini") => true,
            (_, None) => case.marks == Marks::None && case.model.contains("claude"),
            _ => false,
        };
        if !is_right {
            wrong.push(format!("{case:?} {cause:?} {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn predicted_and_billed_reads_agree_within_three_percent_of_a_session() {
    let mut anchors = 0;
    for case in cases() {
        if case.preset != "steady" || case.system != 30_000 {
            continue;
        }
        let found = run(&case);
        anchors += found.anchors;
        let (predicted, billed) = (found.predicted_read as f64, found.billed_read as f64);
        assert!(
            (predicted - billed).abs() <= 0.03 * billed,
            "{case:?} {found:?}"
        );
        assert_eq!(found.misses, [], "{case:?}");
    }
    assert!(anchors > 0, "{anchors}");
}

#[test]
fn a_cut_that_breaks_an_automatic_cache_for_good_is_claimed_as_the_loss_that_it_is() {
    let case = Case {
        model: "gpt-5",
        preset: "openclaw-aggressive",
        marks: Marks::None,
        system: 60,
        result: 6_000,
        requests: 10,
        is_system_last: false,
        event: Event::Nothing,
    };
    let found = run(&case);
    assert!(found.cuts > 3 && found.saved_usd < 0.0, "{found:?}");
    assert!(found.off().iter().all(|off| off.abs() < 0.02), "{found:?}");
}
