//! Three sessions, made up from a small vocabulary by a counter: the same on every machine.

use serde_json::{Value, json};

/// A session: the bodies of its requests, in order.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    pub(super) requests: Vec<String>,
}

impl Session {
    pub(super) fn all() -> Vec<Self> {
        vec![coding_agent(), support_chat(), retrieval()]
    }
}

/// Numbers that look random and are not.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }

    fn pick<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words
            .get(self.roll(words.len()))
            .copied()
            .unwrap_or_default()
    }

    fn sentence(&mut self, words: usize) -> String {
        let mut out: Vec<&str> = (0..words).map(|_| self.pick(&WORDS)).collect();
        if out.is_empty() {
            out.push("so");
        }
        let mut text = out.join(" ");
        text.push('.');
        text
    }
}

const WORDS: [&str; 32] = [
    "the",
    "parser",
    "returns",
    "an",
    "order",
    "before",
    "delivery",
    "when",
    "customer",
    "account",
    "is",
    "missing",
    "invoice",
    "refund",
    "queue",
    "and",
    "retry",
    "limit",
    "with",
    "cache",
    "region",
    "token",
    "that",
    "expires",
    "after",
    "update",
    "of",
    "shipping",
    "address",
    "report",
    "from",
    "warehouse",
];
const FILES: [&str; 8] = [
    "src/order.rs",
    "src/invoice.rs",
    "src/queue.rs",
    "src/retry.rs",
    "tests/orders.rs",
    "src/region.rs",
    "src/lib.rs",
    "src/http/client.rs",
];

/// The lines of a file.
fn code(dice: &mut Dice, lines: usize) -> Vec<String> {
    let line = |_| {
        let (one, two, three) = (dice.pick(&WORDS), dice.pick(&WORDS), dice.roll(9000));
        format!("    let {one}_{two} = {one}.{two}({three})?;")
    };
    (0..lines).map(line).collect()
}

/// Lines as an agent reads them.
fn listing(lines: &[String], from: usize, count: usize) -> String {
    let shown = lines.iter().enumerate().skip(from).take(count);
    shown
        .map(|(at, line)| format!("{:>6}→{line}\n", at + 1))
        .collect()
}

/// A test run as an agent sees it.
fn test_log(dice: &mut Dice, tests: usize) -> String {
    let mut out = format!("running {tests} tests\n");
    for _ in 0..tests {
        let (one, two) = (dice.pick(&WORDS), dice.pick(&WORDS));
        let verdict = if dice.roll(12) == 0 { "FAILED" } else { "ok" };
        out += &format!(
            "test orders::{one}_{two}_{} ... {verdict}\n",
            dice.roll(1000)
        );
    }
    out
}

/// Reads files, edits them, reads them again, runs the tests: what coding agents do all day.
fn coding_agent() -> Session {
    let mut dice = Dice(7);
    let tool = |name: &str, key: &str| json!({"name": name, "description": format!("{name}s."), "input_schema": {"type": "object", "properties": {key: {"type": "string"}}}});
    let tools = json!([
        tool("Read", "file_path"),
        tool("Edit", "file_path"),
        tool("Bash", "command")
    ]);
    let system = format!("You are a careful engineer. {}", dice.sentence(400));
    let mut files: Vec<Vec<String>> = FILES
        .iter()
        .map(|_| {
            let lines = 60 + dice.roll(180);
            code(&mut dice, lines)
        })
        .collect();
    let mut messages = vec![
        json!({"role": "user", "content": "Orders from closed regions are still shipped. Find out why and fix it."}),
    ];
    let mut requests = Vec::new();
    for step in 0..48 {
        requests.push(
            json!({"model": "claude-sonnet-4-5", "max_tokens": 4096, "system": system, "tools": tools, "stream": true, "messages": messages})
                .to_string(),
        );
        if step % 12 == 11 {
            messages.push(json!({"role": "assistant", "content": format!("Done so far: {}", dice.sentence(30))}));
            messages.push(json!({"role": "user", "content": format!("Good. Now also this: {}", dice.sentence(12))}));
            continue;
        }
        let id = format!("toolu_{step:04}");
        // Work stays with a file for a while.
        let at = (step / 5 + dice.roll(2)) % FILES.len();
        let (path, lines) = (FILES[at], &mut files[at]);
        let (name, input, result) = match step % 4 {
            0 | 2 => (
                "Read",
                json!({"file_path": path}),
                listing(lines, 0, lines.len()),
            ),
            1 => {
                let line = dice.roll(lines.len());
                let new = code(&mut dice, 2).join("\n");
                let input =
                    json!({"file_path": path, "old_string": lines[line], "new_string": new});
                lines.splice(line..=line, new.lines().map(str::to_owned));
                let shown = listing(lines, line.saturating_sub(4), 10);
                (
                    "Edit",
                    input,
                    format!("The file {path} has been updated:\n{shown}"),
                )
            }
            _ => (
                "Bash",
                json!({"command": "cargo test"}),
                test_log(&mut dice, 90),
            ),
        };
        messages.push(json!({"role": "assistant", "content": [
            {"type": "text", "text": dice.sentence(14)},
            {"type": "tool_use", "id": id, "name": name, "input": input}]}));
        messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": result}]}));
    }
    Session {
        name: "long coding agent",
        path: "/v1/messages",
        requests,
    }
}

fn support_chat() -> Session {
    let mut dice = Dice(11);
    let mut messages = vec![
        json!({"role": "system", "content": format!("You help customers of a shop. {}", dice.sentence(120))}),
    ];
    let mut requests = Vec::new();
    for _ in 0..30 {
        let words = 15 + dice.roll(40);
        messages.push(json!({"role": "user", "content": dice.sentence(words)}));
        requests.push(
            json!({"model": "gpt-5", "messages": messages, "stream": true, "stream_options": {"include_usage": true}}).to_string(),
        );
        let words = 40 + dice.roll(120);
        messages.push(json!({"role": "assistant", "content": dice.sentence(words)}));
    }
    Session {
        name: "support chat",
        path: "/v1/chat/completions",
        requests,
    }
}

fn retrieval() -> Session {
    let mut dice = Dice(13);
    let instruction = json!({"parts": [{"text": "Answer from the documents only."}]});
    let mut contents: Vec<Value> = Vec::new();
    let mut requests = Vec::new();
    for question in 0..12 {
        let documents: String = (1..=20)
            .map(|number| {
                format!(
                    "<document id=\"{question}-{number}\">{}</document>\n",
                    dice.sentence(70)
                )
            })
            .collect();
        let asked = dice.sentence(10);
        contents.push(
            json!({"role": "user", "parts": [{"text": format!("{documents}\nQuestion: {asked}")}]}),
        );
        requests.push(json!({"systemInstruction": instruction, "contents": contents}).to_string());
        contents.push(json!({"role": "model", "parts": [{"text": dice.sentence(50)}]}));
    }
    Session {
        name: "retrieval",
        path: "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        requests,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secateur_mock::{Api, check};

    #[test]
    fn sessions_are_the_same_every_time_and_valid() {
        for (session, again) in Session::all().iter().zip(Session::all()) {
            assert_eq!(session.requests, again.requests);
            let api = match session.path {
                path if path.contains("messages") => Api::Messages,
                path if path.contains("chat") => Api::Chat,
                _ => Api::Gemini,
            };
            for request in &session.requests {
                check(api, &serde_json::from_str(request).unwrap()).unwrap();
            }
        }
    }
}
