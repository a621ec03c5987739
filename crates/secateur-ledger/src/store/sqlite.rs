//! SQLite in a file, for one machine. Write-ahead log, every commit synced: a committed batch survives
//! kill -9 and a power cut. Readers never wait for the writer.

use std::path::Path;
use std::time::Duration;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, params_from_iter};

use super::{Database, Store, Value};
use crate::error::LedgerError;
use crate::private;

const PAGE_BYTES: u32 = 16 << 10;
/// What the log may come to before it is brought home, in pages as above.
const LOG_BYTES: u32 = 8 << 20;

pub(crate) struct Sqlite {
    connection: Connection,
}

impl Sqlite {
    pub(crate) fn open(path: &Path, read_only: bool) -> Result<Self, LedgerError> {
        let unusable = |reason: String| LedgerError::File {
            path: path.to_owned(),
            reason,
        };
        let connection = match Self::connect(path, read_only) {
            Err(error) if read_only && cannot_write(&error) => {
                open_untouched(path, &error).map_err(unusable)
            }
            Err(error) if !read_only && may_pass(path, &error) => Err(LedgerError::FileAway {
                path: path.to_owned(),
                reason: error.to_string(),
            }),
            connected => connected.map_err(|error| unusable(error.to_string())),
        };
        Ok(Self {
            connection: connection?,
        })
    }

    fn connect(path: &Path, read_only: bool) -> rusqlite::Result<Connection> {
        let flags = if read_only {
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX
        } else {
            OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_NO_MUTEX
        };
        if !read_only {
            make_private(path);
        }
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        if !read_only && !is_foreign(&connection)? {
            // Of a new file. Rows are a few hundred bytes; larger pages mean fewer of them to write.
            connection.pragma_update(None, "page_size", PAGE_BYTES)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            // Small, because all of it is brought home at once.
            connection.pragma_update(None, "wal_autocheckpoint", LOG_BYTES / PAGE_BYTES)?;
        }
        // Negative: in KiB. Who writes comes back to few pages, and what is kept of others is memory that is far away.
        let cache_kib = if read_only { 64 * 1024 } else { 4 * 1024 };
        set_up(connection, cache_kib)
    }
}

/// Whether it has tables and none of ours. Nothing about such a file is changed.
fn is_foreign(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_master) \
               AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'meta')";
    connection.query_row(sql, [], |row| row.get(0))
}

fn set_up(connection: Connection, cache_kib: i32) -> rusqlite::Result<Connection> {
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -cache_kib)?;
    connection.set_prepared_statement_cache_capacity(64);
    // A file that is not a database shows it at the first read.
    connection.query_row("SELECT COUNT(*) FROM sqlite_master", [], |_| Ok(()))?;
    Ok(connection)
}

/// SQLite gives the files beside its database the rights of the database, and so does this where they are there already.
fn make_private(path: &Path) {
    private::create_file(path);
    for ending in ["-wal", "-shm"] {
        let mut beside = path.as_os_str().to_owned();
        beside.push(ending);
        private::narrow_file(Path::new(&beside));
    }
}

/// Whether the same may succeed later: it is the disk's fault, or somebody has to put another file there. A folder that
/// does not exist is a mistake in the configuration.
fn may_pass(path: &Path, error: &rusqlite::Error) -> bool {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let is_passing = matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::NotADatabase
        )
    );
    is_passing && folder.is_none_or(Path::is_dir)
}

/// SQLite writes beside a file also to read it.
fn cannot_write(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen)
    )
}

/// Opens a file beside which nothing can be written: nobody else writes there either, so it stays as it is.
fn open_untouched(path: &Path, error: &rusqlite::Error) -> Result<Connection, String> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if !path.exists() {
        return Err(error.to_string());
    }
    if std::fs::metadata(log).is_ok_and(|log| log.len() > 0) {
        return Err(format!(
            "{error}; its newest rows are in the -wal beside it: copy both to a folder that can be written"
        ));
    }
    let name = utf8_percent_encode(&path.to_string_lossy(), &RESERVED).to_string();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(format!("file:{name}?immutable=1"), flags)
        .and_then(|connection| set_up(connection, 64 * 1024))
        .map_err(|error| error.to_string())
}

/// What has a meaning in the address of a file.
const RESERVED: AsciiSet = CONTROLS.add(b'%').add(b'?').add(b'#');

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Bool(is) => ValueRef::Integer(i64::from(*is)),
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn value(from: ValueRef<'_>) -> Value<'static> {
    match from {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::owned(String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec().into()),
    }
}

/// Only what no repetition can mend is the value's own fault.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err wants"
)]
fn explain(error: rusqlite::Error) -> LedgerError {
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig) => {
            LedgerError::BadValue(error.to_string())
        }
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::OutOfMemory
            | ErrorCode::ReadOnly,
        ) => LedgerError::Unreachable(error.to_string()),
        _ => LedgerError::Refused(error.to_string()),
    }
}

/// `$1` as SQLite counts parameters. No statement holds a dollar sign for another reason.
fn numbered(sql: &str) -> String {
    sql.replace('$', "?")
}

impl Store for Sqlite {
    fn database(&self) -> Database {
        Database::Sqlite
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, LedgerError> {
        let mut statement = self
            .connection
            .prepare_cached(&numbered(sql))
            .map_err(explain)?;
        let changed = statement
            .execute(params_from_iter(values))
            .map_err(explain)?;
        Ok(changed as u64)
    }

    fn query(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Vec<Value<'static>>>, LedgerError> {
        let mut statement = self
            .connection
            .prepare_cached(&numbered(sql))
            .map_err(explain)?;
        let width = statement.column_count();
        let mut rows = statement.query(params_from_iter(values)).map_err(explain)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(explain)? {
            let mut values = Vec::with_capacity(width);
            for at in 0..width {
                values.push(value(row.get_ref(at).map_err(explain)?));
            }
            found.push(values);
        }
        Ok(found)
    }

    fn script(&mut self, sql: &str) -> Result<(), LedgerError> {
        self.connection.execute_batch(sql).map_err(explain)
    }

    /// Takes the write lock at once: a transaction that reads first could not upgrade under contention.
    fn begin(&mut self) -> Result<(), LedgerError> {
        self.script("BEGIN IMMEDIATE")
    }

    fn commit(&mut self) -> Result<(), LedgerError> {
        self.script("COMMIT")
    }

    fn rollback(&mut self) {
        // After some errors SQLite has rolled back by itself; then there is nothing to do.
        let _ = self.connection.execute_batch("ROLLBACK");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beside_which_nothing_can_be_written_is_read_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a 50 % copy?#.db");
        let mut made = Sqlite::open(&path, false).unwrap();
        made.script("CREATE TABLE t (x); INSERT INTO t VALUES (7)")
            .unwrap();
        let refused = || rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(8), None);
        let told = open_untouched(&path, &refused()).unwrap_err();
        assert!(told.contains("copy both"), "{told}");
        drop(made);
        let connection = open_untouched(&path, &refused()).unwrap();
        let found: i64 = connection
            .query_row("SELECT x FROM t", [], |row| row.get(0))
            .unwrap();
        assert_eq!(found, 7);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let missing = open_untouched(&folder.path().join("none"), &refused());
        assert!(missing.is_err());
    }
}
