//! What a command line shows or changes: `cat a.rs` is a read, `rg word src` a search.
//!
//! Not a shell: words, quotes, pipes and lists are understood, all else makes the line a plain command. A wrong
//! guess only makes a result age as another kind does.

mod reader;

use super::class::ToolClass;
use reader::{Program, Word, pipes};

/// What a line of a shell does, and the file that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShellEffect {
    pub(crate) class: ToolClass,
    pub(crate) file: Option<String>,
}

/// `bash -c "bash -c …"`.
const MAX_DEPTH: usize = 3;

impl ShellEffect {
    /// A plain command.
    pub(crate) const COMMAND: Self = Self {
        class: ToolClass::Command,
        file: None,
    };

    fn new(class: ToolClass, file: Option<&str>) -> Self {
        // What a run has printed is read as output, wherever it was kept.
        let is_log = |file: &str| {
            [".log", ".out", ".err"]
                .iter()
                .any(|end| file.ends_with(end))
        };
        if class == ToolClass::Read && file.is_some_and(is_log) {
            return Self::COMMAND;
        }
        let file = file.map(str::to_owned);
        Self { class, file }
    }

    /// What a command line does. If its commands have different effects, a read counts before a search, and anything
    /// else makes it a command.
    pub(crate) fn of_line(line: &str) -> Self {
        of_line(line, MAX_DEPTH)
    }

    /// What a program with these arguments does.
    pub(crate) fn of_arguments(arguments: &[String]) -> Self {
        let words: Vec<Word> = arguments.iter().map(|text| Word::plain(text)).collect();
        of_pipe(&[words], MAX_DEPTH).unwrap_or(Self::COMMAND)
    }
}

fn of_line(line: &str, depth: usize) -> ShellEffect {
    let mut found: Option<ShellEffect> = None;
    for pipe in pipes(line) {
        let Some(effect) = of_pipe(&pipe, depth) else {
            continue;
        };
        found = Some(match (found, effect) {
            (None, effect) => effect,
            (Some(a), b) if a.class == b.class => ShellEffect {
                file: a.file.filter(|file| b.file.as_ref() == Some(file)),
                class: a.class,
            },
            (Some(a), b) if [a.class, b.class] == [ToolClass::Read, ToolClass::Search] => a,
            (Some(a), b) if [a.class, b.class] == [ToolClass::Search, ToolClass::Read] => b,
            _ => return ShellEffect::COMMAND,
        });
    }
    found.unwrap_or(ShellEffect::COMMAND)
}

/// What programs in a row do; `None` if they only prepare or announce.
fn of_pipe(pipe: &[Program], depth: usize) -> Option<ShellEffect> {
    let first = of_program(pipe.first()?, depth)?;
    let rest = pipe[1..].iter().map(|words| of_program(words, depth));
    let mut effect = first;
    for next in rest {
        effect = match (
            effect.class,
            next.map_or(ToolClass::Command, |next| next.class),
        ) {
            // `cat a.rs | head`, `rg word | head`; `cat a.rs | grep word`.
            (ToolClass::Read | ToolClass::Search, ToolClass::Read) => effect,
            (ToolClass::Read | ToolClass::Search, ToolClass::Search) => ShellEffect {
                class: ToolClass::Search,
                ..effect
            },
            _ => return Some(ShellEffect::COMMAND),
        };
    }
    Some(effect)
}

