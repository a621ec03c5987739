//! Prose, code and numbered file reads: whole lines from both ends, and the lines that give the rest
//! its structure (headings, definitions).

use super::Layout;
use super::log::read_traits;
use super::sample::Sample;
use crate::OutputKind;
use crate::units::{Splitting, split_lines};

const DEFINITIONS: &[&str] = &[
    "fn ",
    "pub ",
    "struct ",
    "enum ",
    "impl ",
    "trait ",
    "mod ",
    "def ",
    "class ",
    "async ",
    "function ",
    "export ",
    "interface ",
    "type ",
    "func ",
    "public ",
    "private ",
    "protected ",
    "module ",
    "namespace ",
    "@",
    "#",
    "CREATE ",
    "const ",
    "static ",
    "package ",
];

/// `    12→code`, `12\tcode`, `12:code`, `12-code`: most lines begin with their number.
pub(super) fn is_numbered(sample: &Sample<'_>) -> bool {
    sample.percent(8, |line| number_and_rest(line).is_some()) >= 85
}

fn number_and_rest(line: &str) -> Option<&str> {
    let trimmed = line.trim_start();
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > 7 {
        return None;
    }
    let rest = &trimmed[digits..];
    ["→", "\t", ":", "-", "| ", " | "]
        .into_iter()
        .find_map(|separator| rest.strip_prefix(separator))
        .or(rest.is_empty().then_some(rest))
}

pub(super) fn read(text: &str, kind: OutputKind, splitting: Splitting) -> Layout {
    let mut units = split_lines(text, splitting);
    let traits = read_traits(text, splitting, &mut units);
    let numbered = kind == OutputKind::NumberedLines;
    let total: u64 = units
        .iter()
        .map(|unit| u64::from(unit.chars))
        .sum::<u64>()
        .max(1);
    let mut before = 0_u64;
    for (unit, line) in units.iter_mut().zip(&traits) {
        let chars = u64::from(unit.chars);
        let behind = total - before - chars;
        // The start counts twice as much as the end: both ends are kept two to one.
        let near = u32::try_from((before.min(behind.saturating_mul(2)) * 900 / total).min(900))
            .unwrap_or(900);
        let mut rank = 1_000 - near;
        let words = text[unit.body_span()].trim_end();
        let code = if numbered {
            number_and_rest(words).unwrap_or(words)
        } else {
            words
        };
        if !code.starts_with(char::is_whitespace)
            && DEFINITIONS.iter().any(|opening| code.starts_with(opening))
        {
            rank += 150;
        }
        if line.outcome || line.summary {
            rank += 300;
        }
        // Examples of a shape help no reader here: source lines differ in more than numbers.
        unit.shape = 0;
        unit.rank(rank);
        before += chars;
    }
    Layout::new(kind, splitting, units)
}

#[cfg(test)]
mod tests {
    use crate::{Budget, OutputKind, Piece, condense};

    #[test]
    fn numbered_lines_are_kept_whole_with_their_indentation() {
        let text: String = (1..=600)
            .map(|line| format!("{line:>6}→        let x_{line} = {line};\n"))
            .collect();
        let condensed = condense(&text, &Budget::chars(3_000)).expect("over budget");
        assert_eq!(condensed.kind, OutputKind::NumberedLines);
        let out = condensed.render(&text);
        assert!(out.contains("     1→        let x_1 = 1;\n"));
        assert!(out.contains("   600→        let x_600 = 600;\n"));
        for line in out.lines().filter(|line| !line.starts_with('[')) {
            assert!(text.lines().any(|original| original == line), "{line}");
        }
    }

    #[test]
    fn an_escape_spelled_out_in_source_code_is_not_taken_for_a_colour() {
        let text: String = (1..=600)
            .map(|line| format!("{line:>6}→    print(\"^[[31mred {line}^[[0m\")\n"))
            .collect();
        let out = condense(&text, &Budget::chars(3_000))
            .expect("over budget")
            .render(&text);
        assert!(out.contains("print(\"^[[31mred 1^[[0m\")"), "{out}");
    }

    #[test]
    fn prose_keeps_its_start_its_end_and_a_count_of_the_rest() {
        let words = [
            "river", "stone", "cloud", "ember", "field", "harbour", "night",
        ];
        let text: String = (0..400)
            .map(|line| {
                format!(
                    "Sentence number {line} tells of {} and {} by the {}.\n",
                    words[line % 7],
                    words[line / 7 % 7],
                    words[line / 49 % 7]
                )
            })
            .collect();
        let condensed = condense(&text, &Budget::chars(2_000)).expect("over budget");
        assert_eq!(condensed.kind, OutputKind::Plain);
        let out = condensed.render(&text);
        assert!(out.contains("Sentence number 0 "));
        assert!(out.contains("Sentence number 399 "));
        let notes = condensed
            .pieces
            .iter()
            .filter(|piece| matches!(piece, Piece::Note(_)))
            .count();
        assert_eq!(notes, 2, "{out}");
    }
}
