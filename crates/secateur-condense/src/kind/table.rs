//! Tables (CSV, TSV, Markdown, database clients, JSON lines): header, first and last rows, and rows
//! that look like no other.

use super::Layout;
use super::log::read_traits;
use super::sample::Sample;
use crate::OutputKind;
use crate::shapes::ByShape;
use crate::timestamp::Prefix;
use crate::units::{Splitting, split_lines};

pub(super) fn is_table(sample: &Sample<'_>) -> bool {
    is_json_lines(sample)
        || [',', '\t', '|', ';']
            .into_iter()
            .any(|separator| is_separated_by(sample, separator))
}

fn is_json_lines(sample: &Sample<'_>) -> bool {
    sample.percent(3, |line| line.starts_with("{\"") || line.starts_with("[\"")) >= 90
}

/// Most lines have the same number of separators, at least two.
fn is_separated_by(sample: &Sample<'_>, separator: char) -> bool {
    let Some(first) = sample.lines.first() else {
        return false;
    };
    let columns = first.matches(separator).count();
    columns >= 2
        && sample.percent(4, |line| {
            line.matches(separator).count() == columns || is_rule(line)
        }) >= 85
}

/// `|---|---|`, `----+----`
fn is_rule(line: &str) -> bool {
    line.len() > 2
        && line
            .bytes()
            .all(|byte| matches!(byte, b'-' | b'+' | b'|' | b'=' | b':' | b' '))
}

pub(super) fn read(text: &str, splitting: Splitting) -> Layout {
    // A time in the first column is data.
    let splitting = Splitting {
        prefix: Prefix::None,
        ..splitting
    };
    let mut units = split_lines(text, splitting);
    let traits = read_traits(text, splitting, &mut units);
    let mut shapes: ByShape<u32> = ByShape::default();
    for line in &traits {
        *shapes.entry(line.shape).or_default() += 1;
    }
    let count = units.len();
    for (index, (unit, line)) in units.iter_mut().zip(&traits).enumerate() {
        let from_end = count - 1 - index;
        let near = u32::try_from(index.min(from_end * 2))
            .unwrap_or(u32::MAX)
            .min(2_000);
        let mut rank = 4_000 / (4 + near);
        if index < 2 {
            rank = 8_000;
        }
        let alike = shapes.get(&line.shape).copied().unwrap_or(1);
        if alike <= 2 && count > 50 {
            rank += 200;
        }
        rank += u32::from(line.score) * 4 / alike.min(8);
        unit.rank(rank.max(1));
    }
    let mut layout = Layout::new(OutputKind::Table, splitting, units);
    layout.about = " table".to_owned();
    layout
}

#[cfg(test)]
mod tests {
    use crate::{Budget, OutputKind, condense};

    #[test]
    fn the_header_and_both_ends_of_a_csv_stay() {
        let mut text = String::from("id,name,amount\n");
        for row in 0..2_000 {
            text += &format!("{row},customer,{}\n", row * 3);
        }
        let condensed = condense(&text, &Budget::chars(1_000)).expect("over budget");
        assert_eq!(condensed.kind, OutputKind::Table);
        let out = condensed.render(&text);
        assert!(out.contains("id,name,amount\n0,customer,0\n"), "{out}");
        assert!(out.contains("1999,customer,5997"), "{out}");
    }

    #[test]
    fn a_time_in_the_first_column_stays() {
        let text: String = (0..500)
            .map(|row| format!("2026-05-07 02:58:33 | {row} | done\n"))
            .collect();
        let condensed = condense(&text, &Budget::chars(1_000)).expect("over budget");
        assert_eq!(condensed.kind, OutputKind::Table);
        assert!(
            condensed
                .render(&text)
                .contains("2026-05-07 02:58:33 | 0 | done\n")
        );
    }

    #[test]
    fn the_odd_row_is_kept() {
        let mut rows: Vec<String> = (0..3_000).map(|row| format!("{row}\tok\tdone")).collect();
        rows[1_234] = "1234\tERROR: checksum mismatch\tnull".to_owned();
        let text = rows.join("\n");
        let out = condense(&text, &Budget::chars(1_200))
            .expect("over budget")
            .render(&text);
        assert!(out.contains("checksum mismatch"), "{out}");
    }
}
