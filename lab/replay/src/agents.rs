//! What the requests of real agents still hold: one recorded session of each, as JSON lines with the exact body of every
//! request under `body`.
//!
//! A row for each session: what its input costs against no pruning, by the rules of the provider's cache; the share of
//! outcome lines kept in the last request, and of the files that were read for the
//! first time the smallest share of lines that reached the model.

use std::collections::HashSet;
use std::path::Path;

use secateur_core::Limits;
use secateur_core::cost::Terms;
use secateur_core::cost::cache::{BlockList, SimulatedCache};
use secateur_core::dialect::{self, Dialect};
use secateur_core::internal::view::{PartId, PartKind, View};
use secateur_core::models::chars_per_token;
use secateur_core::policy::{Policy, PolicyError};
use secateur_core::{Request, prune};
use secateur_replay::outcomes::{outcome_lines, runs_commands};
use serde_json::Value;

use crate::bench::resolve;

/// A result as it was sent to the engine, and what came out of it.
struct Pair {
    tool: String,
    args: String,
    id: usize,
    before: String,
    after: String,
}

/// One request.
struct Exchange {
    results: Vec<Pair>,
    /// All texts of the output.
    sent: String,
}

/// What a session's input costs, without pruning and with it.
#[derive(Default)]
struct Bills {
    caches: [SimulatedCache; 2],
    costs: [f64; 2],
}

impl Bills {
    fn add(&mut self, row: &Value, dialect: Dialect, bodies: [&[u8]; 2]) {
        let path = row["path"].as_str().unwrap_or_default();
        if path.contains("count_tokens") || path.contains("countTokens") {
            return;
        }
        let in_path = path.split_once("/models/").map(|(_, rest)| rest);
        let in_path = in_path.and_then(|rest| rest.split(':').next());
        for (side, body) in bodies.into_iter().enumerate() {
            let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
            let model = parsed["model"].as_str().or(in_path).unwrap_or_default();
            let terms = Terms::of(Some(model), Some(dialect));
            let Ok(prompt) = BlockList::of(body, dialect, terms.rules.kind) else {
                continue;
            };
            let tokens = |bytes: usize| bytes as f64 / chars_per_token(Some(model));
            let cache = &mut self.caches[side];
            let billed = cache.request(&terms.rules, model, &prompt, 0.0, tokens);
            self.costs[side] += billed.bill.cost(terms.cache);
        }
    }
}

pub fn print(setting: &str, paths: impl Iterator<Item = String>) -> Result<(), PolicyError> {
    let policy = resolve(setting)?;
    println!("{:28} bill   outcomes            first reads", setting);
    for path in paths {
        match std::fs::read_to_string(Path::new(&path)) {
            Ok(rows) => print_one(&path, &rows, &policy),
            Err(error) => println!("{path}: {error}"),
        }
    }
    Ok(())
}

fn print_one(path: &str, rows: &str, policy: &Policy) {
    let name = Path::new(path).file_stem().unwrap_or_default();
    let mut bills = Bills::default();
    let requests: Vec<Exchange> = rows
        .lines()
        .filter_map(|row| exchange(row, policy, &mut bills))
        .collect();
    let longest = requests.iter().max_by_key(|request| request.results.len());
    let (mut lines, mut kept) = (0, 0);
    let changed = |pair: &&Pair| pair.before != pair.after && runs_commands(&pair.tool);
    if let Some(request) = longest {
        for pair in request.results.iter().filter(changed) {
            for line in outcome_lines(&pair.before) {
                lines += 1;
                kept += usize::from(request.sent.contains(line));
            }
        }
    }
    let (reads, least) = first_reads(&requests);
    println!(
        "{:28} {:.3}  {kept:3} of {lines:3} kept     {reads} files, at least {least} % of the lines",
        name.to_string_lossy(),
        bills.costs[1] / bills.costs[0]
    );
}

/// How many files were read for the first time, and the smallest share of their lines that was sent, in percent.
fn first_reads(requests: &[Exchange]) -> (usize, usize) {
    let (mut known, mut files) = (HashSet::new(), HashSet::new());
    let mut least = 100;
    for request in requests {
        for pair in &request.results {
            if !known.insert(pair.id) {
                continue;
            }
            let Some(file) = file_of(pair).filter(|_| pair.before.lines().count() > 3) else {
                continue;
            };
            if files.insert(file) {
                let lines: Vec<&str> = pair.before.lines().map(str::trim).collect();
                let there = lines
                    .iter()
                    .filter(|line| request.sent.contains(text_of(line)));
                least = least.min(there.count() * 100 / lines.len().max(1));
            }
        }
    }
    (files.len(), least)
}

/// A line without the number in front of it.
fn text_of(line: &str) -> &str {
    let text = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if text.len() == line.len() {
        return line;
    }
    text.trim_start_matches([':', '\t', '→', ' '])
}

/// The file that a call shows whole: by a tool that reads, or by `cat`.
fn file_of(pair: &Pair) -> Option<String> {
    let args: Value = serde_json::from_str(&pair.args).unwrap_or_default();
    if pair.tool.to_lowercase().starts_with("read") {
        let keys = ["file_path", "filePath", "path"];
        let path = keys.iter().find_map(|key| args[key].as_str())?;
        return Some(path.to_owned());
    }
    let (_, rest) = pair.args.split_once("\"cat ")?;
    let (path, _) = rest.split_once('"')?;
    Some(path.to_owned())
}

fn exchange(row: &str, policy: &Policy, bills: &mut Bills) -> Option<Exchange> {
    let row: Value = serde_json::from_str(row).ok()?;
    let body = match &row["body"] {
        Value::String(body) => body.clone(),
        other => other.to_string(),
    };
    let limits = Limits::default();
    let dialect = dialect::detect(body.as_bytes(), &limits).ok()?;
    let outcome = prune(body.as_bytes(), &Request::default(), policy);
    bills.add(&row, dialect, [body.as_bytes(), &outcome.body]);
    let before = dialect::read(body.as_bytes(), dialect, &limits).ok()?;
    let after = dialect::read(&outcome.body, dialect, &limits).ok()?;
    let (was, is) = (results(&before), results(&after));
    let exchanges = before.exchanges();
    let results = was.iter().zip(&is).enumerate().map(|(id, (was, is))| {
        let call = exchanges.call_of(*was);
        let name = call
            .and_then(|call| before.name(call))
            .or_else(|| before.name(*was));
        Pair {
            tool: name.unwrap_or_default().into_owned(),
            args: call
                .map(|call| before.args(call).into_owned())
                .unwrap_or_default(),
            id,
            before: before.text(*was).into_owned(),
            after: after.text(*is).into_owned(),
        }
    });
    let texts: Vec<_> = after.part_ids().map(|part| after.text(part)).collect();
    Some(Exchange {
        results: results.collect(),
        sent: texts.join("\n"),
    })
}

fn results(view: &View<'_>) -> Vec<PartId> {
    let is_result = |part: &PartId| view.part(*part).kind == PartKind::Result;
    view.part_ids().filter(is_result).collect()
}
