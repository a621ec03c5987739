//! Cache markers on a generated request: as clients set them, and as no client should.

use secateur_core::Dialect;

use crate::json::Json;

/// A request with the markers that the two bytes decide: `pattern` where they are, `pick` what they say and which
/// blocks the odd ones are on. Pattern 0 adds none.
pub(crate) fn add(mut request: Json, dialect: Dialect, pattern: u8, pick: u8) -> Json {
    let (list, key) = match dialect {
        Dialect::OpenaiResponses => ("input", "prompt_cache_breakpoint"),
        Dialect::OpenaiChat if pick & 1 == 1 => ("messages", "prompt_cache_breakpoint"),
        Dialect::OpenaiChat | Dialect::AnthropicMessages => ("messages", "cache_control"),
        _ => return request,
    };
    let marker = marker(key, pick >> 1);
    if pattern % 16 == 6 {
        return request.with(key, marker);
    }
    if pattern % 16 == 7 {
        let explicit = Json::object([("mode", "explicit".into())]);
        request = request.with("prompt_cache_options", explicit);
    }
    let Some(messages) = elements(&mut request, list) else {
        return request;
    };
    let last = messages.len().saturating_sub(1);
    let chosen: Vec<usize> = match pattern % 16 {
        0 | 1 => Vec::new(),
        2 | 3 | 7 => vec![last],
        4 => vec![last.saturating_sub(1), last],
        5 => vec![0, last],
        8 => vec![0, last / 2, last],
        9 => (0..5).map(|back| last.saturating_sub(back)).collect(),
        10 => (0..=last).collect(),
        _ => vec![usize::from(pick) % (last + 1), last],
    };
    for at in chosen {
        let Some(message) = messages.get_mut(at) else {
            continue;
        };
        // Some markers go on the message itself, where no provider knows them.
        if pattern % 16 == 11 {
            put(message, key, &marker, pick);
        } else if let Some(blocks) = elements(message, "content") {
            let at = if pattern % 16 == 12 {
                0
            } else {
                blocks.len() - 1
            };
            put(&mut blocks[at], key, &marker, pick);
        }
    }
    request
}

/// What a marker says: mostly what providers know.
fn marker(key: &str, pick: u8) -> Json {
    let kind = ("type", Json::text("ephemeral"));
    match pick % 12 {
        8 => Json::Null,
        9 => Json::Num("1".into()),
        10 => Json::Arr(vec![Json::text("ephemeral")]),
        11 => Json::object([kind, ("ttl", "2d".into())]),
        6 | 7 => Json::object([kind, ("ttl", "1h".into())]),
        5 => Json::object([kind, ("ttl", "5m".into())]),
        _ if key == "prompt_cache_breakpoint" => Json::object([("mode", "explicit".into())]),
        _ => Json::object([kind]),
    }
}

fn put(object: &mut Json, key: &str, marker: &Json, pick: u8) {
    if let Json::Obj(members) = object {
        // Twice in one block is rare.
        let times = if pick > 240 { 2 } else { 1 };
        for _ in 0..times {
            members.push((key.to_owned(), marker.clone()));
        }
    }
}

/// The elements of an object's member, where it is an array with any.
fn elements<'j>(object: &'j mut Json, key: &str) -> Option<&'j mut Vec<Json>> {
    let Json::Obj(members) = object else {
        return None;
    };
    let found = members.iter_mut().find(|(name, _)| name == key);
    match found {
        Some((_, Json::Arr(elements))) if !elements.is_empty() => Some(elements),
        _ => None,
    }
}
