//! `secateur audit export`.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use secateur_ledger::{After, GroupBy, Ledger, Row};

use super::answer;
use super::args::{ExportArgs, ExportFormat};
use super::columns::{COLUMNS, Cell};
use super::parquet::ParquetWriter;
use super::show::json;
use crate::Failure;
use crate::destination::write_whole;
use crate::table::counted;

/// Rows that are asked for at once.
const PAGE: u32 = 5_000;
/// The same with their plans, each of which may have 256 KiB.
const PAGE_WITH_PLANS: u32 = 200;
/// Rows in one row group of a Parquet file.
const GROUP: usize = 50_000;

pub(crate) fn run(ledger: &Ledger, args: &ExportArgs) -> Result<(), Failure> {
    if args.plans && args.format != ExportFormat::Jsonl {
        return Err(Failure::bad_usage(
            "--plans: a plan is an object and fits no column. Write them with --format jsonl, or leave --plans out",
        ));
    }
    if args.output == Path::new("-") {
        return write(ledger, args, Box::new(io::stdout().lock())).map(|_| ());
    }
    let count = write_whole(&args.output, |file| write(ledger, args, Box::new(file)))?;
    anstream::eprintln!(
        "{} in {}",
        counted(count as u64, "row"),
        args.output.display()
    );
    Ok(())
}

fn write(ledger: &Ledger, args: &ExportArgs, out: Box<dyn Write>) -> Result<usize, Failure> {
    let filter = args.filter.filter();
    let sums = answer(ledger.totals(&filter, GroupBy::All))?;
    let bar = progress_bar(sums.first().map_or(0, |sum| sum.requests));
    let mut sink = Sink::new(args, BufWriter::new(out))?;
    let mut after: Option<After> = None;
    let mut count = 0;
    loop {
        let rows = if args.plans {
            answer(ledger.rows_with_plans(&filter, after.as_ref(), PAGE_WITH_PLANS))?
        } else {
            answer(ledger.rows(&filter, after.as_ref(), PAGE))?
        };
        let Some(last) = rows.last() else { break };
        after = Some(After::from(last));
        count += rows.len();
        bar.set_position(count as u64);
        sink.write(rows)?;
    }
    bar.finish_and_clear();
    sink.finish()?;
    Ok(count)
}

fn progress_bar(rows: u64) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} rows {eta}");
    ProgressBar::new(rows).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

enum Sink<W: Write> {
    Csv(W),
    Jsonl { out: W, plans: bool },
    Parquet(ParquetWriter<W>, Vec<Row>),
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err wants"
)]
fn broken(error: io::Error) -> Failure {
    // A reader that has seen enough is no failure of ours.
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failure::quiet_end();
    }
    Failure::bad_input(format!("cannot write the rows: {error}"))
}

/// Where plans were not asked for, nothing is said about them.
fn json_line(row: &Row, plans: bool) -> serde_json::Result<Vec<u8>> {
    let mut json = json(row);
    if let Some(object) = json.as_object_mut().filter(|_| !plans) {
        object.remove("plan");
    }
    let mut line = serde_json::to_vec(&json)?;
    line.push(b'\n');
    Ok(line)
}

impl<W: Write> Sink<W> {
    fn new(args: &ExportArgs, mut out: W) -> Result<Self, Failure> {
        Ok(match args.format {
            ExportFormat::Csv => {
                let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
                writeln!(out, "{}", names.join(",")).map_err(broken)?;
                Self::Csv(out)
            }
            ExportFormat::Jsonl => Self::Jsonl {
                out,
                plans: args.plans,
            },
            ExportFormat::Parquet => {
                Self::Parquet(ParquetWriter::new(out).map_err(broken)?, Vec::new())
            }
        })
    }

    fn write(&mut self, rows: Vec<Row>) -> Result<(), Failure> {
        match self {
            Self::Csv(out) => {
                for row in &rows {
                    writeln!(out, "{}", csv_line(row)).map_err(broken)?;
                }
            }
            Self::Jsonl { out, plans } => {
                for row in &rows {
                    let line = json_line(row, *plans).map_err(|error| broken(error.into()))?;
                    out.write_all(&line).map_err(broken)?;
                }
            }
            Self::Parquet(writer, waiting) => {
                waiting.extend(rows);
                if waiting.len() >= GROUP {
                    writer.write(waiting).map_err(broken)?;
                    waiting.clear();
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<(), Failure> {
        let mut out = match self {
            Self::Csv(out) | Self::Jsonl { out, .. } => out,
            Self::Parquet(mut writer, waiting) => {
                writer.write(&waiting).map_err(broken)?;
                writer.finish().map_err(broken)?
            }
        };
        out.flush().map_err(broken)
    }
}

fn csv_line(row: &Row) -> String {
    let cells: Vec<String> = COLUMNS
        .iter()
        .map(|column| csv_cell((column.get)(row)))
        .collect();
    cells.join(",")
}

/// Quoted where it must be. A text that a spreadsheet would take for a formula gets an apostrophe: model
/// names come from clients.
fn csv_cell(cell: Cell) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Int(number) => number.to_string(),
        Cell::Real(number) => number.to_string(),
        Cell::Bool(is) => is.to_string(),
        Cell::Text(mut text) => {
            if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
                text.insert(0, '\'');
            }
            if text.contains([',', '"', '\n', '\r']) {
                text = format!("\"{}\"", text.replace('"', "\"\""));
            }
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_cells_are_quoted_and_never_formulas() {
        let cell = |text: &str| csv_cell(Cell::Text(text.to_owned()));
        assert_eq!(cell("plain"), "plain");
        assert_eq!(cell("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
        assert_eq!(cell("=1+1"), "'=1+1");
        assert_eq!(csv_cell(Cell::Int(-5)), "-5");
        assert_eq!(csv_cell(Cell::Null), "");
    }
}
