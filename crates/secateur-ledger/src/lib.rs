//! The audit ledger: one row per request, what was saved, what the canary saw, what people switched,
//! and (opt-in) the text that was cut. Embedded SQLite, or PostgreSQL for several replicas.
//!
//! Recording never blocks and never fails: rows go through a bounded queue to the ledger's own threads,
//! and to a spool on disk while the database is slow or gone.

mod alike;
mod bundle;
mod captured;
mod columns;
mod control;
mod decisions;
mod desk;
mod ended_sessions;
mod entry;
mod error;
mod frame;
mod holdout;
mod housekeeping;
mod ingest;
mod lanes;
mod late_plan;
mod ledger;
mod listing;
pub mod moment;
mod number;
mod opening;
mod options;
mod pace;
mod packed;
mod plain;
pub mod private;
mod query;
mod queue;
mod record;
mod rollup;
mod row;
mod same_file;
mod scores;
mod seal;
mod shadow;
mod sheaf;
pub mod shown;
mod slot;
mod spool;
mod stats;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod totals;
mod worker;

pub use alike::{Alike, Likeness};
pub use captured::{CapturedCut, Recalled};
pub use control::{Controls, Retired, Score, StackEvent, StackEventKind, Switch};
pub use error::LedgerError;
pub use late_plan::LatePlan;
pub use ledger::Ledger;
pub use moment::{day_of, day_start};
pub use options::{CaptureLimits, LedgerOptions, default_url, url_beside};
pub use plain::Figures;
pub use query::{After, DayScore, Filter, GroupBy, Holdout, Totals};
pub use row::{CompressRow, Millis, ReceiptRow, Row, StepRow, UsageRow};
pub use shadow::{ShadowCall, ShadowCost};
pub use stats::LedgerStats;
