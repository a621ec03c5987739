//! One conversation, written in any of the four dialects, and the checks that every test makes on it.

use secateur_core::Dialect;
use secateur_core::policy::Policy;
use secateur_core::report::Verdict;
use secateur_core::{Outcome, Request, prune};
use serde_json::{Value, json};

/// What happens in a conversation.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    User(String),
    Assistant(String),
    /// Thinking, then text.
    Thought(String, String),
    /// A call and its result.
    Tool {
        name: &'static str,
        args: Value,
        result: String,
        is_error: bool,
    },
}

pub(crate) fn user(text: impl Into<String>) -> Step {
    Step::User(text.into())
}

pub(crate) fn assistant(text: impl Into<String>) -> Step {
    Step::Assistant(text.into())
}

pub(crate) fn tool(name: &'static str, args: Value, result: impl Into<String>) -> Step {
    Step::Tool {
        name,
        args,
        result: result.into(),
        is_error: false,
    }
}

pub(crate) fn failed(name: &'static str, args: Value, result: impl Into<String>) -> Step {
    Step::Tool {
        name,
        args,
        result: result.into(),
        is_error: true,
    }
}

/// The body of a request, with a system text if there is one.
pub(crate) fn body(dialect: Dialect, system: &str, steps: &[Step]) -> String {
    let turns: Vec<Value> = steps
        .iter()
        .enumerate()
        .flat_map(|(at, step)| turns(dialect, at, step))
        .collect();
    let mut body = json!({"model": "some-model"});
    body[dialect.facts().list_key] = Value::Array(turns);
    if !system.is_empty() {
        match dialect {
            Dialect::OpenaiResponses => body["instructions"] = json!(system),
            Dialect::AnthropicMessages => body["system"] = json!(system),
            Dialect::GeminiGenerateContent => {
                body["systemInstruction"] = json!({"parts": [{"text": system}]});
            }
            _ => {
                let list = body["messages"].as_array_mut().unwrap();
                list.insert(0, json!({"role": "system", "content": system}));
            }
        }
    }
    body.to_string()
}

fn turns(dialect: Dialect, at: usize, step: &Step) -> Vec<Value> {
    let id = format!("call_{at}");
    match (dialect, step) {
        (Dialect::GeminiGenerateContent, Step::User(text)) => {
            vec![json!({"role": "user", "parts": [{"text": text}]})]
        }
        (Dialect::GeminiGenerateContent, Step::Assistant(text)) => {
            vec![json!({"role": "model", "parts": [{"text": text}]})]
        }
        (Dialect::GeminiGenerateContent, Step::Thought(thought, text)) => vec![
            json!({"role": "model", "parts": [{"text": thought, "thought": true}, {"text": text}]}),
        ],
        (_, Step::User(text)) => vec![json!({"role": "user", "content": text})],
        (_, Step::Assistant(text)) => vec![json!({"role": "assistant", "content": text})],
        (Dialect::AnthropicMessages, Step::Thought(thought, text)) => {
            vec![json!({"role": "assistant", "content": [
                {"type": "thinking", "thinking": thought, "signature": "c2ln"},
                {"type": "text", "text": text}]})]
        }
        (Dialect::OpenaiResponses, Step::Thought(thought, text)) => vec![
            json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": thought}),
            json!({"role": "assistant", "content": text}),
        ],
        (_, Step::Thought(thought, text)) => vec![json!({"role": "assistant", "content": [
                {"type": "thinking", "thinking": thought}, {"type": "text", "text": text}]})],
        (_, Step::Tool { .. }) => exchange(dialect, &id, step),
    }
}

fn exchange(dialect: Dialect, id: &str, step: &Step) -> Vec<Value> {
    let Step::Tool {
        name,
        args,
        result,
        is_error,
    } = step
    else {
        return Vec::new();
    };
    match dialect {
        Dialect::AnthropicMessages => vec![
            json!({"role": "assistant", "content": [
                {"type": "tool_use", "id": id, "name": name, "input": args}]}),
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": result, "is_error": is_error}]}),
        ],
        Dialect::OpenaiResponses => vec![
            json!({"type": "function_call", "call_id": id, "name": name, "arguments": args.to_string()}),
            json!({"type": "function_call_output", "call_id": id, "output": result}),
        ],
        Dialect::GeminiGenerateContent => {
            let key = if *is_error { "error" } else { "output" };
            vec![
                json!({"role": "model", "parts": [{"functionCall": {"name": name, "args": args}}]}),
                json!({"role": "user", "parts": [
                    {"functionResponse": {"name": name, "response": {key: result}}}]}),
            ]
        }
        _ => vec![
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": id, "type": "function",
                 "function": {"name": name, "arguments": args.to_string()}}]}),
            json!({"role": "tool", "tool_call_id": id, "content": result}),
        ],
    }
}

/// A policy that always runs these strategies, with these settings on top.
pub(crate) fn policy(strategies: &[&str], settings: &str) -> Policy {
    let list: Vec<String> = strategies.iter().map(|id| format!("{id:?}")).collect();
    let text = format!(
        "[m7]\nenabled = true\nmin_messages = 0\nmin_body_chars = 0\nstrategies = [{}]\n{settings}",
        list.join(", ")
    );
    Policy::resolve(None, Some(&text), &[]).unwrap()
}

pub(crate) fn run<'a>(dialect: Dialect, body: &'a str, policy: &Policy) -> Outcome<'a> {
    let request = Request {
        dialect: Some(dialect),
        ..Request::default()
    };
    let outcome = prune(body.as_bytes(), &request, policy);
    assert!(outcome.error.is_none(), "{dialect}: {:?}", outcome.error);
    outcome
}

/// Prunes, checks that the output is smaller and that pruning it again changes nothing.
pub(crate) fn pruned(dialect: Dialect, body: &str, policy: &Policy) -> String {
    let outcome = run(dialect, body, policy);
    assert_eq!(
        outcome.report.verdict,
        Verdict::Pruned,
        "{dialect}: {:?}",
        outcome.report.plan
    );
    let out = String::from_utf8(outcome.body.into_owned()).unwrap();
    assert!(out.len() < body.len(), "{dialect}");
    assert_eq!(
        run(dialect, &out, policy).body,
        out.as_bytes(),
        "{dialect}: idempotent"
    );
    out
}

/// Checks that nothing is done, and returns the reasons why.
pub(crate) fn untouched(dialect: Dialect, body: &str, policy: &Policy) -> Vec<&'static str> {
    let outcome = run(dialect, body, policy);
    assert_eq!(
        outcome.report.verdict,
        Verdict::Unchanged,
        "{dialect}: {:?}",
        outcome.report.plan
    );
    assert_eq!(outcome.body, body.as_bytes());
    let skips = outcome.report.plan.skips.iter();
    skips.map(|skip| skip.reason.describe()).collect()
}
