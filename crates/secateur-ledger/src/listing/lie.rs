//! How the rows of a database lie: by time and id in PostgreSQL, by number in SQLite (see `number.rs`).

use super::{Sql, all_of, bundles};
use crate::error::LedgerError;
use crate::number::{LAST_TURN, first_at, fresh, time_of};
use crate::query::{After, Filter};
use crate::store::{Database, Store, Value};

/// See the module.
pub(super) struct Lie {
    database: Database,
    /// All columns of the rows that lie by themselves.
    pub(super) view: &'static str,
    /// Where the columns of filters and keys are.
    pub(super) table: &'static str,
    /// What rows are in order of.
    pub(super) key: &'static str,
    /// The part of the key that finds a row.
    pub(super) last: &'static str,
    /// Columns of `table` that name a series, and where the daily sums tell of them.
    pub(super) series: &'static [&'static str],
    pub(super) daily: &'static str,
    /// Whether rows with trouble are found by their series only.
    pub(super) has_trouble_by_series: bool,
    /// For `table`, and for all rows with all their columns.
    pub(super) is_trouble: &'static str,
    pub(super) has_trouble: &'static str,
}

impl Lie {
    pub(super) fn of(database: Database) -> Self {
        match database {
            Database::Postgres => Self {
                database,
                view: "audit",
                table: "audit",
                key: "at_ms, id",
                last: "id",
                series: &["workload", "stack", "model"],
                daily: "daily",
                has_trouble_by_series: false,
                is_trouble: "trouble",
                has_trouble: "trouble",
            },
            Database::Sqlite => Self {
                database,
                view: "audit_single",
                table: "audit_row",
                key: "seq",
                last: "seq",
                series: &["series"],
                daily: "daily JOIN audit_series USING (workload, stack, model)",
                has_trouble_by_series: true,
                is_trouble: "trouble = 1",
                has_trouble: "seq IN (SELECT seq FROM audit_row WHERE trouble = 1)",
            },
        }
    }

    /// The order in which a walk meets rows.
    pub(super) fn order(&self, prefix: &str, towards: Towards) -> String {
        let order = towards.order();
        match self.database {
            Database::Postgres => format!("{prefix}at_ms {order}, {prefix}id {order}"),
            Database::Sqlite => format!("{prefix}seq {order}"),
        }
    }

    /// Terms on workload, stack and model, for `table`.
    pub(super) fn terms_of_series(&self, terms: Vec<String>) -> Vec<String> {
        match self.database {
            Database::Sqlite if !terms.is_empty() => {
                let all = all_of(&terms);
                vec![format!("series IN (SELECT series FROM audit_series{all})")]
            }
            _ => terms,
        }
    }

    /// Terms on session and time, for a walk from `start` on. It begins at the term on its first row, and where there
    /// were two, maybe at the farther one: so only the nearer is said.
    pub(super) fn terms_of_rows(
        &self,
        sql: &mut Sql,
        filter: &Filter,
        start: Option<(&Place, Towards)>,
    ) -> Vec<String> {
        let mut terms = Vec::new();
        if let Some(session) = &filter.session {
            terms.push(format!("session = {}", sql.bind(Value::owned(session))));
        }
        let (column, mut from, mut to) = match self.database {
            Database::Postgres => ("at_ms", filter.since, filter.until),
            // From the first row on: a walk with a beginning.
            Database::Sqlite => (
                "seq",
                Some(filter.since.map_or(0, first_at)),
                filter.until.map(first_at),
            ),
        };
        match start {
            Some((place, Towards::Older)) if to.is_none_or(|to| place.lead() < to) => {
                terms.push(place.term(sql, "<"));
                to = None;
            }
            Some((place, Towards::Newer)) if from.is_none_or(|from| place.lead() >= from) => {
                terms.push(place.term(sql, ">"));
                from = None;
            }
            _ => {}
        }
        if let Some(from) = from {
            terms.push(format!("{column} >= {}", sql.bind(Value::Int(from))));
        }
        if let Some(to) = to {
            terms.push(format!("{column} < {}", sql.bind(Value::Int(to))));
        }
        terms
    }

