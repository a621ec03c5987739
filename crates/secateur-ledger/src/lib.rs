//! The audit ledger: one row per request, what was saved, what the canary saw, what people switched,
//! and (opt-in) the text that was cut. Embedded SQLite, or PostgreSQL for several replicas.

mod control;
mod query;
mod row;

pub use control::{Controls, Retired, Score, StackEvent, StackEventKind, Switch};
pub use query::{After, DayScore, Filter, GroupBy, Holdout, Totals};
pub use row::{CompressRow, Millis, ReceiptRow, Row, StepRow, UsageRow};
