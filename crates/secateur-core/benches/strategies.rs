//! What the strategies cost: `cargo bench -p secateur-core --bench strategies`.
//!
//! 1. Every strategy alone and all of them together on a body of 2 MB and 1,000 turns, against the
//!    engine's read + apply with one cheap edit, and against the same work in JavaScript
//!    (`strategies.mjs`, run by Node on the same bytes).
//! 2. Every strategy at 100, 1,000 and 10,000 turns: the time per turn stays what it is.
//!
//! `--write` puts the tables into `benches/STRATEGIES.md`. Of many runs, taken in turns, the fastest
//! counts, on both sides: other load on the machine hardly touches it.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a command for people"
)]

mod machine;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Write as _;
use std::time::Instant;

use secateur_core::Dialect;
use secateur_core::internal::apply;
use secateur_core::policy::Policy;
use secateur_core::strategy;
use secateur_core::{Request, prune};
use secateur_testkit::session::agent_session;

/// Strategies that plan a request from scratch, in an order in which each still finds work: those
/// that point to other results after those that cut results, those that drop turns last.
const PLANNED: [&str; 9] = [
    "old-tool-results",
    "long-messages",
    "unprotected-tool-outputs",
    "failed-inputs",
    "old-thinking",
    "unimportant-turns",
    "middle-turns",
    "summarized-turns",
    "turns-outside-window",
];

/// Limits that leave something for the later strategies, as shares of the turns in percent.
const SHARES: [(&str, usize); 3] = [
    ("unimportant-turns", 80),
    ("summarized-turns", 60),
    ("turns-outside-window", 40),
];

const WHOLE: &str = "the whole list";
const BASE: &str = "read + apply, one edit";
const ARRIVING: &str = "the whole list and those that work on arrival";
const STEADY: &str = "preset steady";
const COMPRESS: &str = "loose-whitespace";

fn request() -> Request<'static> {
    Request {
        dialect: Some(Dialect::AnthropicMessages),
        ..Request::default()
    }
}

fn policy(ids: &[&str], turns: usize) -> Policy {
    let mut settings = vec![
        "m7.enabled=true".to_owned(),
        "m7.min_messages=0".to_owned(),
        "m7.min_body_chars=0".to_owned(),
        format!("m7.strategies={ids:?}"),
    ];
    // The newest half of the outputs is left for the later strategies: 1,000 turns hold some 400,000
    // tokens of them.
    settings.push(format!(
        "unprotected-tool-outputs.protect_tokens={}",
        turns * 200
    ));
    for (id, percent) in SHARES {
        settings.push(format!("{id}.max_turns={}", turns * percent / 100));
    }
    Policy::resolve(None, None, &settings).expect("a policy")
}

/// A policy whose only work is to drop a turn or two of the middle.
fn base(turns: usize) -> Policy {
    let mut policy = policy(&["middle-turns"], turns);
    policy.options.middle_turns.keep_head_turns = turns / 2;
    policy.options.middle_turns.keep_last_turns = turns / 2 - 20;
    policy
}

fn compress() -> Policy {
    let settings = ["compress_user_turns_enabled=true", "min_redundant_pct=0.0"];
    let settings = settings.map(|setting| format!("m3.{setting}"));
    Policy::resolve(None, None, &settings).expect("a policy")
}

/// Everything that is measured on a body of so many turns.
fn ways(turns: usize) -> Vec<(String, Policy)> {
    let mut ways = vec![(BASE.to_owned(), base(turns))];
    for id in PLANNED {
        ways.push((id.to_owned(), policy(&[id], turns)));
    }
    for facts in strategy::ALL {
        if !PLANNED.contains(&facts.id.0) {
            ways.push((facts.id.0.to_owned(), policy(&[facts.id.0], turns)));
        }
    }
    ways.push((COMPRESS.to_owned(), compress()));
    ways.push((WHOLE.to_owned(), policy(&PLANNED, turns)));
    let others = strategy::ALL.iter().map(|facts| facts.id.0);
    let others = others.filter(|id| !PLANNED.contains(id));
    let all: Vec<&str> = others.chain(PLANNED).collect();
    ways.push((ARRIVING.to_owned(), policy(&all, turns)));
    let steady = Policy::preset("steady").expect("a preset");
    ways.push((STEADY.to_owned(), steady));
    ways
}

/// Times in nanoseconds and the size of the output.
#[derive(Clone, Copy)]
struct Measured {
    apply: f64,
    prune: f64,
    bytes: usize,
}

