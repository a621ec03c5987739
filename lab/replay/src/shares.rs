//! Where the bill is: what each kind of part costs without pruning.

use std::collections::BTreeMap;

use secateur_core::strategy::ToolClass;
use secateur_replay::price::chars_to_tokens;

/// Price of a token read from the cache, and of one written to it.
pub const CACHE_READ: f64 = 0.1;
const CACHE_WRITE: f64 = 1.25;
use secateur_replay::{Part, PartKind, Role, Session};
use serde_json::Value;

/// Shares of the bill without pruning, and of the results' first sight.
pub fn print(sessions: &[Session]) {
    let mut costs: BTreeMap<String, f64> = BTreeMap::new();
    let mut arrivals = 0.0;
    for session in sessions {
        let bounds: Vec<usize> = session.boundaries().collect();
        let Some(&end) = bounds.last() else { continue };
        let price = |first: usize| {
            let later = (bounds.len() - 1 - first) as f64;
            CACHE_WRITE + CACHE_READ * later
        };
        *costs.entry("fixed prompt".to_owned()).or_default() += session.fixed_tokens * price(0);
        for (m, message) in session.messages[..end].iter().enumerate() {
            let first = bounds.partition_point(|&b| b <= m);
            for part in &message.parts {
                for (kind, chars) in pieces(message.role, part) {
                    let tokens = chars_to_tokens(chars);
                    *costs.entry(kind).or_default() += tokens * price(first);
                    if part.kind == PartKind::ToolResult {
                        arrivals += tokens * CACHE_WRITE;
                    }
                }
            }
        }
    }
    let all: f64 = costs.values().sum();
    println!("share of the bill without pruning");
    let mut shares: Vec<(String, f64)> = costs.into_iter().collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (kind, cost) in shares {
        println!("{kind:28} {:.4}", cost / all);
    }
    println!("{:28} {:.4}", "(first sight of results)", arrivals / all);
}

/// The kinds of text in a part, and their characters.
fn pieces(role: Role, part: &Part) -> Vec<(String, usize)> {
    let chars = part.text.chars().count();
    let call = part.call.as_deref();
    let class = call.map_or(ToolClass::Other, |call| ToolClass::of(&call.name));
    match part.kind {
        PartKind::Thinking | PartKind::Opaque => Vec::new(),
        PartKind::Text => vec![(format!("text, {role:?}"), chars)],
        PartKind::ToolResult => vec![(format!("result, {class:?}"), chars)],
        PartKind::ToolUse => {
            let mut pieces: Vec<(String, usize)> = Vec::new();
            for key in ["old_string", "new_string", "content"] {
                let value = call.and_then(|call| call.input.get(key)?.as_str());
                if let Some(text) = value {
                    // As the call spells it.
                    let spelled = Value::from(text).to_string().chars().count();
                    pieces.push((format!("call, {class:?}, {key}"), spelled));
                }
            }
            let named: usize = pieces.iter().map(|(_, chars)| chars).sum();
            pieces.push((format!("call, {class:?}"), chars.saturating_sub(named)));
            pieces
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secateur_replay::ToolCall;
    use std::sync::Arc;

    #[test]
    fn the_pieces_of_a_call_are_all_of_it() {
        let input = serde_json::json!({"path": "a", "old_string": "x\"y\n", "new_string": "z"});
        let text = input.to_string();
        let part = Part {
            kind: PartKind::ToolUse,
            text: text.as_str().into(),
            call: Some(Arc::new(ToolCall {
                id: String::new(),
                name: "Edit".to_owned(),
                input,
            })),
            is_error: false,
        };
        let pieces = pieces(Role::Assistant, &part);
        let sum: usize = pieces.iter().map(|(_, chars)| chars).sum();
        assert_eq!(sum, text.chars().count());
        assert!(pieces.contains(&("call, Edit, old_string".to_owned(), 8)));
    }
}
