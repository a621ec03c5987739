//! Runs of lines that a new result repeats from something still in the context.
//!
//! A file read again after an edit shows mostly what stands above already; an edit's result shows the lines
//! of the edit. Such a run is replaced, when it arrives, by a note that says which lines it was.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Where a line stands: text number and line number.
type Spot = (u32, u32);

/// All lines that are whole in the context.
#[derive(Debug, Default)]
pub struct Shown {
    texts: Vec<Vec<u64>>,
    live: Vec<bool>,
    spots: HashMap<u64, Vec<Spot>>,
}

/// A run of lines found earlier: first line, number of lines, the text that has them.
#[derive(Debug, Clone, Copy)]
pub struct Repeat {
    pub first: usize,
    pub lines: usize,
    pub source: usize,
}

const SPOTS_PER_LINE: usize = 6;

/// The line without the number of a listing or of a search hit; its indentation counts.
fn content(line: &str) -> &str {
    let trimmed = line.trim_start();
    if let Some(code) = trimmed.strip_prefix('\u{2192}') {
        return code.trim_end();
    }
    let rest = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() < trimmed.len()
        && let Some(code) = rest.strip_prefix(['\u{2192}', '\t', ':', '-'])
    {
        return code.trim_end();
    }
    line.trim_end()
}

fn hash(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    content(line).hash(&mut hasher);
    hasher.finish() | 1
}

fn anchors(line: &str) -> bool {
    content(line).trim_start().len() >= 8
}

/// True for a line that stands in JSON as it is.
pub fn plain_in_json(line: &str) -> bool {
    !line.trim().contains(['"', '\\', '\t'])
}

impl Shown {
    /// Finds the runs of `lines` that live texts hold, longest first found, of at least `min_lines` and `min_chars`.
    pub fn repeats(
        &self,
        lines: &[&str],
        min_lines: usize,
        min_chars: usize,
        is_near: &dyn Fn(usize) -> bool,
        short_lines: usize,
        short_chars: usize,
    ) -> Vec<Repeat> {
        let hashes: Vec<u64> = lines.iter().map(|l| hash(l)).collect();
        let mut out = Vec::new();
        let mut i = 0;
        while i < lines.len() {
            if !anchors(lines[i]) {
                i += 1;
                continue;
            }
            let mut best: Option<Repeat> = None;
            for &(text, line) in self.spots.get(&hashes[i]).into_iter().flatten().rev() {
                if !self.live[text as usize] {
                    continue;
                }
                let there = &self.texts[text as usize][line as usize..];
                let run = hashes[i..]
                    .iter()
                    .zip(there)
                    .take_while(|(a, b)| a == b)
                    .count();
                if best.is_none_or(|b| run > b.lines) {
                    best = Some(Repeat {
                        first: i,
                        lines: run,
                        source: text as usize,
                    });
                }
            }
            match best {
                Some(b)
                    if {
                        let size = lines[i..i + b.lines]
                            .iter()
                            .map(|l| l.len() + 1)
                            .sum::<usize>();
                        (b.lines >= min_lines && size >= min_chars)
                            || (b.lines >= short_lines && size >= short_chars && is_near(b.source))
                    } =>
                {
                    i += b.lines;
                    out.push(b);
                }
                _ => i += 1,
            }
        }
        out
    }

    /// Adds a text; lines in `gone` are not in it any more. Returns its number.
    pub fn add(&mut self, lines: &[&str], gone: &[Repeat], usable: fn(&str) -> bool) -> usize {
        let number = self.texts.len();
        let mut hashes: Vec<u64> = lines
            .iter()
            .map(|l| if usable(l) { hash(l) } else { 0 })
            .collect();
        for repeat in gone {
            hashes[repeat.first..repeat.first + repeat.lines].fill(0);
        }
        for (n, &h) in hashes.iter().enumerate() {
            if h != 0 && anchors(lines[n]) {
                let spots = self.spots.entry(h).or_default();
                if spots.len() == SPOTS_PER_LINE {
                    spots.remove(0);
                }
                spots.push((
                    u32::try_from(number).unwrap_or(u32::MAX),
                    u32::try_from(n).unwrap_or(u32::MAX),
                ));
            }
        }
        self.texts.push(hashes);
        self.live.push(true);
        number
    }

    /// The text is no longer whole.
    pub fn forget(&mut self, number: usize) {
        self.live[number] = false;
    }
}

/// The text with its repeats replaced by notes.
pub fn without(lines: &[&str], repeats: &[Repeat], brief: bool) -> String {
    let mut out = String::new();
    let mut i = 0;
    for r in repeats {
        for line in &lines[i..r.first] {
            out.push_str(line);
            out.push('\n');
        }
        out.push_str(&if brief {
            "[000-000 as above]\n".to_owned()
        } else {
            format!("[{} lines, unchanged, as shown above]\n", r.lines)
        });
        i = r.first + r.lines;
    }
    for line in &lines[i..] {
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: [&str; 4] = [
        "1\u{2192}first line here",
        "2\u{2192}second line here",
        "3\u{2192}third line here",
        "4\u{2192}fourth line here",
    ];

    #[test]
    fn a_run_is_found_under_other_line_numbers() {
        let mut shown = Shown::default();
        shown.add(&OLD, &[], |_| true);
        let new = [
            "7\u{2192}something new",
            "8\u{2192}second line here",
            "9\u{2192}third line here",
            "10\u{2192}fourth line here",
            "11\u{2192}the end of it",
        ];
        let repeats = shown.repeats(&new, 3, 20, &|_| false, 9, 9);
        assert_eq!(
            without(&new, &repeats, false),
            "7\u{2192}something new\n[3 lines, unchanged, as shown above]\n11\u{2192}the end of it\n"
        );
    }

    #[test]
    fn a_forgotten_text_and_left_out_lines_are_no_source() {
        let mut shown = Shown::default();
        let first = shown.add(&OLD, &[], |_| true);
        let repeats = shown.repeats(&OLD, 3, 20, &|_| false, 9, 9);
        shown.add(&OLD, &repeats, |_| true);
        shown.forget(first);
        assert!(shown.repeats(&OLD, 3, 20, &|_| false, 9, 9).is_empty());
    }

    #[test]
    fn other_indentation_is_another_line() {
        let mut shown = Shown::default();
        shown.add(&OLD, &[], |_| true);
        let indented: Vec<String> = OLD
            .iter()
            .map(|l| l.replace('\u{2192}', "\u{2192}    "))
            .collect();
        let indented: Vec<&str> = indented.iter().map(String::as_str).collect();
        assert!(shown.repeats(&indented, 2, 20, &|_| false, 9, 9).is_empty());
    }
}
