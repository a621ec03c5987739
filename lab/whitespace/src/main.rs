//! Runs loose-whitespace over every prompt and tool result of the data folder, checks with code of
//! its own that nothing was harmed, and prints what was saved.
//!
//! `lab-whitespace [data folder]`; the default is `../shared/data`. Exits 1 if anything was harmed.

mod corpus;
mod harm;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use corpus::{Corpus, Place, Session, Text};
use secateur_core::Dialect;
use secateur_core::policy::Policy;
use secateur_core::{Request, prune};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<ExitCode, Failure> {
    let data = std::env::args().nth(1).unwrap_or("../shared/data".into());
    let mut out = std::io::stdout().lock();
    if !Path::new(&data).is_dir() {
        writeln!(out, "no data folder at {data}: nothing measured")?;
        return Ok(ExitCode::SUCCESS);
    }
    let everything =
        policy("compress_tool_text = true\nmin_body_chars = 0\nmin_redundant_pct = 0.0")?;
    let gated = policy("compress_tool_text = true")?;
    let prose_only = policy("")?;
    writeln!(
        out,
        "| corpus | texts | characters | changed | harmed | harmed by the control | saved, no gate | saved, gates | requests that fire | saved without tool text |"
    )?;
    writeln!(
        out,
        "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |"
    )?;
    let mut harmed_in_all = 0;
    for corpus in corpus::load(Path::new(&data))? {
        let texts = check_texts(&corpus, &everything, &mut out)?;
        let with_gates = requests(&corpus, &gated);
        let without_tools = requests(&corpus, &prose_only);
        harmed_in_all += texts.harmed;
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} of {} | {} |",
            corpus.name,
            texts.count,
            texts.chars,
            texts.changed,
            texts.harmed,
            texts.harmed_by_control,
            share(texts.saved, texts.chars),
            share(with_gates.saved, with_gates.chars),
            with_gates.fired,
            with_gates.count,
            share(without_tools.saved, without_tools.chars),
        )?;
    }
    Ok(match harmed_in_all {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

fn policy(settings: &str) -> Result<Policy, Failure> {
    let toggles = "compress_system_enabled = true\ncompress_user_turns_enabled = true";
    Ok(Policy::resolve(
        None,
        Some(&format!("[m3]\n{toggles}\n{settings}\n")),
        &[],
    )?)
}

fn share(part: usize, of: usize) -> String {
    format!("{:.2} %", part as f64 * 100.0 / of.max(1) as f64)
}

#[derive(Default)]
struct Texts {
    count: usize,
    chars: usize,
    changed: usize,
    harmed: usize,
    harmed_by_control: usize,
    saved: usize,
}

/// Each text in a request of its own, without the gates.
fn check_texts(corpus: &Corpus, policy: &Policy, out: &mut impl Write) -> Result<Texts, Failure> {
    let mut sums = Texts::default();
    for text in corpus.sessions.iter().flat_map(|session| &session.texts) {
        sums.count += 1;
        sums.chars += text.text.chars().count();
        let plain = control(&text.text);
        sums.harmed_by_control += usize::from(!harm::harms(&text.text, &plain).is_empty());
        let after = compressed(text, policy)?;
        if after == text.text {
            continue;
        }
        sums.changed += 1;
        sums.saved += text.text.chars().count() - after.chars().count();
        let mut harms = harm::harms(&text.text, &after);
        if compressed(
            &Text {
                place: text.place,
                text: after.clone(),
            },
            policy,
        )? != after
        {
            harms.push(harm::Harm {
                what: "not idempotent",
                before: text.text.chars().take(200).collect(),
                after: after.chars().take(200).collect(),
            });
        }
        if let Some(harm) = harms.first() {
            sums.harmed += 1;
            writeln!(
                out,
                "HARMED in {} ({:?}): {harm:?}",
                corpus.name, text.place
            )?;
        }
    }
    Ok(sums)
}

/// The same three rules without anything that stays verbatim but the start of a line: what the
/// checker has to catch.
fn control(text: &str) -> String {
    let mut out = String::new();
    let mut empty_lines = 0;
    for line in text.split('\n') {
        let line = line.trim_end_matches([' ', '\t', '\r']);
        empty_lines = if line.is_empty() { empty_lines + 1 } else { 0 };
        if empty_lines > 1 {
            continue;
        }
        let rest = line.trim_start_matches([' ', '\t']);
        out.push_str(&line[..line.len() - rest.len()]);
        let mut words = rest.split(' ').filter(|word| !word.is_empty());
        out.extend(words.next());
        for word in words {
            out.push(' ');
            out.push_str(word);
        }
        out.push('\n');
    }
    out.pop();
    out
}

/// The text as it goes out when it stands at its place.
fn compressed(text: &Text, policy: &Policy) -> Result<String, Failure> {
    let body = request(std::slice::from_ref(text)).to_string();
    let known = Request {
        dialect: Some(Dialect::AnthropicMessages),
        ..Request::default()
    };
    let outcome = prune(body.as_bytes(), &known, policy);
    if let Some(error) = outcome.error {
        return Err(error.into());
    }
    let body: Value = serde_json::from_slice(&outcome.body)?;
    let found = match text.place {
        Place::System => &body["system"][0]["text"],
        Place::User => &body["messages"][0]["content"],
        Place::Assistant => &body["messages"][1]["content"],
        Place::ToolResult => &body["messages"][2]["content"][0]["content"],
    };
    Ok(found.as_str().unwrap_or_default().to_owned())
}

/// A request that holds these texts: user, assistant and results in order.
fn request(texts: &[Text]) -> Value {
    let mut system = Vec::new();
    let mut messages = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        let words = &text.text;
        let starts = messages.is_empty() && text.place != Place::User;
        if starts && text.place != Place::System {
            messages.push(json!({"role": "user", "content": "q"}));
        }
        match text.place {
            Place::System => system.push(json!({"type": "text", "text": words})),
            Place::User => messages.push(json!({"role": "user", "content": words})),
            Place::Assistant => messages.push(json!({"role": "assistant", "content": words})),
            Place::ToolResult => {
                messages.push(json!({"role": "assistant", "content": [
                    {"type": "tool_use", "id": format!("t{at}"), "name": "t", "input": {}}]}));
                messages.push(json!({"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": format!("t{at}"), "content": words}]}));
            }
        }
    }
    if messages.is_empty() {
        messages.push(json!({"role": "user", "content": "q"}));
    }
    json!({"model": "m", "system": system, "messages": messages})
}

#[derive(Default)]
struct Requests {
    count: usize,
    fired: usize,
    chars: usize,
    saved: usize,
}

/// Each session as one request, with the gates as they are by default.
fn requests(corpus: &Corpus, policy: &Policy) -> Requests {
    let mut sums = Requests::default();
    let known = Request {
        dialect: Some(Dialect::AnthropicMessages),
        ..Request::default()
    };
    for Session { texts } in &corpus.sessions {
        let body = request(texts).to_string();
        let report = prune(body.as_bytes(), &known, policy).report;
        sums.count += 1;
        sums.chars += report.before.chars;
        if let Some(compress) = report.compress {
            sums.fired += 1;
            sums.saved += compress.chars_saved();
        }
    }
    sums
}
