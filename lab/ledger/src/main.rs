//! How fast the ledger takes rows and answers. `cargo run --release -p lab-ledger -- --rows 10000000 --write`
//!
//! Options: `--rows N` (default 1,000,000), `--passed` (nine of ten requests pass as they came, in bursts; else a mechanic looks at
//! all), `--sums` (those that pass leave sums and no rows), `--only sqlite|postgres`, `--dir FOLDER` for the databases (default: temporary), `--write` puts the table into
//! RESULTS.md, in place of the one of the same options.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark"
)]

mod rows;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use secateur_ledger::testing::Postgres;
use secateur_ledger::{After, Filter, GroupBy, Ledger, LedgerOptions, PassThrough, Row, id_time};

struct Options {
    rows: u64,
    passed: bool,
    sums: bool,
    only: Option<String>,
    dir: Option<PathBuf>,
    write: bool,
}

fn options() -> Options {
    let mut options = Options {
        rows: 1_000_000,
        passed: false,
        sums: false,
        only: None,
        dir: None,
        write: false,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().unwrap_or_else(|| panic!("{arg} wants a value"));
        match arg.as_str() {
            "--rows" => options.rows = value().parse().expect("--rows wants a number"),
            "--passed" => options.passed = true,
            "--sums" => options.sums = true,
            "--only" => options.only = Some(value()),
            "--dir" => options.dir = Some(value().into()),
            "--write" => options.write = true,
            other => panic!(
                "unknown option {other}: --rows N, --passed, --sums, --only sqlite|postgres, --dir FOLDER, --write"
            ),
        }
    }
    options
}

#[tokio::main]
async fn main() {
    let options = options();
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let folder = options
        .dir
        .clone()
        .unwrap_or_else(|| temporary.path().to_owned());
    let mut report = format!(
        "{} rows, {}\n\n| | SQLite | PostgreSQL |\n| --- | --: | --: |\n",
        options.rows,
        machine()
    );
    let wanted = |name: &str| options.only.as_deref().is_none_or(|only| only == name);
    let sqlite = if wanted("sqlite") {
        measure(
            &format!("sqlite:{}", folder.join("lab.db").display()),
            &folder.join("spool-s"),
            &options,
        )
        .await
    } else {
        Vec::new()
    };
    let postgres = if wanted("postgres") {
        let server = Postgres::launch();
        measure(&server.new_database(), &folder.join("spool-p"), &options).await
    } else {
        Vec::new()
    };
    let names = if sqlite.is_empty() {
        &postgres
    } else {
        &sqlite
    };
    for (at, (name, _)) in names.iter().enumerate() {
        let figure = |of: &[(String, String)]| {
            of.get(at)
                .map_or("–".to_owned(), |(_, figure)| figure.clone())
        };
        let _ = writeln!(
            report,
            "| {name} | {} | {} |",
            figure(&sqlite),
            figure(&postgres)
        );
    }
    println!("{report}");
    if options.write {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("RESULTS.md");
        let page = std::fs::read_to_string(&path).unwrap_or_default();
        std::fs::write(path, with_section(&page, &command(&options), &report)).expect("RESULTS.md");
    }
}

const HEAD: &str = "\
# Ledger: rows in, answers out

- **Question:** how many rows per second does the ledger take, and how long do the questions of the portal and the command line wait for an answer?
- **Command:** the heading of each table
- **Machine, date:** the line below each heading
- **Reading:** times are median (longest) of 30 runs, in ms. A table is one run, so only figures of one table can be compared.
";

/// What makes a table, which is also its name.
fn command(options: &Options) -> String {
    let mut command = format!(
        "cargo run --release -p lab-ledger -- --rows {}",
        options.rows
    );
    if options.passed {
        command += " --passed";
    }
    if options.sums {
        command += " --sums";
    }
    if let Some(only) = &options.only {
        let _ = write!(command, " --only {only}");
    }
    command + " --write"
}

/// The page with this section in place of the one of the same name, or at its end.
fn with_section(page: &str, name: &str, report: &str) -> String {
    let head = format!("## `{name}`");
    let mut sections: Vec<String> = page
        .split("\n## ")
        .skip(1)
        .map(|section| format!("## {}", section.trim_end()))
        .collect();
    let new = format!("{head}\n\n{}", report.trim_end());
    match sections
        .iter_mut()
        .find(|section| section.lines().next() == Some(head.as_str()))
    {
        Some(section) => *section = new,
        None => sections.push(new),
    }
    format!("{HEAD}\n{}\n", sections.join("\n\n"))
}

