//! The scorer that needs nobody.
//!
//! - One answer calls tools and the other does not: 0. Both call: calls of the same tool are paired in
//!   order, each pair scores the agreement of its arguments, and the sum is divided by the larger
//!   number of calls. Text beside calls does not count.
//! - Both texts are JSON objects or arrays: the agreement of their shape. Only one is: 0.
//! - Else: the agreement of the texts.
//!
//! Agreement of arguments: equal JSON values 1; objects, the mean over all keys of either; arrays, the
//! sum over the places divided by the longer length; texts, their agreement; anything else 0.
//! Agreement of shape is the same, except that values of one type agree whatever they are, and arrays
//! agree by the elements that both have.

use std::collections::BTreeSet;

use serde_json::Value;

use super::similarity::agreement;
use crate::reply::{Reply, ToolCall};

/// How alike two answers are, 0 to 1.
#[must_use]
pub fn score(pruned: &Reply, original: &Reply) -> f64 {
    match (pruned.calls.is_empty(), original.calls.is_empty()) {
        (true, true) => text(&pruned.text, &original.text),
        (false, false) => calls(&pruned.calls, &original.calls),
        _ => 0.0,
    }
}

fn calls(pruned: &[ToolCall], original: &[ToolCall]) -> f64 {
    let mut left: Vec<&ToolCall> = original.iter().collect();
    let mut sum = 0.0;
    for call in pruned {
        let same = |other: &&ToolCall| other.name == call.name;
        // An equal call further on is a better partner than the first of that name.
        let equal = left.iter().position(|other| *other == call);
        if let Some(at) = equal.or_else(|| left.iter().position(same)) {
            sum += args(&call.args, &left.remove(at).args);
        }
    }
    sum / pruned.len().max(original.len()) as f64
}

fn text(pruned: &str, original: &str) -> f64 {
    match (json(pruned), json(original)) {
        (Some(one), Some(other)) => shape(&one, &other),
        (None, None) => agreement(pruned, original),
        _ => 0.0,
    }
}

/// A text that is a JSON object or array, also in a fence.
fn json(text: &str) -> Option<Value> {
    let text = text.trim();
    let inner = text.strip_prefix("```json").or(text.strip_prefix("```"));
    let text = match inner.and_then(|inner| inner.strip_suffix("```")) {
        Some(inner) => inner.trim(),
        None => text,
    };
    if !text.starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(text).ok()
}

fn args(one: &Value, other: &Value) -> f64 {
    if one == other {
        return 1.0;
    }
    match (one, other) {
        (Value::Object(_), Value::Object(_)) => members(one, other, args),
        (Value::Array(ones), Value::Array(others)) => {
            let sum: f64 = ones
                .iter()
                .zip(others)
                .map(|(one, other)| args(one, other))
                .sum();
            sum / ones.len().max(others.len()) as f64
        }
        (Value::String(one), Value::String(other)) => agreement(one, other),
        (Value::Number(one), Value::Number(other)) => {
            // `1` and `1.0` are one number.
            f64::from(u8::from(one.as_f64() == other.as_f64()))
        }
        _ => 0.0,
    }
}

fn shape(one: &Value, other: &Value) -> f64 {
    match (one, other) {
        (Value::Object(_), Value::Object(_)) => members(one, other, shape),
        (Value::Array(ones), Value::Array(others)) => {
            let both = ones.len().min(others.len());
            if both == 0 {
                return 1.0;
            }
            let sum: f64 = ones
                .iter()
                .zip(others)
                .map(|(one, other)| shape(one, other))
                .sum();
            sum / both as f64
        }
        (Value::String(_), Value::String(_))
        | (Value::Number(_), Value::Number(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Null, Value::Null) => 1.0,
        _ => 0.0,
    }
}

/// The mean over the keys of either object; a key that only one has counts 0.
fn members(one: &Value, other: &Value, of: fn(&Value, &Value) -> f64) -> f64 {
    let keys = |value: &Value| -> BTreeSet<String> {
        value
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, _)| key.clone())
            .collect()
    };
    let all: BTreeSet<String> = keys(one).union(&keys(other)).cloned().collect();
    if all.is_empty() {
        return 1.0;
    }
    let sum: f64 = all
        .iter()
        .filter_map(|key| Some(of(one.get(key)?, other.get(key)?)))
        .sum();
    sum / all.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn says(text: &str) -> Reply {
        Reply {
            text: text.into(),
            calls: Vec::new(),
        }
    }

    fn calls_of(calls: &[(&str, Value)]) -> Reply {
        let call = |(name, args): &(&str, Value)| ToolCall {
            name: (*name).to_owned(),
            args: args.clone(),
        };
        Reply {
            text: String::new(),
            calls: calls.iter().map(call).collect(),
        }
    }

    fn check(pruned: &Reply, original: &Reply, expected: f64) {
        let found = score(pruned, original);
        assert!(
            (found - expected).abs() < 1e-9,
            "{found} for {pruned:?} and {original:?}"
        );
        let found = score(original, pruned);
        assert!(
            (found - expected).abs() < 1e-9,
            "{found} the other way round"
        );
    }

    #[test]
    fn calls_are_compared_as_json_values() {
        let read = |path: &str, limit: Value| ("read", json!({"path": path, "limit": limit}));
        let one = calls_of(&[read("a.rs", json!(1))]);
        check(&one, &calls_of(&[read("a.rs", json!(1.0))]), 1.0);
        check(&one, &calls_of(&[read("b.py", json!(1))]), 0.5);
        check(
            &one,
            &calls_of(&[("write", json!({"path": "a.rs", "limit": 1}))]),
            0.0,
        );
        check(&one, &says("I am done."), 0.0);
        check(
            &one,
            &calls_of(&[read("a.rs", json!(1)), read("c.go", json!(1))]),
            0.5,
        );
    }

    #[test]
    fn parallel_calls_in_another_order_are_the_same() {
        let (a, b) = (("grep", json!({"q": "a"})), ("grep", json!({"q": "b"})));
        check(&calls_of(&[a.clone(), b.clone()]), &calls_of(&[b, a]), 1.0);
    }

    #[test]
    fn json_answers_agree_by_shape() {
        let one = says(r#"{"name":"x","tags":["a","b"],"n":1}"#);
        check(
            &one,
            &says("```json\n{\"name\":\"other\",\"tags\":[\"c\"],\"n\":2.5}\n```"),
            1.0,
        );
        check(&one, &says(r#"{"name":"x","tags":["a"]}"#), 2.0 / 3.0);
        check(&one, &says(r#"{"name":"x","tags":"a","n":1}"#), 2.0 / 3.0);
        check(&one, &says("The name is x."), 0.0);
    }

    #[test]
    fn the_preamble_of_a_call_does_not_count() {
        let mut one = calls_of(&[("list", json!({}))]);
        one.text = "Let me look at the folder first.".into();
        check(&one, &calls_of(&[("list", json!({}))]), 1.0);
    }
}
