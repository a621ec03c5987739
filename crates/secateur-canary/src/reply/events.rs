//! The data of server-sent events.

use serde_json::Value;

/// The JSON values of all events, in order. Lines that are no JSON (`[DONE]`) are left out.
pub(super) fn values(body: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(body);
    let mut values = Vec::new();
    let mut data = String::new();
    // An event ends at an empty line; the last one may end with the body.
    for line in text
        .split('\n')
        .map(|line| line.trim_end_matches('\r'))
        .chain([""])
    {
        if let Some(value) = line.strip_prefix("data:") {
            if !data.is_empty() {
                data.push('\n');
            }
            data.push_str(value.strip_prefix(' ').unwrap_or(value));
        } else if line.is_empty() && !data.is_empty() {
            values.extend(serde_json::from_str(&data).ok());
            data.clear();
        }
    }
    values
}