async fn measure(url: &str, spool: &Path, options: &Options) -> Vec<(String, String)> {
    let count = options.rows;
    let make = if options.passed {
        rows::passed
    } else {
        rows::row
    };
    let options = LedgerOptions {
        keep_days: 0,
        pass_through: if options.sums {
            PassThrough::Sums
        } else {
            PassThrough::Rows
        },
        ..LedgerOptions::new(url, spool)
    };
    let ledger = Ledger::open(options).await.expect("the ledger opens");
    let mut figures = fill(&ledger, count, make).await;
    let middle = After(id_time(rows::START + 15 * 86_400_000));
    let all = Filter::default();
    let workload = Filter {
        workload: Some("agent".into()),
        ..all.clone()
    };
    let rare = Filter {
        stack: Some("m8".into()),
        ..all.clone()
    };
    let mixed = Filter {
        workload: Some("nightly".into()),
        stack: Some("m8".into()),
        model: Some("gpt-6".into()),
        ..all.clone()
    };
    let nobody = Filter {
        workload: Some("nobody".into()),
        ..all.clone()
    };
    let trouble = Filter {
        only_trouble: true,
        workload: Some("rag".into()),
        ..all.clone()
    };
    let changed = Filter {
        only_changed: true,
        ..all.clone()
    };
    let session = Filter {
        session: rows::row(count / 2, count).session,
        ..all.clone()
    };
    for (name, filter, after) in [
        ("first page", &all, None),
        ("a page from the middle", &all, Some(&middle)),
        ("first page of the largest workload", &workload, None),
        ("first page of a rare stack", &rare, None),
        (
            "first page of a rare workload, stack and model",
            &mixed,
            None,
        ),
        ("first page of a workload without rows", &nobody, None),
        ("first page of one workload's trouble", &trouble, None),
        ("first page of changed requests", &changed, None),
        ("one session", &session, None),
    ] {
        let mut times = Vec::new();
        for _ in 0..30 {
            let start = Instant::now();
            ledger.rows(filter, after, 50).await.expect("rows");
            times.push(start.elapsed());
        }
        figures.push((name.to_owned(), spell(times)));
    }
    let last_day = Filter {
        since: Some(rows::START + 29 * 86_400_000 + 5_000_000),
        ..all.clone()
    };
    for (name, filter, by) in [
        ("savings by day", &all, GroupBy::Day),
        ("savings by workload", &all, GroupBy::Workload),
        ("savings of the last 22.6 hours", &last_day, GroupBy::All),
    ] {
        let mut times = Vec::new();
        for _ in 0..30 {
            let start = Instant::now();
            ledger.totals(filter, by).await.expect("totals");
            times.push(start.elapsed());
        }
        figures.push((name.to_owned(), spell(times)));
    }
    let mut times = Vec::new();
    for _ in 0..30 {
        let start = Instant::now();
        ledger.holdout("agent", 0).await.expect("holdout");
        times.push(start.elapsed());
    }
    figures.push(("held-out sessions compared".to_owned(), spell(times)));
    ledger.close().await;
    figures
}

/// Recording never waits, so the load does: a proxy's requests come over time.
async fn fill(ledger: &Ledger, count: u64, make: fn(u64, u64) -> Row) -> Vec<(String, String)> {
    let making = cpu_of_making(count, make);
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let mut told = Instant::now();
    for number in 0..count {
        ledger.record(make(number, count));
        if number % 500 == 0 {
            while ledger.stats().queued > 6_000 {
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
            if told.elapsed() > Duration::from_secs(5) {
                println!("{number} rows in {:.0} s", start.elapsed().as_secs_f64());
                told = Instant::now();
            }
        }
    }
    while ledger.stats().written < count {
        assert_eq!(ledger.stats().lost, 0, "{:?}", ledger.stats());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let rate = count as f64 / start.elapsed().as_secs_f64();
    let cpu = (cpu_seconds() - cpu) / count as f64 - making;
    vec![
        ("rows taken per second".to_owned(), format!("{rate:.0}")),
        (
            "µs of this process's CPU per row, recording and writing".to_owned(),
            format!("{:.1}", cpu * 1e6),
        ),
    ]
}

/// CPU seconds for making one of the rows, which is no work of the ledger's.
fn cpu_of_making(count: u64, make: fn(u64, u64) -> Row) -> f64 {
    let (start, sample) = (cpu_seconds(), count.min(500_000));
    for number in 0..sample {
        std::hint::black_box(make(number, count));
    }
    (cpu_seconds() - start) / sample.max(1) as f64
}

/// CPU time of all threads of this process, from `/proc`; the kernel counts in hundredths of a second.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may have spaces in it.
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    ticks as f64 / 100.0
}

fn spell(mut times: Vec<Duration>) -> String {
    times.sort();
    let ms = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1_000.0);
    format!(
        "{:.2} ({:.2})",
        ms(times.get(times.len() / 2)),
        ms(times.last())
    )
}

fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or("unknown");
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{cores} cores of {}, load average {} at the start",
        model.trim_start_matches([' ', '\t', ':']),
        load.split(' ').next().unwrap_or("?")
    )
}
