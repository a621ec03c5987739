//! Gemini: user first, a call turn behind a user turn, as many responses as calls.

use serde_json::Value;

use super::{is_forged, list, text};

pub(super) fn check(body: &Value) -> Result<(), String> {
    let contents = list(body, "contents")?;
    let mut calls_before = 0;
    let mut role_before = "";
    for (at, content) in contents.iter().enumerate() {
        let role = content["role"].as_str().unwrap_or("user");
        if !matches!(role, "user" | "model" | "function") {
            return Err(format!(
                "contents[{at}].role: please use a valid role: user, model"
            ));
        }
        if at == 0 && role == "model" {
            return Err("please ensure that the conversation starts with a user turn".to_owned());
        }
        let parts = content["parts"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        if parts.is_empty() {
            return Err(format!(
                "contents[{at}].parts: contents must have at least one part"
            ));
        }
        if let Some(part) = parts.iter().position(is_empty) {
            return Err(format!(
                "contents[{at}].parts[{part}]: required oneof field 'data' must have one initialized field"
            ));
        }
        if let Some(part) = parts.iter().position(has_foreign_signature) {
            return Err(format!(
                "contents[{at}].parts[{part}].thoughtSignature: thought signature is not valid"
            ));
        }
        let count = |key: &str| parts.iter().filter(|part| part.get(key).is_some()).count();
        let (calls, responses) = (count("functionCall"), count("functionResponse"));
        if responses != calls_before && (responses > 0 || calls_before > 0) {
            return Err(format!(
                "contents[{at}]: please ensure that the number of function response parts is equal to the number of function call parts of the function call turn"
            ));
        }
        if calls > 0 && role_before == "model" {
            return Err(format!(
                "contents[{at}]: please ensure that function call turn comes immediately after a user turn or after a function response turn"
            ));
        }
        calls_before = calls;
        role_before = role;
    }
    if calls_before > 0 {
        return Err("the last function call turn has no function response".to_owned());
    }
    Ok(())
}

/// This provider signs a call by its name.
fn has_foreign_signature(part: &Value) -> bool {
    is_forged(
        text(part, "thoughtSignature"),
        text(&part["functionCall"], "name"),
    )
}

fn is_empty(part: &Value) -> bool {
    let Some(object) = part.as_object() else {
        return true;
    };
    let marks = ["thought", "thoughtSignature", "thought_signature"];
    object.keys().all(|key| marks.contains(&key.as_str()))
        && !object.contains_key("thoughtSignature")
}

#[cfg(test)]
mod tests {
    use super::super::sign;
    use super::*;
    use serde_json::json;

    fn verdict(contents: &Value) -> Result<(), String> {
        check(&json!({"contents":contents}))
    }

    #[test]
    fn counts_calls_against_responses() {
        let user = json!({"role":"user","parts":[{"text":"a"}]});
        let model = json!({"role":"model","parts":[{"text":"a"}]});
        let call = json!({"role":"model","parts":[{"functionCall":{"name":"f"}},{"functionCall":{"name":"g"}}]});
        let both = json!({"role":"user","parts":[{"functionResponse":{"name":"f"}},{"functionResponse":{"name":"g"}}]});
        let one = json!({"role":"user","parts":[{"functionResponse":{"name":"f"}}]});
        verdict(&json!([user, call, both, model, user])).unwrap();
        for wrong in [
            json!([]),
            json!([model, user]),
            json!([user, call]),
            json!([user, call, one]),
            json!([user, both]),
            json!([user, model, call, both]),
            json!([{"role":"user","parts":[]}]),
            json!([{"role":"user","parts":[{}]}]),
            json!([user, {"role":"model","parts":[{"text":"a","thoughtSignature":sign("f")}]}]),
        ] {
            assert!(verdict(&wrong).is_err(), "{wrong}");
        }
    }
}
