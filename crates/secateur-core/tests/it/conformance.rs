//! Golden cases as exact bytes: `conformance/<strategy>/<case>/{case.md, policy.toml,
//! <dialect>.in.json, <dialect>.out.json}`.
//!
//! `SECATEUR_BLESS=1` writes the outputs instead of comparing them. Read the diff before you
//! commit it.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::fs;
use std::path::{Path, PathBuf};

use secateur_core::Dialect;
use secateur_core::policy::Policy;
use secateur_core::{Request, prune};
use secateur_testkit::invariants::hold;
use secateur_testkit::policies::Named;

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).unwrap_or_else(|error| panic!("{}: {error}", of.display()));
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Runs one input; returns what is wrong.
fn run(case: &Path, dialect: Dialect, policy: &Policy, bless: bool) -> Option<String> {
    let input = fs::read(case.join(format!("{dialect}.in.json"))).ok()?;
    let golden = case.join(format!("{dialect}.out.json"));
    let request = Request {
        dialect: Some(dialect),
        ..Request::default()
    };
    let outcome = prune(&input, &request, policy);
    let label = format!("{}/{}, {dialect}", name(case.parent().unwrap()), name(case));
    if let Some(error) = outcome.error {
        return Some(format!("{label}: {error}"));
    }
    let named = Named {
        name: label.clone(),
        policy: policy.clone(),
        is_idempotent: false,
    };
    if let Err(broken) = hold(dialect, &input, &named) {
        return Some(format!("{label}: {broken}"));
    }
    if bless {
        fs::write(&golden, &outcome.body).unwrap();
        return None;
    }
    let expected = fs::read(&golden).unwrap_or_default();
    (outcome.body != expected).then(|| {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        format!(
            "{label}\nexpected: {}\nfound:    {}",
            shown(&expected),
            shown(&outcome.body)
        )
    })
}

#[test]
fn every_golden_case_comes_out_byte_for_byte() {
    let bless = std::env::var_os("SECATEUR_BLESS").is_some();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for group in folders(&root) {
        for case in folders(&group) {
            assert!(
                case.join("case.md").is_file(),
                "{} says not what it shows",
                case.display()
            );
            let policy = fs::read_to_string(case.join("policy.toml")).unwrap();
            let policy = Policy::resolve(None, Some(&policy), &[]);
            let policy = policy.unwrap_or_else(|error| panic!("{}: {error}", case.display()));
            let before = count;
            for dialect in Dialect::ALL {
                count += usize::from(case.join(format!("{dialect}.in.json")).is_file());
                wrong.extend(run(&case, dialect, &policy, bless));
            }
            assert!(count > before, "{} has no input", case.display());
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} differ:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
    println!("{count} golden bodies");
}

/// Cases named `unchanged` hold what must not be touched at all.
#[test]
fn unchanged_cases_are_the_same_bytes_on_both_sides() {
    if std::env::var_os("SECATEUR_BLESS").is_some() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/unchanged");
    for case in folders(&root) {
        for dialect in Dialect::ALL {
            let read = |side: &str| fs::read(case.join(format!("{dialect}.{side}.json"))).ok();
            assert_eq!(read("in"), read("out"), "{}", case.display());
        }
    }
}
