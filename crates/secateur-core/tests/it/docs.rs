//! `docs/strategies/` and `docs/presets.md` are made from the code: what a strategy says of itself,
//! its options with their defaults, and a before and after from really running the engine on
//! `conformance/<strategy>/example`.
//!
//! `SECATEUR_BLESS=1` writes the pages; without it a page that is out of date fails the test.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use secateur_core::Dialect;
use secateur_core::internal::rounds::Rounds;
use secateur_core::policy::{M7, PRESETS, Policy};
use secateur_core::strategy::{self, OptionFact, StrategyFacts};
use secateur_core::{Request, prune};
use serde_json::value::RawValue;

const MADE: &str =
    "<!-- Made from the code: SECATEUR_BLESS=1 cargo test -p secateur-core --test it docs:: -->\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The dialect that shows an example, the shortest to read first.
const SHOWN: [Dialect; 2] = [Dialect::OpenaiChat, Dialect::AnthropicMessages];

/// The messages of a body, each as it is written.
fn messages(body: &[u8]) -> Vec<String> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_slice(body).unwrap();
    let list: Vec<&RawValue> = serde_json::from_str(members["messages"].get()).unwrap();
    list.iter().map(|item| item.get().to_owned()).collect()
}

/// The two lists side by side as a diff: lines that both have in order stay.
fn diff(before: &[String], after: &[String]) -> String {
    let mut common = vec![vec![0_usize; after.len() + 1]; before.len() + 1];
    for at in (0..before.len()).rev() {
        for to in (0..after.len()).rev() {
            common[at][to] = if before[at] == after[to] {
                common[at + 1][to + 1] + 1
            } else {
                common[at + 1][to].max(common[at][to + 1])
            };
        }
    }
    let (mut at, mut to) = (0, 0);
    let mut out = String::new();
    while at < before.len() || to < after.len() {
        let (sign, line) = match (before.get(at), after.get(to)) {
            (Some(was), Some(is)) if was == is => {
                (at, to) = (at + 1, to + 1);
                (' ', was)
            }
            (Some(was), _) if to == after.len() || common[at + 1][to] >= common[at][to + 1] => {
                at += 1;
                ('-', was)
            }
            (_, Some(is)) => {
                to += 1;
                ('+', is)
            }
            (_, None) => break,
        };
        writeln!(out, "{sign} {line}").unwrap();
    }
    out
}

/// Runs the engine on the strategy's example.
fn example(id: &str) -> String {
    let folder = root().join("conformance").join(id).join("example");
    let read = |name: String| fs::read(folder.join(name)).ok();
    let about = read("case.md".into()).unwrap_or_else(|| panic!("{id} has no example"));
    let policy = String::from_utf8(read("policy.toml".into()).unwrap()).unwrap();
    let resolved = Policy::resolve(None, Some(&policy), &[]).unwrap();
    let (dialect, body) = SHOWN
        .into_iter()
        .find_map(|dialect| Some((dialect, read(format!("{dialect}.in.json"))?)))
        .unwrap_or_else(|| panic!("the example of {id} is in no dialect that is shown"));
    let request = Request {
        dialect: Some(dialect),
        ..Request::default()
    };
    let outcome = prune(&body, &request, &resolved);
    let (before, after) = (messages(&body), messages(&outcome.body));
    assert_ne!(before, after, "the example of {id} shows nothing");
    format!(
        "{}\n```toml\n{policy}```\n\nThe messages before (`-`) and after (`+`), `{dialect}`, {} bytes \
         instead of {}:\n\n```diff\n{}```\n",
        String::from_utf8(about).unwrap(),
        outcome.body.len(),
        body.len(),
        diff(&before, &after)
    )
}

fn options(table: &str, options: &[OptionFact]) -> String {
    let mut out =
        format!("Table `[{table}]`.\n\n| key | default | meaning |\n| --- | --- | --- |\n");
    for option in options {
        let default = (option.default)();
        let default = if default.is_empty() {
            "not set".to_owned()
        } else {
            format!("`{}`", default.replace('\n', " "))
        };
        let about: Vec<&str> = option.about.trim().lines().map(str::trim).collect();
        let about = about.join(" ").replace('|', "\\|");
        writeln!(out, "| `{}` | {default} | {about} |", option.key).unwrap();
    }
    out
}

