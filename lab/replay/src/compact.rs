//! The same listing in fewer characters: nothing that it says is lost.

/// Removes the padding before the numbers of a numbered listing (`     12→code` becomes `12→code`). The white
/// space behind the arrow is the code's and stays.
pub fn unpad(text: &str) -> Option<String> {
    let numbered = |line: &str| {
        let rest = line.trim_start_matches(' ');
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        after.len() < rest.len() && after.starts_with('\u{2192}')
    };
    let count = text.lines().filter(|l| numbered(l)).count();
    if count < 3 {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        out.push_str(if numbered(line) {
            line.trim_start_matches(' ')
        } else {
            line
        });
    }
    Some(out)
}

/// Leaves the number of a listing's line out unless it is a multiple of ten, does not follow the one before, or
/// starts the text: `→code` is the line after the one above it.
pub fn sparse_numbers(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut before: Option<u64> = None;
    let mut saved = false;
    for line in text.split_inclusive('\n') {
        let number = line
            .split_once('\u{2192}')
            .and_then(|(n, _)| n.parse::<u64>().ok());
        match (number, before) {
            (Some(n), Some(b)) if n == b + 1 && n % 10 != 0 => {
                out.push_str(line.trim_start_matches(|c: char| c.is_ascii_digit()));
                saved = true;
            }
            _ => out.push_str(line),
        }
        before = number;
    }
    saved.then_some(out)
}

/// Leaves the arrow out where the number is left out, unless the line would then look numbered.
pub fn bare_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match line.strip_prefix('\u{2192}') {
            Some(code)
                if !code
                    .starts_with(|c: char| c.is_ascii_digit() || c == '\u{2192}' || c == '[') =>
            {
                out.push_str(code);
            }
            _ => out.push_str(line),
        }
    }
    out
}

/// The path of a search hit (`path:12:text`, or `path-12-text` for context) and what follows it.
fn hit(line: &str) -> Option<(&str, &str)> {
    let mut from = 0;
    while let Some(at) = line[from..].find([':', '-']).map(|i| i + from) {
        let mark = line.as_bytes()[at];
        let digits = line[at + 1..]
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count();
        let end = at + 1 + digits;
        if digits > 0 && line.as_bytes().get(end) == Some(&mark) {
            let path = &line[..at];
            let is_path = path.contains(['/', '.']) && !path.contains(char::is_whitespace);
            return is_path.then(|| (path, &line[at + 1..]));
        }
        from = at + 1;
    }
    None
}

/// Writes each run of search hits in one file under that file's path.
pub fn group_hits(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut current = "";
    let lines: Vec<&str> = text.lines().collect();
    for (n, line) in lines.iter().enumerate() {
        match hit(line) {
            Some((path, rest)) if path == current => out.push_str(rest),
            Some((path, rest))
                if lines
                    .get(n + 1)
                    .and_then(|l| hit(l))
                    .is_some_and(|(next, _)| next == path) =>
            {
                current = path;
                out.push_str(path);
                out.push('\n');
                out.push_str(rest);
            }
            _ => {
                current = "";
                out.push_str(line);
            }
        }
        out.push('\n');
    }
    (out.len() < text.len()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_before_numbers_goes_and_indentation_behind_them_stays() {
        let text = "     9\u{2192}fn a() {\n    10\u{2192}    b();\n    11\u{2192}}\n\n<note>";
        let unpadded = unpad(text).unwrap();
        assert_eq!(
            unpadded,
            "9\u{2192}fn a() {\n10\u{2192}    b();\n11\u{2192}}\n\n<note>"
        );
        assert_eq!(
            sparse_numbers(&unpadded).unwrap(),
            "9\u{2192}fn a() {\n10\u{2192}    b();\n\u{2192}}\n\n<note>"
        );
    }

    #[test]
    fn a_jump_in_the_numbers_is_shown() {
        assert_eq!(
            sparse_numbers("1\u{2192}a\n2\u{2192}b\n7\u{2192}c\n"),
            Some("1\u{2192}a\n\u{2192}b\n7\u{2192}c\n".to_owned())
        );
    }

    #[test]
    fn hits_in_one_file_stand_under_its_path() {
        let text = "/a/b.go:12:x := 1\n/a/b.go-13-y\n--\n/a/c-2.go:7:z\nno hit\n";
        assert_eq!(
            group_hits(text).unwrap(),
            "/a/b.go\n12:x := 1\n13-y\n--\n/a/c-2.go:7:z\nno hit\n"
        );
        assert_eq!(group_hits("plain\ntext\n"), None);
    }
}
