//! Tool names by pattern: `*` stands for any characters, case does not count.

/// Whether one of the patterns fits the name.
pub(super) fn any_fits(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| fits(pattern, name))
}

/// Greedy match with one fallback place: linear for real patterns, never exponential.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n) = (0, 0);
    let mut fallback: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                fallback = Some((p + 1, n));
                p += 1;
            }
            Some(byte) if byte.eq_ignore_ascii_case(&name[n]) => {
                p += 1;
                n += 1;
            }
            _ => match fallback {
                Some((after_star, from)) => {
                    p = after_star;
                    n = from + 1;
                    fallback = Some((after_star, n));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters_and_case_does_not_count() {
        for (pattern, name, expected) in [
            ("read", "Read", true),
            ("read", "Reader", false),
            ("*read_file*", "mcp__fs__read_file", true),
            ("read*", "READ_many", true),
            ("*a*b", "xaxbxb", true),
            ("*a*b", "xaxbxc", false),
            ("*", "", true),
            ("", "x", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
