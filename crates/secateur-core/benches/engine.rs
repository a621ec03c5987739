//! The engine against parsers, in one run: `cargo bench -p secateur-core --bench engine`.
//!
//! Prints, for bodies of 20 KB, 200 KB and 2 MB full of escaped code, the median time of each way to
//! read a body, and the ratios that matter. `--write` puts them into `benches/RESULTS.md`.
//! A harness of its own, because the result is the ratio of medians taken in turns, not a time.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a command for people"
)]

mod machine;

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Write as _;
use std::time::Instant;

use peak_alloc::PeakAlloc;
use secateur_core::dialect::{self, Dialect};
use secateur_core::internal::json::{Cursor, Limits};
use secateur_core::policy::Policy;
use secateur_core::{Request, prune};

const SIZES: [(&str, usize); 3] = [("20 KB", 20_000), ("200 KB", 200_000), ("2 MB", 2_000_000)];

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// One way to read a body.
struct Way {
    name: &'static str,
    run: fn(&[u8], &Policy),
}

const WAYS: &[Way] = &[
    Way {
        name: "scan (ours)",
        run: scan,
    },
    Way {
        name: "read (ours)",
        run: read,
    },
    Way {
        name: "read + plan + apply (ours)",
        run: apply,
    },
    Way {
        name: "the same + verify (ours)",
        run: whole,
    },
    Way {
        name: "jiter, skip",
        run: jiter_skip,
    },
    Way {
        name: "serde_json, RawValue",
        run: raw_value,
    },
    Way {
        name: "serde_json, IgnoredAny",
        run: ignored,
    },
    Way {
        name: "serde_json, parse + serialise",
        run: parse_serialise,
    },
];

fn scan(body: &[u8], _: &Policy) {
    let mut cursor = Cursor::new(body, &Limits::default()).expect("text");
    black_box(cursor.skip().expect("JSON"));
}

fn read(body: &[u8], _: &Policy) {
    let view = dialect::read(body, Dialect::AnthropicMessages, &Limits::default());
    black_box(view.expect("a request"));
}

fn request() -> Request<'static> {
    Request {
        dialect: Some(Dialect::AnthropicMessages),
        ..Request::default()
    }
}

fn apply(body: &[u8], policy: &Policy) {
    black_box(secateur_core::internal::apply(body, &request(), policy).expect("a plan"));
}

fn whole(body: &[u8], policy: &Policy) {
    let outcome = prune(body, &request(), policy);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    black_box(outcome);
}

fn jiter_skip(body: &[u8], _: &Policy) {
    let mut parser = jiter::Jiter::new(body);
    parser.next_skip().expect("JSON");
    parser.finish().expect("JSON");
}

fn raw_value(body: &[u8], _: &Policy) {
    let value: &serde_json::value::RawValue = serde_json::from_slice(body).expect("JSON");
    black_box(value);
}

fn ignored(body: &[u8], _: &Policy) {
    black_box(serde_json::from_slice::<serde::de::IgnoredAny>(body).expect("JSON"));
}

fn parse_serialise(body: &[u8], _: &Policy) {
    let value: serde_json::Value = serde_json::from_slice(body).expect("JSON");
    black_box(serde_json::to_vec(&value).expect("JSON"));
}