    /// Where a list goes on. A row that is gone took all before it along, if it was too old; those of its moment count
    /// as newer.
    pub(super) fn place(
        &self,
        store: &mut dyn Store,
        after: &After,
        towards: Towards,
    ) -> Result<Place, LedgerError> {
        if self.database == Database::Postgres {
            return Ok(Place::Key(after.at, after.id.clone()));
        }
        if let Some(number) = self.find(store, &after.id)? {
            return Ok(Place::Number(number.into_int()?));
        }
        if let Some((number, _)) = bundles::find(store, &after.id)? {
            return Ok(Place::Number(number));
        }
        let first = first_at(after.at);
        Ok(Place::Number(match towards {
            Towards::Older => first,
            Towards::Newer => first - 1,
        }))
    }

    /// What finds the row with this id, if it lies by itself; in PostgreSQL it need not be there.
    pub(super) fn find(
        &self,
        store: &mut dyn Store,
        id: &str,
    ) -> Result<Option<Value<'static>>, LedgerError> {
        if self.database == Database::Postgres {
            return Ok(Some(Value::owned(id)));
        }
        let in_time = time_of(id).and_then(|at| Some((first_at(at), fresh(id, at)?)));
        let mut found = match in_time {
            Some((first, fresh)) => store.query(
                "SELECT seq FROM audit_row WHERE seq BETWEEN $1 AND $2 AND fresh = $3",
                &[first, first.saturating_add(LAST_TURN), fresh].map(Value::Int),
            )?,
            None => Vec::new(),
        };
        if found.is_empty() {
            found = store.query(
                "SELECT seq FROM audit_row WHERE name = $1",
                &[Value::text(id)],
            )?;
        }
        Ok(found.into_iter().flatten().next())
    }
}

/// Which way a list is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Towards {
    Older,
    Newer,
}

impl Towards {
    /// Of times, ids and numbers.
    pub(super) fn order(self) -> &'static str {
        match self {
            Self::Older => "DESC",
            Self::Newer => "ASC",
        }
    }

    /// Of rows that are newest first, keeps those that the walk meets first.
    pub(super) fn keep<T>(self, rows: &mut Vec<T>, limit: usize) {
        match self {
            Self::Older => rows.truncate(limit),
            Self::Newer => drop(rows.drain(..rows.len().saturating_sub(limit))),
        }
    }
}

/// Where a walk begins. The row that lies here is no part of it.
pub(super) enum Place {
    Key(i64, String),
    Number(i64),
}

impl Place {
    /// What rows are in order of first: a time, or all of it where that is a number.
    pub(super) fn lead(&self) -> i64 {
        match self {
            Self::Key(at, _) => *at,
            Self::Number(number) => *number,
        }
    }

    /// `sign`: how rows of the walk compare with it.
    fn term(&self, sql: &mut Sql, sign: &str) -> String {
        match self {
            Self::Key(at, id) => {
                let (at, id) = (sql.bind(Value::Int(*at)), sql.bind(Value::owned(id)));
                format!("(at_ms, id) {sign} ({at}, {id})")
            }
            Self::Number(number) => format!("seq {sign} {}", sql.bind(Value::Int(*number))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_begins_at_the_nearer_of_a_place_and_a_filters_bound() {
        let filter = Filter {
            since: Some(100),
            until: Some(200),
            ..Filter::default()
        };
        for (at, towards, on_key, on_number) in [
            (150, Towards::Older, "(at_ms, id) <", "seq <"),
            (150, Towards::Newer, "(at_ms, id) >", "seq >"),
            (250, Towards::Older, "at_ms <", "seq <"),
            (50, Towards::Newer, "at_ms >=", "seq >="),
        ] {
            let key = Place::Key(at, "id".into());
            let number = Place::Number(first_at(at) + 7);
            for (database, place, term) in [
                (Database::Postgres, key, on_key),
                (Database::Sqlite, number, on_number),
            ] {
                let mut sql = Sql::default();
                let start = Some((&place, towards));
                let terms = Lie::of(database).terms_of_rows(&mut sql, &filter, start);
                assert_eq!(terms.len(), 2, "one for each end: {terms:?}");
                let is_it = |said: &String| said.starts_with(&format!("{term} "));
                assert!(terms.iter().any(is_it), "{term}: {terms:?}");
            }
        }
    }
}
