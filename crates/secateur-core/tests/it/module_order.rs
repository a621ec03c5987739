//! The modules of the engine depend on each other in one direction: the paths in their source say so.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module at the root of the engine may use those above it in this list, never those below.
const ORDER: [&str; 15] = [
    "text", "options", "read", "cost", "tools", "plan", "request", "output", "arrival", "strategy",
    "cadence", "policy", "report", "receipt", "engine",
];

#[test]
fn modules_use_only_what_comes_before_them() {
    let graph = Graph::read(&source_of("secateur-core"));
    let place = |module: &str| ORDER.iter().position(|known| *known == module);
    for module in graph.modules.keys().filter_map(|path| path.first()) {
        assert!(place(module).is_some(), "{module} is not in the list");
    }
    let edges = graph.edges();
    let wrong: Vec<&Edge> = edges
        .iter()
        .filter(|edge| edge.folder.is_empty() && place(&edge.to) > place(&edge.from))
        .collect();
    assert!(wrong.is_empty(), "against the order: {wrong:#?}");
}

#[test]
fn modules_of_one_folder_form_no_cycle() {
    let crates = [
        "secateur-json",
        "secateur-rank",
        "secateur-condense",
        "secateur-tokens",
        "secateur-core",
        "secateur-testkit",
        "secateur-mock",
        "secateur-replay",
        "secateur-ledger",
        "secateur-canary",
        "secateur-proxy",
        "secateur-portal",
        "secateur",
    ];
    let mut found = BTreeMap::new();
    for name in crates {
        let graph = Graph::read(&source_of(name));
        assert!(!graph.modules.is_empty(), "no source of {name}");
        found.insert(name, cycles(graph.edges()));
    }
    found.retain(|_, edges| !edges.is_empty());
    assert!(found.is_empty(), "cycles: {found:#?}");
}

#[test]
fn a_cycle_is_found_at_every_level_and_through_every_kind_of_path() {
    let files = [
        ("mod_a", "use crate::{mod_b, mod_c::{self, Thing}};"),
        ("mod_b", "fn f() { super::mod_a::g() }"),
        (
            "mod_c",
            "mod one;\nmod two;\nmod three;\npub use two::Thing as Renamed;",
        ),
        (
            "mod_c/one",
            "use super::Renamed;\nuse super::super::mod_d::X;",
        ),
        ("mod_c/two", "use super::{\n    three,\n    Own,\n};"),
        (
            "mod_c/three",
            "use self::deeper::Y;\nuse crate::mod_c::one::Z;",
        ),
        ("mod_c/three/deeper", "use super::Parent;"),
        (
            "mod_d",
            "// use crate::mod_c;\n#[cfg(test)]\nmod tests {\n    use crate::mod_c;\n}",
        ),
    ];
    let found: BTreeSet<String> = cycles(
        Graph::of(files.map(|(path, text)| {
            let path = path.split('/').map(str::to_owned).collect();
            (path, text.to_owned())
        }))
        .edges(),
    )
    .iter()
    .map(|edge| format!("{}:{}>{}", edge.folder.join("/"), edge.from, edge.to))
    .collect();
    let expected = [
        ":mod_a>mod_b",
        ":mod_b>mod_a",
        "mod_c:one>two",
        "mod_c:three>one",
        "mod_c:two>three",
    ];
    assert_eq!(found, expected.map(str::to_owned).into());
}

/// The names from the root of a crate to a module, or to an item of one.
type ModulePath = Vec<String>;

/// The modules of a crate, by their paths, with what they use. Tests are left out.
struct Graph {
    modules: BTreeMap<ModulePath, Module>,
}

struct Module {
    /// All paths into the crate that its source names.
    uses: BTreeSet<ModulePath>,
    /// What its `use` lines bring in, by the name that it has here.
    imports: BTreeMap<String, ModulePath>,
}

/// One submodule of a folder uses another one.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    folder: ModulePath,
    from: String,
    to: String,
    /// The module that has the path, and the module that it leads to.
    because: (String, String),
}

impl Graph {
    fn read(source: &Path) -> Self {
        let files = files(source).into_iter().map(|file| {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let inside = file
                .strip_prefix(source)
                .unwrap_or(&file)
                .with_extension("");
            let names = inside
                .iter()
                .map(|name| name.to_string_lossy().into_owned());
            (
                names
                    .filter(|name| name != "mod" && name != "lib" && name != "main")
                    .collect(),
                text,
            )
        });
        Self::of(files)
    }

    fn of(files: impl IntoIterator<Item = (ModulePath, String)>) -> Self {
        let files: BTreeMap<ModulePath, String> = files.into_iter().collect();
        let is_module = |path: &[String]| files.contains_key(path);
        let modules = files.iter().map(|(own, text)| {
            let module = Module::read(own, without_tests_and_comments(text).as_str(), &is_module);
            (own.clone(), module)
        });
        let modules = modules.collect();
        Self { modules }
    }