/// Medians in nanoseconds of every way, taken in turns so that a busy moment hits all alike.
fn medians(body: &[u8], policy: &Policy, rounds: usize) -> Vec<f64> {
    let per_round = (400_000 / body.len()).max(1);
    let mut times = vec![Vec::with_capacity(rounds); WAYS.len()];
    for _ in 0..rounds {
        for (way, times) in WAYS.iter().zip(&mut times) {
            let start = Instant::now();
            for _ in 0..per_round {
                (way.run)(black_box(body), policy);
            }
            times.push(start.elapsed().as_nanos() as f64 / per_round as f64);
        }
    }
    times.into_iter().map(median).collect()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Node's `JSON.parse` + `JSON.stringify` on the same bytes, median nanoseconds.
fn node(body: &[u8]) -> Option<f64> {
    let script = r"
        const text = require('fs').readFileSync(0, 'utf8');
        const times = [];
        for (let i = 0; i < 60; i++) {
            const start = process.hrtime.bigint();
            const out = JSON.stringify(JSON.parse(text));
            times.push(Number(process.hrtime.bigint() - start));
            if (!out) throw 1;
        }
        times.sort((a, b) => a - b);
        console.log(times[30]);
    ";
    let mut child = std::process::Command::new("node")
        .args(["-e", script])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(body).ok()?;
    let output = child.wait_with_output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

fn main() {
    let write = std::env::args().any(|arg| arg == "--write");
    let policy = Policy::resolve(
        Some("tessera"),
        None,
        &["middle-turns.drop_tool_turns=true".into()],
    )
    .expect("a preset");
    let mut out = String::new();
    let mut prune_times = Vec::new();
    for (name, bytes) in SIZES {
        let body = secateur_testkit::session::body_of_size(Dialect::AnthropicMessages, bytes);
        let times = medians(&body, &policy, if bytes > 1_000_000 { 41 } else { 81 });
        let _ = writeln!(
            out,
            "\n### {name} ({} bytes, Anthropic messages)\n",
            body.len()
        );
        let _ = writeln!(out, "| way | µs | MB/s |\n| --- | --: | --: |");
        for (way, &time) in WAYS.iter().zip(&times) {
            let rate = body.len() as f64 * 1000.0 / time;
            let _ = writeln!(out, "| {} | {:.1} | {rate:.0} |", way.name, time / 1000.0);
        }
        let (apply, whole, parse) = (times[2], times[3], times[7]);
        let node = node(&body);
        if let Some(time) = node {
            let rate = body.len() as f64 * 1000.0 / time;
            let _ = writeln!(
                out,
                "| Node, JSON.parse + JSON.stringify | {:.1} | {rate:.0} |",
                time / 1000.0
            );
        }
        let _ = writeln!(
            out,
            "\nparse + serialise / ours: {:.1}×; with verify {:.1}×",
            parse / apply,
            parse / whole
        );
        match node {
            Some(time) => drop(writeln!(
                out,
                "Node / ours: {:.1}×; with verify {:.1}×",
                time / apply,
                time / whole
            )),
            None => drop(writeln!(out, "Node / ours: node is not installed")),
        }
        let (peak, kept) = peak_memory(&body, &policy);
        let _ = writeln!(
            out,
            "peak extra memory of a prune: {peak:.2} × the body (output included)"
        );
        let _ = writeln!(out, "the same when not eligible: {kept:.3} × the body");
        prune_times.push(whole);
    }
    let _ = writeln!(
        out,
        "\nTime of 2 MB / 200 KB: {:.1}×",
        prune_times[2] / prune_times[1]
    );
    println!("{out}");
    if write {
        let head = format!(
            "# The engine against parsers\n\n`cargo bench -p secateur-core --bench engine -- --write` on {}.\n",
            machine::name()
        );
        std::fs::write(
            concat!(env!("CARGO_MANIFEST_DIR"), "/benches/RESULTS.md"),
            head + &out,
        )
        .expect("writable");
    }
}

/// Most bytes allocated at once during a prune, over the body; and the same for a body that is not
/// eligible.
fn peak_memory(body: &[u8], policy: &Policy) -> (f64, f64) {
    let measure = |policy: &Policy| {
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let outcome = prune(body, &request(), policy);
        let peak = ALLOCATOR.peak_usage() - before;
        drop(outcome);
        peak as f64 / body.len() as f64
    };
    let mut closed = policy.clone();
    closed.m7.min_messages = usize::MAX;
    closed.m7.min_body_chars = usize::MAX;
    (measure(policy), measure(&closed))
}
