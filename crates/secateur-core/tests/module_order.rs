//! The modules of the engine depend on each other in one direction: the `use` lines say so.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A module may use those above it in this list, never those below.
const ORDER: [&str; 15] = [
    "text", "options", "read", "cost", "tools", "plan", "request", "output", "arrival", "strategy",
    "cadence", "policy", "report", "receipt", "engine",
];

/// The same inside the folders.
const INSIDE: [(&str, &[&str]); 4] = [
    (
        "plan",
        &[
            "timeline",
            "summary",
            "recall_id",
            "placeholder",
            "edit",
            "mechanic",
            "draft",
            "context",
            "new_edits",
            "arriving_text",
            "inputs",
            "guard",
            "settle",
        ],
    ),
    (
        "cadence",
        &[
            "work_budget",
            "versions",
            "cache_use",
            "compose",
            "candidates",
            "rounds",
        ],
    ),
    (
        "output",
        &[
            "splice",
            "lower",
            "thinking_escape",
            "check",
            "verify",
            "recall",
            "sealed",
        ],
    ),
    (
        "tools",
        &[
            "class",
            "patch",
            "shell",
            "script",
            "call_args",
            "facts",
            "names",
        ],
    ),
];

#[test]
fn modules_use_only_what_comes_before_them() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    check(&source, "crate", &ORDER, &mut wrong);
    for (folder, order) in INSIDE {
        check(
            &source.join(folder),
            &format!("crate::{folder}"),
            order,
            &mut wrong,
        );
    }
    assert!(sources(&source).len() > 100, "the source is not there");
    assert!(wrong.is_empty(), "against the order:\n{}", wrong.join("\n"));
}

#[test]
fn an_edge_against_the_order_is_found() {
    let text = "use crate::read::view::View;\nuse crate::engine::prune;\n";
    assert_eq!(used(text, "crate"), BTreeSet::from(["engine", "read"]));
    assert_eq!(
        used("use crate::{engine, plan::edit};", "crate"),
        BTreeSet::from(["engine", "plan"])
    );
}

fn check(folder: &Path, path: &str, order: &[&str], wrong: &mut Vec<String>) {
    let place = |module: &str| order.iter().position(|known| *known == module);
    for file in sources(folder) {
        let inside = file.strip_prefix(folder).unwrap_or(&file);
        let module = inside
            .iter()
            .next()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let module = module.trim_end_matches(".rs");
        if ["lib", "mod"].contains(&module) {
            continue;
        }
        let Some(own) = place(module) else {
            wrong.push(format!("{path}::{module} is in no list of this test"));
            continue;
        };
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let used = used(without_tests(&text), path);
        let is_below = |other: &&str| place(other).is_some_and(|other| other > own);
        wrong.extend(
            used.into_iter()
                .filter(is_below)
                .map(|other| format!("{}: {path}::{other}", file.display())),
        );
    }
}

/// The files of a folder and of those inside it, tests left out.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    for entry in entries.flatten() {
        let path = entry.path();
        if path.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

fn without_tests(text: &str) -> &str {
    text.find("\n#[cfg(test)]\nmod tests {")
        .map_or(text, |at| &text[..at])
}

/// The modules that a text names as `path::module` or `path::{module, …}`, comments left out.
fn used<'t>(text: &'t str, path: &str) -> BTreeSet<&'t str> {
    let mut found = BTreeSet::new();
    let prefix = format!("{path}::");
    for line in text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
    {
        for (at, _) in line.match_indices(&prefix) {
            let rest = &line[at + prefix.len()..];
            let names = match rest.strip_prefix('{') {
                Some(list) => list.split(',').collect::<Vec<_>>(),
                None => vec![rest],
            };
            let name = |text: &'t str| {
                let text = text.trim_start();
                let end = text.find(|c: char| !c.is_ascii_lowercase() && c != '_');
                &text[..end.unwrap_or(text.len())]
            };
            found.extend(names.into_iter().map(name).filter(|name| !name.is_empty()));
        }
    }
    found
}
