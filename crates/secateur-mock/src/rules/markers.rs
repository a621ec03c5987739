//! Cache markers: how many, where, and with which lifetimes.

use serde_json::Value;

use crate::cache::max_markers;

/// Anthropic's rules for `cache_control`; a marker of `null` is none.
pub(super) fn check_cache_control(body: &Value) -> Result<(), String> {
    let mut markers = Vec::new();
    for (at, tool) in list(&body["tools"]).iter().enumerate() {
        collect(tool, &format!("tools.{at}"), &mut markers);
    }
    for (at, block) in list(&body["system"]).iter().enumerate() {
        collect(block, &format!("system.{at}"), &mut markers);
    }
    for (at, message) in list(&body["messages"]).iter().enumerate() {
        for (inner, block) in list(&message["content"]).iter().enumerate() {
            let place = format!("messages.{at}.content.{inner}");
            let kind = block["type"].as_str().unwrap_or_default();
            if kind.ends_with("thinking") && !block["cache_control"].is_null() {
                return Err(format!(
                    "{place}.{kind}.cache_control: Extra inputs are not permitted"
                ));
            }
            collect(block, &place, &mut markers);
            for part in list(&block["content"]) {
                collect(part, &place, &mut markers);
            }
        }
    }
    collect(body, "body", &mut markers);
    let most = max_markers();
    if markers.len() > most {
        return Err(format!(
            "A maximum of {most} blocks with cache_control may be provided. Found {}.",
            markers.len()
        ));
    }
    let mut has_short = false;
    for (place, marker) in &markers {
        if marker["type"] != "ephemeral" {
            return Err(format!(
                "{place}.cache_control.type: Input should be 'ephemeral'"
            ));
        }
        match marker["ttl"].as_str() {
            None if marker["ttl"].is_null() => has_short = true,
            Some("5m") => has_short = true,
            Some("1h") if has_short => {
                return Err(format!(
                    "{place}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
                ));
            }
            Some("1h") => {}
            _ => {
                return Err(format!(
                    "{place}.cache_control.ttl: Input should be '5m' or '1h'"
                ));
            }
        }
    }
    Ok(())
}

fn collect<'b>(value: &'b Value, place: &str, markers: &mut Vec<(String, &'b Value)>) {
    match value.get("cache_control") {
        None | Some(Value::Null) => {}
        Some(marker) => markers.push((place.to_owned(), marker)),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// OpenAI's rule for `prompt_cache_breakpoint`: not on models before GPT-5.6.
pub(super) fn check_breakpoints(turns: &Value, model_has_them: bool) -> Result<(), String> {
    for (at, turn) in list(turns).iter().enumerate() {
        for key in ["content", "output"] {
            for (inner, part) in list(&turn[key]).iter().enumerate() {
                let breakpoint = &part["prompt_cache_breakpoint"];
                let place = || format!("input[{at}].{key}[{inner}].prompt_cache_breakpoint");
                if breakpoint.is_null() {
                    continue;
                }
                if !model_has_them {
                    return Err(format!("{}: not supported with this model", place()));
                }
                if breakpoint["mode"] != "explicit" {
                    return Err(format!("{}.mode: invalid value", place()));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn marked(ttls: &[&str]) -> Value {
        let block = |ttl: &&str| {
            let marker = match *ttl {
                "" => json!({"type":"ephemeral"}),
                "null" => Value::Null,
                ttl => json!({"type":"ephemeral","ttl":ttl}),
            };
            json!({"type":"text","text":"a","cache_control":marker})
        };
        let blocks: Vec<Value> = ttls.iter().map(block).collect();
        json!({"messages":[{"role":"user","content":blocks}]})
    }

    #[test]
    fn at_most_four_markers_longer_lifetimes_first() {
        for accepted in [
            &["", "", "", ""][..],
            &["1h", "5m", ""],
            &["", "", "", "", "null"],
        ] {
            check_cache_control(&marked(accepted)).unwrap();
        }
        for rejected in [&["", "", "", "", ""][..], &["5m", "1h"], &["2h"]] {
            assert!(
                check_cache_control(&marked(rejected)).is_err(),
                "{rejected:?}"
            );
        }
        let mut fifth = marked(&["", "", "", ""]);
        fifth["cache_control"] = json!({"type":"ephemeral"});
        assert!(check_cache_control(&fifth).is_err(), "the top level counts");
    }

    #[test]
    fn thinking_carries_no_marker() {
        let body = json!({"messages":[{"role":"assistant","content":[
            {"type":"thinking","thinking":"t","signature":"s","cache_control":{"type":"ephemeral"}}]}]});
        assert!(check_cache_control(&body).is_err());
    }

    #[test]
    fn breakpoints_need_a_model_that_has_them() {
        let turns = json!([{"role":"user","content":[{"type":"input_text","text":"a",
            "prompt_cache_breakpoint":{"mode":"explicit"}}]}]);
        check_breakpoints(&turns, true).unwrap();
        assert!(check_breakpoints(&turns, false).is_err());
    }
}