/// What one program does with its arguments; `None` if it only prepares or announces.
fn of_program(words: &[Word], depth: usize) -> Option<ShellEffect> {
    let words = without_wrappers(words);
    let (program, arguments) = words.split_first()?;
    let program = program.text.rsplit('/').next().unwrap_or_default();
    let target = words.iter().position(|word| word.is_redirect);
    let plain = || arguments.iter().filter(|word| !word.text.starts_with('-'));
    let flags = || arguments.iter().filter(|word| word.text.starts_with('-'));
    let one_file = |skip: usize| {
        let mut files = plain().filter(|word| !is_number(&word.text)).skip(skip);
        let file = files.next()?;
        files.next().is_none().then_some(&*file.text)
    };
    if let Some(at) = target {
        let file = words.get(at + 1).map(|word| &*word.text);
        let writes = matches!(program, "cat" | "echo" | "printf");
        return Some(if writes {
            ShellEffect::new(ToolClass::Edit, file)
        } else {
            ShellEffect::COMMAND
        });
    }
    Some(match program {
        "cd" | "pushd" | "popd" | "set" | "export" | "source" | "." | "pwd" | "true" | "echo"
        | "printf" => return None,
        "bash" | "sh" | "zsh" | "dash" => {
            let has_line =
                flags().any(|flag| !flag.text.starts_with("--") && flag.text.contains('c'));
            match plain().next().filter(|_| has_line) {
                Some(line) if depth > 0 => of_line(&line.text, depth - 1),
                _ => ShellEffect::COMMAND,
            }
        }
        "cat" | "head" | "tail" | "nl" | "bat" | "batcat" | "less" | "more" | "tac" | "type"
        | "Get-Content" | "gc" => ShellEffect::new(ToolClass::Read, one_file(0)),
        "sed" if flags().any(|flag| flag.text.starts_with("-i") || flag.text == "--in-place") => {
            ShellEffect::new(ToolClass::Edit, one_file(1))
        }
        "sed" => ShellEffect::new(ToolClass::Read, one_file(1)),
        "awk"
            if plain()
                .next()
                .is_some_and(|script| script.text.contains("NR")) =>
        {
            ShellEffect::new(ToolClass::Read, one_file(1))
        }
        "apply_patch" | "patch" | "tee" => ShellEffect::new(ToolClass::Edit, one_file(0)),
        "find" if flags().any(|flag| matches!(&*flag.text, "-exec" | "-execdir" | "-delete")) => {
            ShellEffect::COMMAND
        }
        // Hits of one file with the lines around them are a piece of that file.
        "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" => {
            let file = one_file(1).filter(|path| path.rsplit('/').next().is_some_and(has_ending));
            let class = match file {
                Some(_) if flags().any(|flag| has_context(&flag.text)) => ToolClass::Read,
                _ => ToolClass::Search,
            };
            ShellEffect::new(class, file)
        }
        "find" | "fd" | "fdfind" | "ls" | "tree" | "dir" | "wc" | "sort" | "uniq" | "cut"
        | "Select-String" | "Get-ChildItem" => ShellEffect::new(ToolClass::Search, None),
        "git"
            if plain()
                .next()
                .is_some_and(|verb| matches!(&*verb.text, "grep" | "ls-files")) =>
        {
            ShellEffect::new(ToolClass::Search, None)
        }
        _ => ShellEffect::COMMAND,
    })
}

/// The words from the program on: `A=1 sudo timeout 10 cat x` is `cat x`.
fn without_wrappers(mut words: &[Word]) -> &[Word] {
    loop {
        let Some((first, rest)) = words.split_first() else {
            return words;
        };
        let is_assignment = |text: &str| {
            let name = text.split_once('=').map(|(name, _)| name);
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            name.is_some_and(|name| !name.is_empty() && name.chars().all(is_name))
        };
        words = match &*first.text {
            "sudo" | "time" | "command" | "env" | "nice" | "stdbuf" => rest,
            "timeout" => rest.get(1..).unwrap_or_default(),
            text if is_assignment(text) => rest,
            _ => return words,
        };
    }
}

/// `-A 20`, `-nC3`, `-5`, `--context=5`.
fn has_context(flag: &str) -> bool {
    let short = flag.trim_start_matches('-');
    if flag.starts_with("--") {
        return ["after-context", "before-context", "context"]
            .iter()
            .any(|name| short.starts_with(name));
    }
    let letters = short.trim_end_matches(|c: char| c.is_ascii_digit());
    short.starts_with(|c: char| c.is_ascii_digit()) || letters.ends_with(['A', 'B', 'C'])
}

/// Whether the last part of a path looks like a file's name and not like a folder's.
fn has_ending(name: &str) -> bool {
    let ending = name.trim_start_matches('.').rsplit_once('.');
    ending.is_some_and(|(_, ending)| !ending.is_empty())
}

fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches('+');
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
