//! The brackets of a JSON text, matched in one pass.

/// One `{…}` or `[…]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Container {
    pub(super) open: usize,
    pub(super) close: usize,
    pub(super) members: u32,
    /// Index of the first container that opens after this one's end.
    pub(super) next: usize,
}

/// The end of the string that opens at `at`, after its quote.
pub(super) fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// All containers in the order of their openings, or `None` if the brackets do not make one value.
pub(super) fn containers_of(bytes: &[u8]) -> Option<Vec<Container>> {
    let open = bytes.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let inner = bytes[open + 1..]
        .iter()
        .find(|byte| !byte.is_ascii_whitespace())?;
    let plausible = match bytes[open] {
        b'{' => matches!(inner, b'"' | b'}'),
        b'[' => matches!(
            inner,
            b'{' | b'[' | b'"' | b']' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'
        ),
        _ => false,
    };
    if !plausible
        || !bytes
            .trim_ascii_end()
            .ends_with(if bytes[open] == b'{' { b"}" } else { b"]" })
    {
        return None;
    }
    let mut containers: Vec<Container> = Vec::new();
    let mut stack: Vec<usize> = Vec::new();
    let mut at = open;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at = string_end(bytes, at)?;
                continue;
            }
            b'{' | b'[' => {
                stack.push(containers.len());
                let empty = bytes[at + 1..]
                    .iter()
                    .find(|byte| !byte.is_ascii_whitespace())
                    .is_none_or(|byte| matches!(byte, b'}' | b']'));
                containers.push(Container {
                    open: at,
                    close: at,
                    members: u32::from(!empty),
                    next: 0,
                });
            }
            closer @ (b'}' | b']') => {
                let index = stack.pop()?;
                let count = containers.len();
                let container = &mut containers[index];
                if (bytes[container.open] == b'{') != (closer == b'}') {
                    return None;
                }
                container.close = at;
                container.next = count;
                if stack.is_empty() {
                    return bytes[at + 1..]
                        .iter()
                        .all(u8::is_ascii_whitespace)
                        .then_some(containers);
                }
            }
            b',' => containers[*stack.last()?].members += 1,
            b'\n'
            | b' '
            | b':'
            | b'\t'
            | b'\r'
            | b'-'
            | b'+'
            | b'.'
            | b'0'..=b'9'
            | b'a'..=b'z'
            | b'E' => {}
            _ => return None,
        }
        at += 1;
    }
    None
}
