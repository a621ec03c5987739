//! The audit ledger: one row per request, what was saved, what the canary saw, what people switched,
//! and (opt-in) the text that was cut. Embedded SQLite, or PostgreSQL for several replicas.
//!
//! Recording never blocks and never fails: rows go through a bounded queue to the ledger's own threads,
//! and to a spool on disk while the database is slow or gone.

#![deny(missing_docs)]

mod audit_table;
mod captured;
mod control;
mod decisions;
mod ended_sessions;
mod error;
mod frame;
mod holdout;
mod housekeeping;
mod ingest;
mod late_plan;
mod ledger;
mod listing;
pub mod moment;
mod money;
mod mover;
mod opening;
mod options;
pub mod private;
mod query;
mod queue;
mod read_pool;
mod record;
mod rollup;
mod row;
mod same_file;
mod schema;
mod scores;
mod seal;
mod shared;
pub mod shown;
mod slot;
mod spending;
mod spool;
mod stats;
mod store;
mod sums;
#[cfg(feature = "testing")]
pub mod testing;
mod totals;
mod write_throttle;
mod writer;

pub use captured::{CapturedCut, Recalled};
pub use control::{Controls, Retired, Score, StackEvent, StackEventKind, Switch};
pub use error::LedgerError;
pub use late_plan::LatePlan;
pub use ledger::Ledger;
pub use moment::{day_of, day_start};
pub use money::{Money, ratio};
pub use options::{CaptureLimits, LedgerOptions, PassThrough, default_url, url_beside};
pub use query::{After, DayScore, Filter, GroupBy, Holdout, Totals};
pub use row::{CompressRow, Millis, ReceiptRow, Row, StepRow, UsageRow, id_time};
pub use spending::{Purpose, Spending, SpentDay};
pub use stats::LedgerStats;
