//! Request bodies of a given size: a chat that a provider would take.

use bytes::Bytes;

/// A chat request of about `size` bytes, in turns of 500 characters.
pub(crate) fn chat(size: usize, stream: bool) -> Bytes {
    let mut body =
        String::from(r#"{"model":"gpt-5","messages":[{"role":"system","content":"Be brief."}"#);
    let mut at = 0;
    while body.len() + 600 < size || at == 0 {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        let room = size.saturating_sub(body.len() + 80).min(500);
        let text = "so it goes on and on, ".repeat(room / 22 + 1);
        body.push_str(&format!(
            r#",{{"role":"{role}","content":"{at} {}"}}"#,
            text.trim()
        ));
        at += 1;
    }
    if at % 2 == 0 {
        body.push_str(r#",{"role":"user","content":"And now?"}"#);
    }
    body.push_str(if stream { "],\"stream\":true}" } else { "]}" });
    Bytes::from(body)
}
