//! What the documentation says is so: its links lead somewhere, its configurations load, its list of metrics is complete.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use secateur_core::Policy;
use secateur_ledger::{Ledger, LedgerOptions};
use secateur_mock::MockOptions;
use secateur_proxy::{Config, LedgerSink};

use crate::stage::{Stage, chat};

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// All files below a folder whose names end like this.
fn below(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && name != "node_modules" && name != "target" {
            below(&path, ending, found);
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
}

/// The pages that people read.
fn pages() -> Vec<PathBuf> {
    let root = root();
    let mut pages = Vec::new();
    for entry in fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "md") {
            pages.push(path);
        }
    }
    for folder in ["docs", "lab", "tests", "conformance", "crates"] {
        below(&root.join(folder), ".md", &mut pages);
    }
    assert!(pages.len() > 30, "{pages:?}");
    pages
}

/// A page without its blocks of code, line by line.
fn prose(text: &str) -> Vec<&str> {
    let mut is_code = false;
    let is_prose = |line: &&str| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    };
    text.lines().filter(is_prose).collect()
}

/// What follows each `](` up to its `)`, outside of code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        // Every second piece is between backticks.
        let plain: Vec<&str> = line.split('`').collect();
        let shown: String = if plain.len() % 2 == 1 {
            plain.iter().step_by(2).copied().collect()
        } else {
            line.to_owned()
        };
        for rest in shown.split("](").skip(1) {
            found.push(rest.split(')').next().unwrap().to_owned());
        }
    }
    found
}

/// The names by which headings are linked to.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).into_iter().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let words = line.trim_start_matches('#').trim().to_lowercase();
            let kept = |letter: char| match letter {
                ' ' => Some('-'),
                letter if letter.is_alphanumeric() || "-_".contains(letter) => Some(letter),
                _ => None,
            };
            words.chars().filter_map(kept).collect()
        })
        .collect()
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => page.clone(),
                file => page.parent().unwrap().join(file),
            };
            let has_anchor = || {
                let text = fs::read_to_string(&target).unwrap_or_default();
                anchors(&text).contains(anchor)
            };
            if !target.exists() || (!anchor.is_empty() && !has_anchor()) {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_page_that_the_code_names_exists() {
    let root = root();
    let mut sources = Vec::new();
    for (folder, ending) in [
        ("crates", ".rs"),
        ("deploy", ""),
        ("tools", ""),
        ("release", ""),
    ] {
        below(&root.join(folder), ending, &mut sources);
    }
    // A file in the sessions that tests make up.
    let made_up = "docs/design.md";
    let mut broken = Vec::new();
    for source in sources {
        let text = String::from_utf8_lossy(&fs::read(&source).unwrap()).into_owned();
        for (at, _) in text.match_indices("docs/") {
            let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_/.".contains(letter);
            let name: String = text[at..].chars().take_while(|&one| is_part(one)).collect();
            let Some((name, _)) = name.split_once(".md") else {
                continue;
            };
            let name = format!("{name}.md");
            if name != made_up && !root.join(&name).exists() {
                broken.push(format!("{}: {name}", source.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The blocks of TOML on a page.
fn settings(text: &str) -> Vec<String> {
    let blocks = text.split("```toml\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap().to_owned())
        .collect()
}

#[test]
fn every_configuration_in_the_documentation_loads() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("support.toml"), "preset = \"tessera\"\n").unwrap();
    let env = |name: &str| {
        Some(match name {
            "DATABASE_URL" => "postgres://user@localhost/ledger".to_owned(),
            "SECATEUR_CAPTURE_KEY" => "0".repeat(64),
            _ => "a-secret-of-many-letters".to_owned(),
        })
    };
    let mut count = 0;
    for page in pages() {
        // A page of a strategy shows the policy of its example, which another test runs.
        for block in settings(&fs::read_to_string(&page).unwrap()) {
            let as_policy = Policy::resolve(None, Some(&block), &[]);
            let as_config = Config::read("secateur.toml", &block, folder.path(), &env);
            if let (Err(policy), Err(config)) = (&as_policy, &as_config) {
                let page = page.display();
                panic!("{page}\n{block}\nas a policy: {policy}\nas a configuration: {config}");
            }
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

/// Names of metrics with their type and labels, by the tables of the page.
fn documented(text: &str) -> BTreeMap<String, (String, BTreeSet<String>)> {
    let mut found = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| `secateur_")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let names = |cell: &str| -> BTreeSet<String> {
            let quoted = cell.split('`').skip(1).step_by(2);
            quoted.map(str::to_owned).collect()
        };
        let name = names(cells[1]).pop_first().unwrap();
        let facts = (cells[2].to_owned(), names(cells[3]));
        assert!(
            found.insert(name, facts).is_none() && !cells[4].is_empty(),
            "{line}"
        );
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_metrics_has_their_kinds_and_labels() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("ledger.db").display());
    let options = LedgerOptions::new(url, folder.path().join("spool"));
    let ledger = Ledger::open(options).await.unwrap();
    let attached = ledger.clone();
    let stage = Stage::with(
        "[workload.pruned]\npreset = \"steady\"\n",
        MockOptions::default(),
        move |parts| {
            parts.sink = Arc::new(LedgerSink(attached.clone()));
            parts.ledger = Some(attached);
        },
    )
    .await;
    for path in [
        "/w/pruned/v1/chat/completions",
        "/w/nowhere/v1/chat/completions",
    ] {
        assert_eq!(stage.post(path, &[], chat()).await.status, 200);
    }
    // A request is counted once its response is through.
    let mut page = String::new();
    for _ in 0..500 {
        page = String::from_utf8(stage.get("/metrics").await.body.to_vec()).unwrap();
        if page.contains("secateur_unknown_workloads_total{") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let text = fs::read_to_string(root().join("docs/metrics.md")).unwrap();
    let documented = documented(&text);
    // The type's line has the name of a counter without `_total`.
    let served: BTreeMap<String, &str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .map(|(name, kind)| match kind {
            "counter" => (format!("{name}_total"), kind),
            _ => (name.to_owned(), kind),
        })
        .collect();
    for (name, kind) in served {
        let listed = documented.get(&name).map(|(kind, _)| kind.as_str());
        assert_eq!(listed, Some(kind), "docs/metrics.md: {name}");
    }
    let mut labelled = 0;
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, rest)) = line.split_once('{') else {
            continue;
        };
        let parts = ["_bucket", "_sum", "_count"];
        let family = parts.iter().find_map(|part| name.strip_suffix(part));
        let (_, labels) = &documented[family.unwrap_or(name)];
        let (inside, _) = rest.rsplit_once('}').unwrap();
        for label in inside.split("\",") {
            let (label, _) = label.split_once('=').unwrap();
            assert!(
                labels.contains(label),
                "docs/metrics.md: {name} has the label {label}"
            );
            labelled += 1;
        }
    }
    assert!(labelled > 20, "{page}");
    stage.proxy.shutdown().await;
    ledger.close().await;
}
