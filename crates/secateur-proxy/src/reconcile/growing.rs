//! Growing conversations against a simulated provider: what is claimed request by request, in sum, against
//! the bill of the same conversation unpruned.

use std::sync::Arc;
use std::time::Duration;

use secateur_core::cost::cache::{Bill, BlockList, CacheKind, CacheRules, SimulatedCache};
use secateur_core::dialect::DialectId;
use secateur_core::models::{self, Prices, Terms};
use secateur_core::policy::Policy;
use secateur_core::{Request, prune};
use serde_json::{Value, json};

use crate::audit::AuditEvent;
use crate::config::Provider as Whose;
use crate::usage::Usage;

/// Where a client of a marked cache puts its markers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Marks {
    /// Behind the system prompt and at the end, as agents do.
    SystemAndEnd,
    System,
    None,
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
}

const CHARS_PER_TOKEN: usize = 4;

/// A provider that keeps its cache by its own rules.
struct Provider {
    model: &'static str,
    dialect: DialectId,
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
                DialectId::AnthropicMessages
            } else {
                DialectId::OpenaiChat
            },
            rules: Terms::of(Some(case.model), None).rules,
            prices: models::prices(Some(case.model)).unwrap(),
            cache: SimulatedCache::default(),
        }
    }

    fn bill(&mut self, body: &[u8]) -> Usage {
        let prompt = BlockList::of(body, self.dialect, self.rules.kind).unwrap();
        let tokens = |bytes: usize| (bytes / CHARS_PER_TOKEN) as f64;
        let cache = &mut self.cache;
        let billed = cache.request(&self.rules, self.model, &prompt, 0.0, tokens);
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
    let marked = json!([{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]);
    let tools = json!([{"name": "run", "description": "runs ".repeat(40)}]);
    let mut turns = vec![json!({"role": "user", "content": "find the bug in the build"})];
    if !is_claude {
        turns.insert(0, json!({"role": "system", "content": system}));
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
    if is_claude {
        let system = match case.marks {
            Marks::None => json!(system),
            Marks::System | Marks::SystemAndEnd => marked,
        };
        json!({"model": case.model, "max_tokens": 99, "messages": turns, "system": system, "tools": tools})
    } else {
        json!({"model": case.model, "messages": turns, "tools": tools})
    }
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
        Marks::None | Marks::System => "",
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
    for steps in 0..case.requests {
        let whole = body(case, steps);
        let sent = written(case, &whole);
        let result = prune(&sent, &Request::default(), &policy);
        assert!(result.error.is_none(), "{:?}", result.error);
        let usage = pruned.bill(&result.body);
        let plain_usd = plain.bill(&sent).usd(&plain.prices).unwrap();
        outcome.plain_usd += plain_usd;
        outcome.saved_usd += plain_usd - usage.usd(&pruned.prices).unwrap();
        let mut event = AuditEvent::new("r".into(), "w".into(), Whose::Openai, None);
        event.model = Some(case.model.into());
        event.status = 200;
        event.stack.clone_from(&result.report.stack);
        event.bytes_before = sent.len() as u64;
        event.bytes_after = result.body.len() as u64;
        event.chars_before = Some(result.report.before.chars as u64);
        event.chars_after = Some(result.report.after.chars as u64);
        outcome.cuts += usize::from(!event.stack.is_empty());
        event.report = Some(Arc::new(result.report));
        event.usage = Some(usage);
        for (process, claimed) in PROCESSES.iter().zip(&mut outcome.claimed_usd) {
            let knows = match process {
                Process::Same => steps > 0,
                Process::Restarted => steps % 3 > 0,
                Process::Another => false,
            };
            event.idle = knows.then_some(Duration::from_secs(20));
            event.settle();
            *claimed += event.receipt.saved_usd.unwrap();
        }
    }
    outcome
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let models = [
        ("gpt-5", Marks::None),
        ("gemini-2.5-pro", Marks::None),
        ("claude-haiku-4-5", Marks::SystemAndEnd),
        ("claude-sonnet-4-5", Marks::SystemAndEnd),
        ("claude-sonnet-4-5", Marks::System),
        ("claude-sonnet-4-5", Marks::None),
    ];
    for (model, marks) in models {
        for preset in ["openclaw-aggressive", "tessera", "steady", "steady-bold"] {
            for (system, result, requests) in
                [(60, 6_000, 10), (8_000, 6_000, 10), (30_000, 12_000, 16)]
            {
                // Other bodies have their instructions among the turns.
                for is_system_last in [false, true] {
                    if is_system_last && !model.contains("claude") {
                        continue;
                    }
                    cases.push(Case {
                        model,
                        preset,
                        marks,
                        system,
                        result,
                        requests,
                        is_system_last,
                    });
                }
            }
        }
    }
    cases
}

#[test]
fn no_saving_is_claimed_that_the_bill_without_pruning_does_not_show() {
    let mut cuts = 0;
    let mut wrong = Vec::new();
    for case in cases() {
        let found = run(&case);
        cuts += found.cuts;
        // Where a cut leaves too little to be cached, what would have been written is taken for plain input.
        if found.off().iter().any(|off| !(-0.1..0.02).contains(off)) {
            wrong.push((case, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(cuts > 500, "{cuts}");
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
    };
    let found = run(&case);
    assert!(found.cuts > 3 && found.saved_usd < 0.0, "{found:?}");
    assert!(found.off().iter().all(|off| off.abs() < 0.02), "{found:?}");
}