fn page(facts: &StrategyFacts, table: &str) -> String {
    format!(
        "{MADE}# {}\n\n{}\n\n## Before and after\n{}\n## Options\n{}",
        facts.id,
        facts.about().trim(),
        example(facts.id.0),
        options(table, facts.options)
    )
}

fn index() -> String {
    let mut out = format!(
        "{MADE}# Strategies\n\nContext pruning (mechanic M7) runs the strategies that a policy lists, in \
         the policy's order. Each sees what the ones before it decided.\n\n| strategy | what it does |\n| --- | --- |\n"
    );
    let line =
        |facts: &StrategyFacts| format!("| [{0}]({0}.md) | {1} |\n", facts.id, facts.summary());
    for facts in strategy::ALL {
        out += &line(facts);
    }
    out += "\nCompress (mechanic M3) is one strategy of its own, which runs when context pruning does not:\n\n\
            | strategy | what it does |\n| --- | --- |\n";
    out += &line(&strategy::COMPRESS);
    out += "\n## When context pruning looks at a request\n";
    out += &options("m7", M7::OPTIONS);
    out += "\n## When new cuts are taken\n`cadence = \"every-request\"` plans every request from scratch. \
            `cadence = \"rounds\"` shortens what has just arrived, and cuts what a cache may hold only when that pays.\n\n";
    out += &options("rounds", Rounds::OPTIONS);
    out += "\nBundles of strategies that ship with Secateur: [presets](../presets.md).\n";
    out
}

fn presets() -> String {
    let mut out = format!(
        "{MADE}# Presets\n\nA preset is a policy that ships with Secateur. A policy file may name one \
         (`preset = \"steady\"`) and override any of its keys; what neither says is at its \
         [default](strategies/README.md).\n"
    );
    for preset in PRESETS {
        let text = preset.toml().unwrap();
        let settings: Vec<&str> = text
            .lines()
            .skip_while(|line| line.starts_with('#') || line.is_empty())
            .collect();
        let policy = Policy::preset(preset.name).unwrap();
        let links: Vec<String> = policy
            .m7
            .strategies
            .iter()
            .map(|id| format!("[{id}](strategies/{id}.md)"))
            .collect();
        write!(
            out,
            "\n## {}\n{}\n\nStrategies: {}.\n\n```toml\n{}\n```\n",
            preset.name,
            preset.about(),
            links.join(", "),
            settings.join("\n")
        )
        .unwrap();
    }
    out
}

#[test]
fn the_pages_say_what_the_code_says() {
    let docs = root().join("docs");
    let mut pages = BTreeMap::new();
    for facts in strategy::ALL {
        pages.insert(
            format!("strategies/{}.md", facts.id),
            page(facts, facts.id.0),
        );
    }
    let compress = strategy::COMPRESS;
    pages.insert(
        format!("strategies/{}.md", compress.id),
        page(&compress, "m3"),
    );
    pages.insert("strategies/README.md".into(), index());
    pages.insert("presets.md".into(), presets());
    if std::env::var_os("SECATEUR_BLESS").is_some() {
        fs::create_dir_all(docs.join("strategies")).unwrap();
        for (name, text) in &pages {
            fs::write(docs.join(name), text).unwrap();
        }
        return;
    }
    let stale = pages
        .iter()
        .filter(|(name, text)| fs::read_to_string(docs.join(name)).ok().as_ref() != Some(text));
    let mut stale: Vec<String> = stale.map(|(name, _)| name.clone()).collect();
    for file in fs::read_dir(docs.join("strategies")).unwrap() {
        let name = format!("strategies/{}", file.unwrap().file_name().display());
        if !pages.contains_key(&name) {
            stale.push(format!("{name} (no such strategy)"));
        }
    }
    assert!(
        stale.is_empty(),
        "out of date, run with SECATEUR_BLESS=1: {stale:?}"
    );
}
