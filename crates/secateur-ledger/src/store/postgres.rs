//! PostgreSQL, for several replicas that share one ledger.

use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use postgres::types::private::BytesMut;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Config, NoTls, Statement};

use super::tls::Tls;
use super::{Database, Store, Value};
use crate::error::LedgerError;

/// Statements that are kept prepared on one connection.
const MAX_PREPARED: usize = 64;

pub(crate) struct Postgres {
    client: Client,
    prepared: HashMap<String, Statement>,
}

impl Postgres {
    pub(crate) fn open(config: &Config, tls: Option<&Tls>) -> Result<Self, LedgerError> {
        let mut config = config.clone();
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(5));
        }
        config.keepalives_idle(Duration::from_secs(10));
        config.tcp_user_timeout(Duration::from_secs(30));
        if config.get_application_name().is_none() {
            config.application_name("secateur-ledger");
        }
        let connected = match tls {
            Some(tls) => config.connect(tls.connector()),
            None => config.connect(NoTls),
        };
        let mut client = connected.map_err(explain)?;
        client
            .batch_execute("SET statement_timeout = '60s'; SET client_min_messages = 'warning'")
            .map_err(explain)?;
        Ok(Self {
            client,
            prepared: HashMap::new(),
        })
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, LedgerError> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        if self.prepared.len() >= MAX_PREPARED {
            self.prepared.clear();
        }
        let statement = self.client.prepare(sql).map_err(explain)?;
        self.prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Bool(is) => is.to_sql(ty, out),
            Self::Int(number) => number.to_sql(ty, out),
            Self::Real(number) => number.to_sql(ty, out),
            Self::Text(text) => text.as_ref().to_sql(ty, out),
            Self::Bytes(bytes) => bytes.as_ref().to_sql(ty, out),
        }
    }

    fn accepts(ty: &Type) -> bool {
        [
            Type::BOOL,
            Type::INT8,
            Type::FLOAT8,
            Type::TEXT,
            Type::BYTEA,
        ]
        .contains(ty)
    }

    to_sql_checked!();
}

fn value(row: &postgres::Row, at: usize) -> Result<Value<'static>, LedgerError> {
    let ty = row.columns()[at].type_();
    let read = || -> Result<Value<'static>, postgres::Error> {
        Ok(match *ty {
            Type::BOOL => row
                .try_get::<_, Option<bool>>(at)?
                .map_or(Value::Null, Value::Bool),
            Type::INT8 => row
                .try_get::<_, Option<i64>>(at)?
                .map_or(Value::Null, Value::Int),
            Type::INT4 => row
                .try_get::<_, Option<i32>>(at)?
                .map_or(Value::Null, |number| Value::Int(i64::from(number))),
            Type::FLOAT8 => row
                .try_get::<_, Option<f64>>(at)?
                .map_or(Value::Null, Value::Real),
            Type::BYTEA => row
                .try_get::<_, Option<Vec<u8>>>(at)?
                .map_or(Value::Null, |bytes| Value::Bytes(bytes.into())),
            _ => row
                .try_get::<_, Option<String>>(at)?
                .map_or(Value::Null, Value::owned),
        })
    };
    read().map_err(|error| LedgerError::Unreadable(error.to_string()))
}

/// Classes 22, 23 and 54 are about a value; 08, 40, 53 and 57 pass by themselves (connection, conflict,
/// resources, shutdown), and so does every error that did not come from the server.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err wants"
)]
fn explain(error: postgres::Error) -> LedgerError {
    let Some(db) = error.as_db_error() else {
        let mut words = error.to_string();
        if let Some(source) = error.source() {
            words += &format!(": {source}");
        }
        return LedgerError::Unreachable(words);
    };
    let code = db.code().code();
    let words = format!("{} ({code})", db.message());
    match code.get(..2) {
        Some("22" | "23" | "54") => LedgerError::BadValue(words),
        Some("08" | "40" | "53" | "57") => LedgerError::Unreachable(words),
        _ => LedgerError::Refused(words),
    }
}

impl Store for Postgres {
    fn database(&self) -> Database {
        Database::Postgres
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, LedgerError> {
        let statement = self.prepare(sql)?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        self.client.execute(&statement, &values).map_err(explain)
    }

    fn query(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Vec<Value<'static>>>, LedgerError> {
        let statement = self.prepare(sql)?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        let rows = self.client.query(&statement, &values).map_err(explain)?;
        rows.iter()
            .map(|row| (0..row.len()).map(|at| value(row, at)).collect())
            .collect()
    }

    fn script(&mut self, sql: &str) -> Result<(), LedgerError> {
        self.client.batch_execute(sql).map_err(explain)
    }

    fn begin(&mut self) -> Result<(), LedgerError> {
        self.script("BEGIN")
    }

    fn commit(&mut self) -> Result<(), LedgerError> {
        self.script("COMMIT")
    }

    fn rollback(&mut self) {
        let _ = self.client.batch_execute("ROLLBACK");
    }
}