fn measure(body: &[u8], ways: &[(String, Policy)], rounds: usize) -> BTreeMap<String, Measured> {
    let request = request();
    let mut times = vec![(Vec::new(), Vec::new(), 0); ways.len()];
    for _ in 0..rounds {
        for ((_, policy), (applied, pruned, bytes)) in ways.iter().zip(&mut times) {
            let start = Instant::now();
            drop(black_box(apply(black_box(body), &request, policy)).expect("a plan"));
            applied.push(start.elapsed().as_nanos() as f64);
            let start = Instant::now();
            let outcome = prune(black_box(body), &request, policy);
            pruned.push(start.elapsed().as_nanos() as f64);
            assert!(outcome.error.is_none(), "{:?}", outcome.error);
            *bytes = outcome.body.len();
        }
    }
    ways.iter()
        .zip(times)
        .map(|((name, _), (apply, prune, bytes))| {
            let measured = Measured {
                apply: fastest(&apply),
                prune: fastest(&prune),
                bytes,
            };
            (name.clone(), measured)
        })
        .collect()
}

fn fastest(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

#[derive(serde::Deserialize)]
struct InNode {
    nanoseconds: f64,
    bytes: usize,
}

/// The same work in JavaScript, by name; `None` without Node.
fn in_node(body: &[u8], rounds: usize) -> Option<BTreeMap<String, InNode>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/strategies.mjs");
    let mut child = std::process::Command::new("node")
        .args([script, &rounds.to_string()])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(body).ok()?;
    let output = child.wait_with_output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

/// A session of so many turns, with results of a size that 1,000 turns make 2 MB.
fn session(turns: usize) -> Vec<u8> {
    agent_session(7, turns).body(Dialect::AnthropicMessages)
}

fn against_the_engine_and_node(out: &mut String, rounds: usize) {
    let body = session(1000);
    let ours = measure(&body, &ways(1000), rounds);
    let node = in_node(&body, rounds);
    let read_and_apply = ours[BASE].apply;
    let _ = writeln!(
        out,
        "\n## 1,000 turns, {:.2} MB, Anthropic messages\n\n\
         `apply` is read + plan + apply, `prune` also verifies. `over` is `apply` against \"{BASE}\". \
         Node is `JSON.parse` of the bytes, the strategy, `JSON.stringify` to bytes.\n\n\
         | what | apply, ms | over | prune, ms | KB out | Node, ms | KB out | Node / prune |\n\
         | --- | --: | --: | --: | --: | --: | --: | --: |",
        body.len() as f64 / 1e6
    );
    for (name, _) in ways(1000) {
        let it = ours[&name];
        let theirs = node.as_ref().and_then(|node| node.get(&name));
        let _ = write!(
            out,
            "| {name} | {:.2} | {:.2}× | {:.2} | {} |",
            it.apply / 1e6,
            it.apply / read_and_apply,
            it.prune / 1e6,
            it.bytes / 1000
        );
        let _ = match theirs {
            Some(node) => writeln!(
                out,
                " {:.1} | {} | {:.1}× |",
                node.nanoseconds / 1e6,
                node.bytes / 1000,
                node.nanoseconds / it.prune
            ),
            None => writeln!(out, " | | |"),
        };
    }
    let _ = writeln!(
        out,
        "\n{WHOLE}: {:.2}× of read + apply (goal: at most 2)",
        ours[WHOLE].apply / read_and_apply
    );
    let _ = match node.as_ref().and_then(|node| node.get(WHOLE)) {
        Some(node) => writeln!(
            out,
            "{WHOLE}, JavaScript / ours: {:.1}×; without verify {:.1}× (goal: at least 10)",
            node.nanoseconds / ours[WHOLE].prune,
            node.nanoseconds / ours[WHOLE].apply
        ),
        None => writeln!(out, "JavaScript: node is not installed"),
    };
}

fn per_turn(out: &mut String, rounds: usize) {
    const TURNS: [usize; 3] = [100, 1000, 10_000];
    let measured = TURNS.map(|turns| {
        let body = session(turns);
        let rounds = if turns > 1000 {
            rounds.div_ceil(5)
        } else {
            rounds
        };
        (measure(&body, &ways(turns), rounds), body.len())
    });
    let _ = writeln!(
        out,
        "\n## Time per turn, read + plan + apply\n\n\
         {} turns have {} KB. `growth` is the time per byte at 10,000 turns against that at 1,000: 1 is \
         linear, 10 quadratic.\n\n\
         | what | 100, µs | 1,000, µs | 10,000, µs | growth |\n| --- | --: | --: | --: | --: |",
        TURNS.map(|turns| turns.to_string()).join(", "),
        measured
            .iter()
            .map(|(_, bytes)| (bytes / 1000).to_string())
            .collect::<Vec<_>>()
            .join(", ")
    );
    for (name, _) in ways(100) {
        let _ = write!(out, "| {name} |");
        for ((times, _), turns) in measured.iter().zip(TURNS) {
            let _ = write!(out, " {:.2} |", times[&name].apply / 1e3 / turns as f64);
        }
        let per_byte = |at: usize| measured[at].0[&name].apply / measured[at].1 as f64;
        let _ = writeln!(out, " {:.2}× |", per_byte(2) / per_byte(1));
    }
}

/// Runs one way again and again, alone or for a profiler, and prints the fastest time:
/// `--only stale-results --turns 1000 --runs 200`.
/// A chat whose every turn brings chunks. Chats of other lengths have other words: none was ranked with another one.
fn retrieval_chat(turns: usize) -> Vec<u8> {
    const CHUNKS: usize = 20;
    let word = |number: usize| {
        const PARTS: [&str; 12] = [
            "river", "stone", "market", "winter", "signal", "garden", "engine", "letter", "copper",
            "harbour", "teacher", "morning",
        ];
        let second = PARTS[number / PARTS.len() % PARTS.len()];
        format!("{} {second}", PARTS[number % PARTS.len()])
    };
    let words = |from: usize, count: usize| {
        let seed = from.wrapping_mul(7919) + turns * 1_000_003;
        let all = (0..count).map(|at| word(seed + at * at * 31 + at));
        all.collect::<Vec<_>>().join(" ")
    };
    let turn = |turn: usize| {
        let chunk = |at: usize| {
            let text = words(turn * CHUNKS + at, 60);
            format!(r"<document>\n<source>{at}.txt</source>\n{text}.\n</document>")
        };
        let chunks: String = (0..CHUNKS).map(chunk).collect();
        let asked = format!(
            r#"{{"role":"user","content":"{chunks}\n\nWhat of {}?"}}"#,
            words(turn * CHUNKS + 3, 4)
        );
        let answered = r#"{"role":"assistant","content":"So it is."}"#;
        if turn + 1 == turns {
            asked
        } else {
            asked + "," + answered
        }
    };
    let all: Vec<String> = (0..turns).map(turn).collect();
    format!(
        r#"{{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{}]}}"#,
        all.join(",")
    )
    .into_bytes()
}

/// A chat sends what was ranked before with every request.
fn retrieval(out: &mut String) {
    let _ = writeln!(
        out,
        "\n## A chat whose every turn brings 20 chunks, preset steady-rag\n\n`first` is a process that has not seen the chat, `again` the next request of it.\n\n| turns | KB in | KB out | first, ms | again, ms |\n| --: | --: | --: | --: | --: |"
    );
    let policy = Policy::preset("steady-rag").expect("a preset");
    for turns in [10, 50, 200] {
        let body = retrieval_chat(turns);
        let mut times = Vec::new();
        let mut size = 0;
        for _ in 0..6 {
            let started = Instant::now();
            let outcome = prune(&body, &request(), &policy);
            times.push(started.elapsed().as_secs_f64() * 1e3);
            size = outcome.body.len();
        }
        let _ = writeln!(
            out,
            "| {turns} | {} | {} | {:.1} | {:.1} |",
            body.len() / 1000,
            size / 1000,
            times[0],
            fastest(&times[1..])
        );
    }
}

fn only(name: &str) {
    let number = |name: &str| argument(name).and_then(|value| value.parse().ok());
    let turns = number("--turns").unwrap_or(1000);
    let body = session(turns);
    let ways = ways(turns);
    let (_, policy) = ways
        .iter()
        .find(|(way, _)| way == name)
        .expect("a name from the table");
    let times = (0..number("--runs").unwrap_or(200)).map(|_| {
        let start = Instant::now();
        drop(black_box(apply(black_box(&body), &request(), policy)).expect("a plan"));
        start.elapsed().as_nanos() as f64
    });
    let fastest = fastest(&times.collect::<Vec<_>>());
    let per_turn = fastest / 1e3 / turns as f64;
    println!("{name}: {:.3} ms, {per_turn:.2} µs a turn", fastest / 1e6);
}

/// What follows this name on the command line.
fn argument(name: &str) -> Option<String> {
    std::env::args().skip_while(|arg| arg != name).nth(1)
}

fn main() {
    if let Some(name) = argument("--only") {
        return only(&name);
    }
    let write = std::env::args().any(|arg| arg == "--write");
    let quick = std::env::args().any(|arg| arg == "--quick");
    let rounds = if quick { 5 } else { 25 };
    let mut out = String::new();
    against_the_engine_and_node(&mut out, rounds);
    per_turn(&mut out, rounds);
    retrieval(&mut out);
    println!("{out}");
    if write {
        let head = format!(
            "# What the strategies cost\n\n`cargo bench -p secateur-core --bench strategies -- --write` on {}.\n",
            machine::name()
        );
        std::fs::write(
            concat!(env!("CARGO_MANIFEST_DIR"), "/benches/STRATEGIES.md"),
            head + &out,
        )
        .expect("writable");
    }
}
