//! Where in the structure a byte is, for error messages. Never on the request path.

/// The JSON path of the value that holds byte `at`, such as `messages[3].content[0].text`.
///
/// Works on broken bodies too: it follows brackets, keys and commas up to `at` and ignores grammar.
#[must_use]
pub fn path_at(body: &[u8], at: usize) -> String {
    enum Level {
        Object(String),
        Array(usize),
    }
    let mut levels: Vec<Level> = Vec::new();
    let mut last_string = String::new();
    let mut position = 0;
    while position < at.min(body.len()) {
        match body[position] {
            b'"' => {
                let start = position + 1;
                position = start;
                while position < body.len() && body[position] != b'"' {
                    position += if body[position] == b'\\' { 2 } else { 1 };
                }
                if position >= at {
                    break;
                }
                let end = position.min(body.len());
                last_string = String::from_utf8_lossy(&body[start..end]).into_owned();
            }
            b'{' => levels.push(Level::Object(String::new())),
            b'[' => levels.push(Level::Array(0)),
            b'}' | b']' => {
                levels.pop();
            }
            b':' => {
                if let Some(Level::Object(key)) = levels.last_mut() {
                    *key = std::mem::take(&mut last_string);
                }
            }
            b',' => match levels.last_mut() {
                Some(Level::Object(key)) => key.clear(),
                Some(Level::Array(index)) => *index += 1,
                None => {}
            },
            _ => {}
        }
        position += 1;
    }
    let mut path = String::new();
    for level in &levels {
        match level {
            Level::Object(key) if key.is_empty() => {}
            Level::Object(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Level::Array(index) => {
                path.push('[');
                path.push_str(&index.to_string());
                path.push(']');
            }
        }
    }
    if path.is_empty() {
        "(top level)".into()
    } else {
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_value_that_holds_the_byte() {
        let body =
            br#"{"model":"m","messages":[{"role":"user"},{"content":[{"text":"a, b: [c"}, NaN]}]}"#;
        let at = |needle: &str| {
            let found = body
                .windows(needle.len())
                .position(|w| w == needle.as_bytes());
            path_at(body, found.unwrap())
        };
        assert_eq!(at("NaN"), "messages[1].content[1]");
        assert_eq!(at("b: [c"), "messages[1].content[0].text");
        assert_eq!(at("\"user"), "messages[0].role");
        assert_eq!(path_at(body, 0), "(top level)");
        assert_eq!(path_at(b"", 9), "(top level)");
        assert_eq!(path_at(b"[[\"unclosed", 11), "[0][0]");
    }
}
