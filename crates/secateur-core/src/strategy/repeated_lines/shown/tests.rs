use super::*;

/// Runs of any length are enough.
struct Any;

impl Length for Any {
    fn is_enough(&self, lines: usize, _chars: usize, _source: PartId) -> bool {
        lines > 0
    }

    fn shortest_line(&self) -> usize {
        0
    }

    fn counts_beyond(&self, _chars: usize) -> bool {
        false
    }
}

/// Shows one text after the other, all lines with the same key. Returns the texts of the runs of the last one.
fn repeated_in_last(texts: &[&str]) -> Vec<String> {
    let key = LineKey::of_spelled(b"a line that may start a run");
    let mut shown = Shown::default();
    shown.expect(1000);
    let mut found = Vec::new();
    for (part, text) in (0..).map(PartId).zip(texts) {
        let mut end = 0;
        let lines = text.split_inclusive('\n').map(|line| {
            let start = end;
            end += line.len();
            start..start + line.trim_end_matches('\n').len()
        });
        let lines: Vec<Range<usize>> = lines.collect();
        let bytes = NewText {
            part,
            body: "",
            bytes: text.as_bytes(),
            spelling: Spelling::Text,
        };
        let keys = vec![key; lines.len()];
        let size = |at: usize| lines.get(at).map_or(0, Range::len);
        let line = |at: usize| lines[at].clone();
        let repeats = shown.take_in(bytes, &keys, line, &Any, size, size);
        let run = |repeat: &Repeat| {
            let last = repeat.first + repeat.lines - 1;
            text[lines[repeat.first].start..lines[last].end].to_owned()
        };
        found = repeats.iter().map(run).collect();
    }
    found
}

#[test]
fn lines_that_differ_are_not_repeated_even_if_their_hashes_are_equal() {
    let none: [&str; 0] = [];
    assert_eq!(repeated_in_last(&["one\ntwo\n", "three\nfour\n"]), none);
    assert_eq!(repeated_in_last(&["two\n", "one\ntwo\nthree\n"]), ["two"]);
    // By their hashes these would be one run of three lines.
    let found = repeated_in_last(&["a\nb\nc\n", "c\nb\na\n"]);
    assert!(found.iter().all(|run| run.len() == 1), "{found:?}");
}

#[test]
fn numbers_and_trailing_space_are_not_compared() {
    assert_eq!(
        repeated_in_last(&["  7→same  \n", "12→same\n"]),
        ["12→same"]
    );
}
