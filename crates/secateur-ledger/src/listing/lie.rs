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

    /// The order of a list.
    pub(super) fn newest_first(&self, prefix: &str) -> String {
        match self.database {
            Database::Postgres => format!("{prefix}at_ms DESC, {prefix}id DESC"),
            Database::Sqlite => format!("{prefix}seq DESC"),
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

    /// Terms on session and time.
    pub(super) fn terms_of_rows(&self, sql: &mut Sql, filter: &Filter) -> Vec<String> {
        let mut terms = Vec::new();
        if let Some(session) = &filter.session {
            terms.push(format!("session = {}", sql.bind(Value::owned(session))));
        }
        let (column, from, to) = match self.database {
            Database::Postgres => ("at_ms", filter.since, filter.until),
            // From the first row on: a walk with a beginning.
            Database::Sqlite => (
                "seq",
                Some(filter.since.map_or(0, first_at)),
                filter.until.map(first_at),
            ),
        };
        if let Some(from) = from {
            terms.push(format!("{column} >= {}", sql.bind(Value::Int(from))));
        }
        if let Some(to) = to {
            terms.push(format!("{column} < {}", sql.bind(Value::Int(to))));
        }
        terms
    }

    /// Where a list goes on. A row that is gone took all before it along, if it was too old.
    pub(super) fn place(&self, store: &mut dyn Store, after: &After) -> Result<Place, LedgerError> {
        if self.database == Database::Postgres {
            return Ok(Place::Key(after.at, after.id.clone()));
        }
        if let Some(number) = self.find(store, &after.id)? {
            return Ok(Place::Number(number.into_int()?));
        }
        let bundled = bundles::find(store, &after.id)?;
        let number = bundled.map_or(first_at(after.at), |(number, _)| number);
        Ok(Place::Number(number))
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

/// Rows before this place in the list are behind.
pub(super) enum Place {
    Key(i64, String),
    Number(i64),
}

impl Place {
    /// Where rows lie by number.
    pub(super) fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Key(..) => None,
        }
    }

    pub(super) fn term(&self, sql: &mut Sql) -> String {
        match self {
            Self::Key(at, id) => {
                let (at, id) = (sql.bind(Value::Int(*at)), sql.bind(Value::owned(id)));
                format!("(at_ms, id) < ({at}, {id})")
            }
            Self::Number(number) => format!("seq < {}", sql.bind(Value::Int(*number))),
        }
    }
}
