//! What calls and results are about: the kind of tool, and the file. Found once for a body.

use std::borrow::Cow;

use crate::read::view::{Exchanges, PartId, PartKind, TurnId, View};
use crate::text::hash::QuickMap;
use crate::tools::call_args::CallArgs;
use crate::tools::class::{COMMAND_KEYS, PATH_KEYS, SHOWING_COMMANDS, ToolClass, file_name};
use crate::tools::shell::ShellEffect;
use crate::tools::{patch, script};
use secateur_condense::looks_like_log;

/// What calls and results are about: the kind of tool, and the file.
#[derive(Debug)]
pub struct ToolFacts {
    classes: Vec<Option<ToolClass>>,
    files: Vec<Option<u32>>,
    /// The calls and results that are about a file, and the results, each in order.
    about_files: Vec<PartId>,
    results: Vec<PartId>,
    /// For each file: the turn in which a user first named it.
    named_at: Vec<Option<TurnId>>,
    /// For each file: the path under which it is named first.
    paths: Vec<String>,
}

/// Shorter results of unknown tools are not examined.
const MIN_LOG_CHARS: usize = 500;

impl ToolFacts {
    pub(crate) fn of(view: &View<'_>, exchanges: &Exchanges, args: &CallArgs) -> Self {
        let count = view.parts().len();
        let (mut classes, mut files) = (vec![None; count], vec![None; count]);
        // Calls of tools that are known to run something, but not what.
        let mut is_unknown = vec![false; count];
        let mut known = Files::default();
        let mut class_of: QuickMap<Cow<'_, str>, ToolClass> = QuickMap::default();
        let mut effects = QuickMap::default();
        for id in view.part_ids() {
            match view.part(id).kind {
                PartKind::Call => {
                    let by_name = view.name(id).map(|name| {
                        let class = class_of.entry(name);
                        *class.or_insert_with_key(|name| ToolClass::of(name))
                    });
                    let (class, path) = of_call(view, id, by_name, args, &mut effects);
                    classes[id.index()] = class;
                    is_unknown[id.index()] = class.is_none() && by_name.is_some();
                    files[id.index()] = path.map(|path| known.number(&path));
                }
                PartKind::Result => {
                    if let Some(call) = exchanges.call_of(id) {
                        let class = match classes[call.index()] {
                            None if is_unknown[call.index()] => Some(ToolClass::Read),
                            class => class,
                        };
                        let may_be_log =
                            is_unknown[call.index()] || class == Some(ToolClass::Other);
                        classes[id.index()] = if may_be_log && is_log(view, id) {
                            Some(ToolClass::Command)
                        } else {
                            class
                        };
                        files[id.index()] = files[call.index()];
                    }
                }
                _ => {}
            }
        }
        let words = user_words(view, &known.paths);
        let named_at = known
            .paths
            .iter()
            .map(|path| words.get(file_name(path)).copied())
            .collect();
        let is_result = |id: &PartId| view.part(*id).kind == PartKind::Result;
        Self {
            about_files: view
                .part_ids()
                .filter(|id| files[id.index()].is_some())
                .collect(),
            results: view.part_ids().filter(is_result).collect(),
            classes,
            files,
            named_at,
            paths: known.paths,
        }
    }

    /// The path of the file that a call or result is about, as it is named first.
    pub(crate) fn path(&self, part: PartId) -> Option<&str> {
        self.paths.get(self.file(part)?).map(String::as_str)
    }

    /// The calls and results that are about a file, in order.
    #[must_use]
    pub fn about_files(&self) -> &[PartId] {
        &self.about_files
    }

    /// All results, in order.
    #[must_use]
    pub fn results(&self) -> &[PartId] {
        &self.results
    }

    /// What kind of tool a call or result is of; `None` if that is not known.
    #[must_use]
    pub fn class(&self, part: PartId) -> Option<ToolClass> {
        self.classes[part.index()]
    }

    /// The number of the file that a call or result is about.
    #[must_use]
    pub fn file(&self, part: PartId) -> Option<usize> {
        self.files[part.index()].map(|file| file as usize)
    }

    /// How many files there are.
    #[must_use]
    pub fn files(&self) -> usize {
        self.named_at.len()
    }

    /// Whether a user names the file in one of the first `visible` turns.
    pub(crate) fn is_named(&self, file: usize, visible: u32) -> bool {
        self.named_at
            .get(file)
            .copied()
            .flatten()
            .is_some_and(|turn| turn.0 < visible)
    }
}

