//! Three sessions, made up from a small vocabulary by a counter: the same on every machine.

use serde_json::{Value, json};

/// A session: the bodies of its requests, in order.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) name: &'static str,
    /// The preset that suits it.
    pub(super) preset: &'static str,
    pub(super) path: &'static str,
    pub(super) requests: Vec<String>,
}

impl Session {
    pub(super) fn all() -> Vec<Self> {
        vec![coding_agent(), support_chat(), retrieval()]
    }
}

/// Marks the document that answers a question, so that tests can look for it.
const ANSWER: &str = "answer";

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
            json!({"model": "claude-sonnet-4-5", "max_tokens": 4096, "cache_control": {"type": "ephemeral"}, "system": system, "tools": tools, "stream": true, "messages": messages})
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
            _ => {
                // The tests of what was worked on: a call that is repeated word for word after its result was cut is a sign of
                // harm, and here nothing is missed.
                let module = path.trim_end_matches(".rs").rsplit('/').next();
                let command = format!("cargo test {}", module.unwrap_or(path));
                ("Bash", json!({"command": command}), test_log(&mut dice, 90))
            }
        };
        messages.push(json!({"role": "assistant", "content": [
            {"type": "text", "text": dice.sentence(14)},
            {"type": "tool_use", "id": id, "name": name, "input": input}]}));
        messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": result}]}));
    }
    Session {
        name: "long coding agent",
        preset: "steady",
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
        preset: "steady",
        path: "/v1/chat/completions",
        requests,
    }
}

/// What documents are about, and what can be asked of it.
const SUBJECTS: [&str; 16] = [
    "billing gateway",
    "harbour crane",
    "parcel sorter",
    "night train",
    "boiler house",
    "seed archive",
    "ticket office",
    "solar field",
    "river lock",
    "paint shop",
    "signal tower",
    "cold store",
    "grain elevator",
    "ferry landing",
    "print works",
    "water tower",
];
const QUALITIES: [&str; 8] = [
    "retry limit",
    "opening hour",
    "maximum load",
    "inspection interval",
    "floor area",
    "spare part number",
    "annual budget",
    "operating temperature",
];

/// A document: what it says of one quality of one subject, and talk about the subject around it.
fn document(dice: &mut Dice, subject: &str, quality: &str) -> String {
    let value = 10 + dice.roll(9000);
    let before = dice.sentence(24);
    let after = dice.sentence(36);
    format!("Notes on the {subject}. {before} The {quality} of the {subject} is {value}. {after}")
}

/// Questions over documents, of which one holds the answer, some share a word with the question, and most
/// are about something else.
fn retrieval() -> Session {
    const DOCUMENTS: usize = 20;
    let mut dice = Dice(13);
    let instruction = json!({"parts": [{"text": "Answer from the documents only."}]});
    let mut contents: Vec<Value> = Vec::new();
    let mut requests = Vec::new();
    for question in 0..12 {
        let (subject, quality) = (dice.pick(&SUBJECTS), dice.pick(&QUALITIES));
        let place = dice.roll(DOCUMENTS);
        let documents: String = (0..DOCUMENTS)
            .map(|number| {
                let text = if number == place {
                    document(&mut dice, subject, quality)
                } else {
                    let others = |words: &[&'static str], asked: &str| -> Vec<&'static str> {
                        words
                            .iter()
                            .copied()
                            .filter(|word| *word != asked)
                            .collect()
                    };
                    let about = dice.pick(&others(&SUBJECTS, subject));
                    let says = dice.pick(&others(&QUALITIES, quality));
                    match number % 6 {
                        0 => document(&mut dice, subject, says),
                        1 => document(&mut dice, about, quality),
                        _ => document(&mut dice, about, says),
                    }
                };
                let id = if number == place { ANSWER } else { "other" };
                format!("<document id=\"{question}-{number}-{id}\">{text}</document>\n")
            })
            .collect();
        let asked = format!("What is the {quality} of the {subject}?");
        contents.push(
            json!({"role": "user", "parts": [{"text": format!("{documents}\nQuestion: {asked}")}]}),
        );
        requests.push(json!({"systemInstruction": instruction, "contents": contents}).to_string());
        contents.push(json!({"role": "model", "parts": [{"text": dice.sentence(50)}]}));
    }
    Session {
        name: "retrieval",
        preset: "steady-rag",
        path: "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        requests,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secateur_core::policy::Policy;
    use secateur_core::{Request, prune};
    use secateur_mock::{Api, check};

    #[test]
    fn every_answer_stays_in_fewer_documents_and_the_prefix_too() {
        let session = retrieval();
        let policy = Policy::preset(session.preset).unwrap();
        let (mut documents, mut kept) = (0, 0);
        let mut before = String::new();
        for (asked, body) in session.requests.iter().enumerate() {
            let outcome = prune(body.as_bytes(), &Request::default(), &policy);
            let text = std::str::from_utf8(&outcome.body).unwrap();
            assert_eq!(text.matches("-answer").count(), asked + 1);
            assert!(text.starts_with(&before), "what was sent has changed");
            let (contents, _) = text.split_once("],\"systemInstruction\"").unwrap();
            contents.clone_into(&mut before);
            documents += body.matches("<document").count();
            kept += text.matches("<document").count();
        }
        assert!(kept * 10 < documents * 7, "{kept} of {documents} stay");
    }

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
