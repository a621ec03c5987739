//! Arguments of `secateur audit`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum, ValueHint};
use secateur_ledger::{Filter, GroupBy, Millis};

use crate::time::parse_moment;

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Show the newest rows, and with -f those that come.
    #[command(after_help = "\
Examples:
  secateur audit tail
  secateur audit tail -f --workload agent
  secateur audit tail -n 100 --trouble --since 24h")]
    Tail(TailArgs),
    /// Show one row whole, with its plan: what was cut, by which strategy, why.
    #[command(after_help = "\
The id is in the response header x-secateur-request-id, in the log, and in the last column of `tail`. Its first
characters will do, where no other id begins with them.

Example:
  secateur audit show 4bf92f3577b34da6")]
    Show(ShowArgs),
    /// Write rows to a file: CSV, JSON lines or Parquet.
    #[command(after_help = "\
Examples:
  secateur audit export --format parquet -o rows.parquet --since 7d
  secateur audit export --format jsonl -o - --workload agent | jq .receipt
  secateur audit export --format jsonl -o - --plans --changed | jq '.plan.cuts[]?.strategy'")]
    Export(ExportArgs),
    /// Add up requests, sizes, cost and savings.
    #[command(after_help = "\
Examples:
  secateur audit stats
  secateur audit stats --by day --since 30d
  secateur audit stats --by model --workload agent --json")]
    Stats(StatsArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct LedgerArgs {
    /// The ledger: sqlite:PATH or postgres://…; without it the configuration's.
    #[arg(long, value_name = "URL")]
    pub(crate) ledger: Option<String>,
    /// The proxy's configuration; without it `secateur.toml` here, if there is one.
    #[arg(long, value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct FilterArgs {
    /// Of this workload.
    #[arg(long, short = 'w')]
    pub(crate) workload: Option<String>,
    /// With exactly this stack, such as m7; "" for none.
    #[arg(long)]
    pub(crate) stack: Option<String>,
    /// Of this model.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Of this conversation.
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// Only errors, requests without an answer, those whose original went out in doubt, and rejected changes.
    #[arg(long)]
    pub(crate) trouble: bool,
    /// Only requests that a mechanic changed.
    #[arg(long)]
    pub(crate) changed: bool,
    /// At or after: 2026-11-16, 2026-11-16T08:30 (UTC), or back from now: 30m, 24h, 7d.
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub(crate) since: Option<Millis>,
    /// Before; written like --since.
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub(crate) until: Option<Millis>,
}

impl FilterArgs {
    pub(crate) fn filter(&self) -> Filter {
        Filter {
            workload: self.workload.clone(),
            stack: self.stack.clone(),
            model: self.model.clone(),
            session: self.session.clone(),
            only_trouble: self.trouble,
            only_changed: self.changed,
            since: self.since,
            until: self.until,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct TailArgs {
    #[command(flatten)]
    pub(crate) place: LedgerArgs,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// How many of the rows that are there.
    #[arg(long, short = 'n', default_value_t = 20)]
    pub(crate) lines: u32,
    /// Go on showing rows as they come, until interrupted.
    #[arg(long, short)]
    pub(crate) follow: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) place: LedgerArgs,
    /// The request's id.
    pub(crate) id: String,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Comma-separated, with a head line.
    Csv,
    /// One JSON object a line.
    Jsonl,
    /// Apache Parquet.
    Parquet,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) place: LedgerArgs,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// How rows are written.
    #[arg(long, value_enum)]
    pub(crate) format: ExportFormat,
    /// With each row's plan: what was cut, by which strategy, why. Only for jsonl.
    #[arg(long)]
    pub(crate) plans: bool,
    /// The file to write (replaced only when complete); `-` is standard output.
    #[arg(long, short = 'o', value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
}

/// By what sums are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatsBy {
    /// Each workload.
    Workload,
    /// Each stack.
    Stack,
    /// Each model.
    Model,
    /// Each client key.
    Key,
    /// Each day, UTC.
    Day,
}

impl StatsBy {
    pub(crate) fn group(self) -> GroupBy {
        match self {
            Self::Workload => GroupBy::Workload,
            Self::Stack => GroupBy::Stack,
            Self::Model => GroupBy::Model,
            Self::Key => GroupBy::Key,
            Self::Day => GroupBy::Day,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    pub(crate) place: LedgerArgs,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// By what sums are made.
    #[arg(long, value_enum, default_value_t = StatsBy::Workload)]
    pub(crate) by: StatsBy,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
