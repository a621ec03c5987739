//! Rows in the order in which a database takes them best: those of one kind together, each kind in the
//! order of time and id.

use std::collections::HashMap;

use crate::row::Row;

/// What the rows of a kind have in common; the columns that [`crate::columns::AUDIT`] names.
type Kind<'r> = (
    [&'r str; 5],
    [Option<&'r str>; 5],
    [bool; 4],
    (u16, Option<u16>),
);

fn kind(row: &Row) -> Kind<'_> {
    (
        [
            &row.workload,
            &row.provider,
            &row.stack,
            &row.struck_stack,
            &row.ended,
        ],
        [
            row.key.as_deref(),
            row.dialect.as_deref(),
            row.model.as_deref(),
            row.routed_to.as_deref(),
            row.failed_open.as_deref(),
        ],
        [
            row.bypassed,
            row.held_out,
            row.is_stream,
            row.receipt.tokens_are_exact,
        ],
        (row.status, row.upstream_status),
    )
}

/// See the module.
pub(crate) fn by_kind<'r>(rows: impl Iterator<Item = &'r Row>) -> Vec<&'r Row> {
    let mut kinds: HashMap<Kind<'r>, usize> = HashMap::new();
    let mut last: Option<(Kind<'r>, usize)> = None;
    let mut numbered: Vec<(usize, &Row)> = rows
        .map(|row| {
            let kind = kind(row);
            let number = match &last {
                Some((of, number)) if *of == kind => *number,
                _ => {
                    let next = kinds.len();
                    *kinds.entry(kind).or_insert(next)
                }
            };
            last = Some((kind, number));
            (number, row)
        })
        .collect();
    numbered.sort_by(|(one, a), (other, b)| (one, a.at, &a.id).cmp(&(other, b.at, &b.id)));
    numbered.into_iter().map(|(_, row)| row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_stay_together_and_each_is_in_order() {
        let row = |id: &str, at: i64, model: &str| Row {
            id: id.into(),
            at,
            model: Some(model.into()),
            ..Row::default()
        };
        let rows = [
            row("d", 4, "one"),
            row("a", 3, "other"),
            row("c", 2, "one"),
            row("b", 2, "one"),
            row("e", 1, "other"),
        ];
        let ids: Vec<&str> = by_kind(rows.iter())
            .iter()
            .map(|row| row.id.as_str())
            .collect();
        assert_eq!(ids, ["b", "c", "d", "e", "a"]);
    }
}