    /// The module that a path leads to, also where a module on the way only passes a name on.
    fn resolve(&self, path: &[String]) -> ModulePath {
        let mut path = path.to_vec();
        for _ in 0..self.modules.len() {
            let is_module = |end: &usize| self.modules.contains_key(&path[..*end]);
            let end = (0..=path.len()).rev().find(is_module).unwrap_or(0);
            let import = path.get(end).and_then(|name| {
                let module = self.modules.get(&path[..end])?;
                module.imports.get(name).filter(|target| **target != path)
            });
            let Some(target) = import else {
                path.truncate(end);
                break;
            };
            path = [target, &path[end + 1..]].concat();
        }
        path
    }

    /// Edges between submodules of one folder. Those between a module and the folders around it do not count.
    fn edges(&self) -> BTreeSet<Edge> {
        let mut edges = BTreeSet::new();
        for (own, module) in &self.modules {
            for target in module.uses.iter().map(|path| self.resolve(path)) {
                let shared = own
                    .iter()
                    .zip(&target)
                    .take_while(|(one, other)| one == other);
                let shared = shared.count();
                if let (Some(from), Some(to)) = (own.get(shared), target.get(shared)) {
                    edges.insert(Edge {
                        folder: own[..shared].to_vec(),
                        from: from.clone(),
                        to: to.clone(),
                        because: (own.join("::"), target.join("::")),
                    });
                }
            }
        }
        edges
    }
}

impl Module {
    fn read(own: &[String], text: &str, is_module: &dyn Fn(&[String]) -> bool) -> Self {
        let mut module = Self {
            uses: BTreeSet::new(),
            imports: BTreeMap::new(),
        };
        for (at, word) in words(text) {
            let is_import = text[..at].trim_end().ends_with("use");
            let child = [own, &[word.to_owned()]].concat();
            let starts_path = match word {
                "crate" | "super" | "self" => text[at + word.len()..].starts_with("::"),
                _ => is_import && is_module(&child),
            };
            let is_inside_path = text[..at].trim_end().ends_with("::");
            if !starts_path || is_inside_path {
                continue;
            }
            let mut found = Vec::new();
            let start = if word == "crate" { &[] } else { own };
            read_tree(&text[at..], start.to_vec(), &mut found);
            for (path, name) in found {
                if is_import {
                    module.imports.insert(name, path.clone());
                }
                module.uses.insert(path);
            }
        }
        module
    }
}

/// Reads `a::b::{c, d as e}`: every path in it, and the name that it gives. Returns what follows.
fn read_tree<'t>(
    text: &'t str,
    mut path: ModulePath,
    found: &mut Vec<(ModulePath, String)>,
) -> &'t str {
    let mut rest = text.trim_start();
    loop {
        if let Some(list) = rest.strip_prefix('{') {
            rest = list;
            while !rest.trim_start().is_empty() {
                rest = read_tree(rest, path.clone(), found).trim_start();
                rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
                if let Some(behind) = rest.strip_prefix('}') {
                    return behind;
                }
            }
            return rest;
        }
        let word = first_word(rest);
        rest = &rest[word.len()..];
        match word {
            "crate" => path.clear(),
            "super" => drop(path.pop()),
            "self" => {}
            _ => path.push(word.to_owned()),
        }
        match rest.strip_prefix("::") {
            Some(behind) => rest = behind,
            None => break,
        }
    }
    let renamed = rest.strip_prefix(" as ").map(first_word);
    let name = renamed
        .or(path.last().map(String::as_str))
        .unwrap_or_default();
    found.push((path.clone(), name.to_owned()));
    // Whatever else is here (a star, type arguments) ends the path.
    &rest[rest.find([',', '}', ';']).unwrap_or(rest.len())..]
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// All words of a text, and where they start.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let start = at + text[at..].find(is_word)?;
        let word = first_word(&text[start..]);
        at = start + word.len();
        Some((start, word))
    })
}

/// The edges that are part of a cycle: those between modules of one folder that reach each other.
fn cycles(edges: BTreeSet<Edge>) -> Vec<Edge> {
    let mut left: Vec<Edge> = edges.into_iter().collect();
    loop {
        let leads_on = |edge: &Edge, others: &[Edge]| {
            others
                .iter()
                .any(|next| next.folder == edge.folder && next.from == edge.to)
                && others
                    .iter()
                    .any(|before| before.folder == edge.folder && before.to == edge.from)
        };
        let keep: Vec<bool> = left.iter().map(|edge| leads_on(edge, &left)).collect();
        if keep.iter().all(|keep| *keep) {
            return left;
        }
        let mut keep = keep.into_iter();
        left.retain(|_| keep.next().unwrap_or(false));
    }
}

/// The source folder of a crate of this workspace.
fn source_of(name: &str) -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.with_file_name(name).join("src")
}

/// The files of a folder and of those inside it, tests left out.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    for entry in entries.flatten() {
        let path = entry.path();
        if path.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

fn without_tests_and_comments(text: &str) -> String {
    let tests = text.find("#[cfg(test)]\nmod tests {");
    let lines = text[..tests.unwrap_or(text.len())].lines();
    let code = lines.filter(|line| !line.trim_start().starts_with("//"));
    code.collect::<Vec<_>>().join("\n")
}