/// What a call does, and the path that it is about: a tool for commands does what its command does, and a tool
/// for edits may also show.
fn of_call<'a>(
    view: &View<'a>,
    call: PartId,
    by_name: Option<ToolClass>,
    args: &CallArgs,
    effects: &mut QuickMap<Cow<'a, str>, ShellEffect>,
) -> (Option<ToolClass>, Option<Cow<'a, str>>) {
    let path = || {
        let [path] = args.first_texts(view, call, [&PATH_KEYS]);
        path
    };
    match by_name {
        Some(ToolClass::Command) => {
            let [line] = args.first_texts(view, call, [&COMMAND_KEYS]);
            let effect = match line {
                // The same command is often run again.
                Some(line) => effects
                    .entry(line)
                    .or_insert_with_key(|line| ShellEffect::of_line(line))
                    .clone(),
                None => match of_free_text(&view.args(call)) {
                    FreeText::None => {
                        let words = args.list(view, call, &COMMAND_KEYS);
                        words.map_or(ShellEffect::COMMAND, |words| {
                            ShellEffect::of_arguments(&words)
                        })
                    }
                    FreeText::Does(effect) => effect,
                    FreeText::Unknown => return (None, None),
                },
            };
            (
                Some(effect.class),
                effect.file.map(Cow::Owned).or_else(path),
            )
        }
        Some(ToolClass::Edit) => {
            let [shows, path] = args.first_texts(view, call, [&["command"], &PATH_KEYS]);
            let shows = shows.is_some_and(|word| SHOWING_COMMANDS.contains(&&*word));
            let class = if shows {
                ToolClass::Read
            } else {
                ToolClass::Edit
            };
            let patched = || {
                let args = view.args(call);
                patch::only_file(&args).map(|file| Cow::Owned(file.to_owned()))
            };
            (Some(class), path.or_else(patched))
        }
        other => (other, path()),
    }
}

/// What a call does whose argument is no JSON.
enum FreeText {
    /// It is JSON, or there is none.
    None,
    Does(ShellEffect),
    Unknown,
}

fn of_free_text(args: &str) -> FreeText {
    let text = args.trim_start();
    if text.is_empty() || text.starts_with('{') {
        return FreeText::None;
    }
    if let Some(effect) = script::effect_of(text) {
        return FreeText::Does(effect);
    }
    match ShellEffect::of_line(text) {
        effect if effect.class != ToolClass::Command => FreeText::Does(effect),
        _ => FreeText::Unknown,
    }
}

/// Whether a result reads as what a build or a test run prints.
fn is_log(view: &View<'_>, result: PartId) -> bool {
    view.chars(result) >= MIN_LOG_CHARS && looks_like_log(&view.text(result))
}

/// The files that calls are about, in the order in which they come up. A path that is the end of just one
/// known path means that file (`src/a.rs` and `/repo/src/a.rs`); whether it does is settled when it comes up,
/// so that a longer conversation gives the same facts for its earlier requests.
#[derive(Default)]
struct Files {
    paths: Vec<String>,
    by_path: QuickMap<String, u32>,
    by_name: QuickMap<String, Vec<u32>>,
}

impl Files {
    fn number(&mut self, path: &str) -> u32 {
        if let Some(&number) = self.by_path.get(path) {
            return number;
        }
        let same_name = self.by_name.entry(file_name(path).to_owned()).or_default();
        let mut alike = same_name
            .iter()
            .filter(|number| is_same(&self.paths[**number as usize], path));
        let number = match (alike.next(), alike.next()) {
            (Some(&only), None) => only,
            _ => {
                let next = u32::try_from(self.paths.len()).unwrap_or(u32::MAX);
                same_name.push(next);
                self.paths.push(path.to_owned());
                next
            }
        };
        self.by_path.insert(path.to_owned(), number);
        number
    }
}

/// Whether one of two paths is the end of the other.
fn is_same(a: &str, b: &str) -> bool {
    let [a, b] = [a, b].map(|path| path.trim_start_matches("./"));
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let before = long.strip_suffix(short);
    before.is_some_and(|before| before.is_empty() || before.ends_with(['/', '\\']))
}

