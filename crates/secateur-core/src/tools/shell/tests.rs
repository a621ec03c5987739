use super::*;

fn check(class: ToolClass, lines: &[(&str, &str)]) {
    for (line, file) in lines {
        let effect = ShellEffect::of_line(line);
        let file = Some((*file).to_owned()).filter(|file| !file.is_empty());
        assert_eq!(effect, ShellEffect { class, file }, "{line}");
    }
}

#[test]
fn files_that_are_shown() {
    check(
        ToolClass::Read,
        &[
            ("cat src/main.rs", "src/main.rs"),
            ("cat -n 'a file.rs'", "a file.rs"),
            ("cd /repo && sed -n '1,200p' src/main.rs", "src/main.rs"),
            ("nl -ba a.py | sed -n '10,40p'", "a.py"),
            ("head -n 50 a.py", "a.py"),
            ("tail -n +3 a.py 2>/dev/null", "a.py"),
            ("FOO=1 sudo cat \"a\\\"b\" | head -20", "a\"b"),
            ("timeout 10 cat a.rs > /dev/null; cat a.rs", "a.rs"),
            ("bash -lc \"sed -n '1,5p' a.rs\"", "a.rs"),
            ("awk 'NR>=3 && NR<=9' a.rs", "a.rs"),
            ("echo ---; cat a.rs; echo ---", "a.rs"),
            ("cat a.rs b.rs", ""),
            ("cat a.rs; cat b.rs", ""),
            ("ls && cat a.rs", "a.rs"),
            ("# What is there?\ncat a.rs # all", "a.rs"),
            ("grep -A 50 'fn main' src/a.rs | head -60", "src/a.rs"),
            ("rg -nC3 --no-heading main src/a.rs", "src/a.rs"),
            ("Get-Content a.ps1", "a.ps1"),
        ],
    );
}

#[test]
fn names_and_hits_that_are_listed() {
    check(
        ToolClass::Search,
        &[
            ("rg -n 'a | b' src", ""),
            ("rg -n -C 5 word src", ""),
            ("grep -n main src/a.rs", "src/a.rs"),
            ("grep -rn \"fn main\" --include=*.rs . | head -30", ""),
            ("cat a.rs | grep -n main", "a.rs"),
            ("ls -la", ""),
            ("find . -name '*.rs' -type f 2>/dev/null | sort | head", ""),
            ("git grep word", ""),
            ("git ls-files | wc -l", ""),
        ],
    );
}

#[test]
fn files_that_are_changed() {
    check(
        ToolClass::Edit,
        &[
            ("sed -i 's/a/b/' src/main.rs", "src/main.rs"),
            ("cat > a.rs <<'EOF'\nfn main() {}\nEOF", "a.rs"),
            ("cat <<'EOF' > a.rs\ncat b.rs\nEOF", "a.rs"),
            ("apply_patch <<'P'\n*** Begin Patch\nP", ""),
        ],
    );
}

#[test]
fn all_else_is_a_command() {
    check(
        ToolClass::Command,
        &[
            ("cargo test", ""),
            ("cat a.rs && cargo test", ""),
            ("cat a.json | python3 -m json.tool", ""),
            ("cat build.log", ""),
            ("rg word > hits.txt", ""),
            ("find . -name '*.o' -exec rm {} +", ""),
            ("git diff | cat", ""),
            ("", ""),
            ("cd /repo", ""),
            ("echo hello", ""),
            ("'", ""),
        ],
    );
}

#[test]
fn programs_with_their_arguments() {
    let effect = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        ShellEffect::of_arguments(&words)
    };
    let read = ShellEffect::new(ToolClass::Read, Some("a b.rs"));
    assert_eq!(effect(&["cat", "a b.rs"]), read);
    assert_eq!(effect(&["bash", "-lc", "cat 'a b.rs'"]), read);
    assert_eq!(effect(&["cargo", "test"]), ShellEffect::COMMAND);
    assert_eq!(effect(&[]), ShellEffect::COMMAND);
}

#[test]
fn nesting_and_length_are_bounded() {
    let mut line = "cat a.rs".to_owned();
    for _ in 0..6 {
        line = format!("bash -c {}", shell_quoted(&line));
    }
    assert_eq!(ShellEffect::of_line(&line), ShellEffect::COMMAND);
    let long = format!("cat {}", "ä".repeat(100_000));
    assert_eq!(ShellEffect::of_line(&long).class, ToolClass::Read);
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