/// The words of user messages that are names of these files, and when each was first said.
fn user_words(view: &View<'_>, paths: &[String]) -> QuickMap<String, TurnId> {
    let wanted: QuickMap<&str, ()> = paths.iter().map(|path| (file_name(path), ())).collect();
    let mut words = QuickMap::default();
    if wanted.is_empty() {
        return words;
    }
    let part_of_name =
        |character: char| character.is_alphanumeric() || matches!(character, '.' | '_' | '-');
    for id in view.part_ids() {
        let part = view.part(id);
        let Some(turn) = part.turn.filter(|_| part.kind == PartKind::Text) else {
            continue;
        };
        if !view.is_user_authored(turn) {
            continue;
        }
        for word in view.text(id).split(|character| !part_of_name(character)) {
            let word = word.trim_end_matches('.');
            if wanted.contains_key(word) {
                words.entry(word.to_owned()).or_insert(turn);
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_one_known_path_is_that_file() {
        let mut files = Files::default();
        let mut number = |path: &str| files.number(path);
        let main = number("/repo/src/main.rs");
        assert_eq!(number("src/main.rs"), main);
        assert_eq!(number("./main.rs"), main);
        let other = number("/repo/lib/main.rs");
        assert_ne!(other, main);
        assert_eq!(number("lib/main.rs"), other);
        // What was settled stays; what is new and may be either is neither.
        assert_eq!(number("./main.rs"), main);
        assert!(![main, other].contains(&number("main.rs")));
        assert_ne!(number("rs"), number("s"));
    }

    /// The class and the path of the only result of a Responses body.
    fn of_exec(tool: &str, input: &str, output: &str) -> (Option<ToolClass>, Option<String>) {
        let body = serde_json::json!({ "model": "gpt-6.1", "input": [
            { "type": "message", "role": "user", "content": "go" },
            { "type": "custom_tool_call", "call_id": "a", "name": tool, "input": input },
            { "type": "custom_tool_call_output", "call_id": "a", "output": [
                { "type": "input_text", "text": "Script completed\nWall time 0.1 seconds\nOutput:\n" },
                { "type": "input_text", "text": output }] }] });
        let body = body.to_string();
        let limits = secateur_json::Limits::default();
        let dialect = crate::read::dialect::Dialect::OpenaiResponses;
        let view = crate::read::wire::read(body.as_bytes(), dialect, &limits).unwrap();
        let args = std::cell::OnceCell::new();
        let facts = ToolFacts::of(&view, &view.exchanges(), CallArgs::once(&args, &view));
        let result = facts.results()[0];
        (facts.class(result), facts.path(result).map(str::to_owned))
    }

    /// Files that codex read on gpt-6 models were taken for the output of commands, and cleared at once.
    #[test]
    fn a_script_is_what_its_commands_are() {
        let run = |command: &str| {
            format!(
                "const r = await tools.exec_command({{\"cmd\": \"{command}\"}});\ntext(r.output);"
            )
        };
        let file = |path: &str| Some(path.to_owned());
        let code = "fn main() {}\n".repeat(90);
        let read = of_exec("exec", &run("cat src/a.rs"), &code);
        assert_eq!(read, (Some(ToolClass::Read), file("src/a.rs")));
        let search = of_exec("exec", &run("rg -n main src"), &code);
        assert_eq!(search, (Some(ToolClass::Search), None));
        let build = of_exec("exec", &run("./build.sh"), &code);
        assert_eq!(build, (Some(ToolClass::Command), None));
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-a\n+b\n*** End Patch";
        let edit = of_exec("apply_patch", patch, "{}");
        assert_eq!(edit, (Some(ToolClass::Edit), file("src/a.rs")));
    }

    #[test]
    fn what_nobody_knows_is_a_read_until_it_looks_like_a_log() {
        let code = "pub fn limit(index: usize) -> Option<usize> {\n    Some(index)\n}\n".repeat(30);
        let failures: String = (0..60).map(|n| format!("test case_{n} ... ok\n")).collect();
        let log = format!("running 60 tests\n{failures}test result: ok. 60 passed; 0 failed\n");
        let script = "await tools.exec_command(commands[0]);";
        assert_eq!(of_exec("exec", script, &code).0, Some(ToolClass::Read));
        assert_eq!(of_exec("exec", script, &log).0, Some(ToolClass::Command));
        assert_eq!(of_exec("mystery", "x", &code).0, Some(ToolClass::Other));
        assert_eq!(of_exec("mystery", "x", &log).0, Some(ToolClass::Command));
        let data = "step 1\nstep 2\n".repeat(60);
        assert_eq!(of_exec("mystery", "x", &data).0, Some(ToolClass::Other));
    }
}
