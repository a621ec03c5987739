//! Where agents keep their logs, and which logs there are.
//!
//! Files are chosen by name and time before any is opened.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::agent::Agent;
use crate::read::{Source, Unreadable, agent_of_file, head, opencode};

/// Folders inside folders are searched to this depth.
const MAX_DEPTH: usize = 16;

/// The logs that were found.
#[derive(Debug, Default)]
pub struct Found {
    /// Logs, by agent and path.
    pub sources: Vec<Source>,
    /// Files with sessions as JSON, one or one per line.
    pub records: Vec<PathBuf>,
    /// Logs that did not change since the time asked for.
    pub older: usize,
    /// Folders and databases that could not be read.
    pub unreadable: Vec<Unreadable>,
}

impl Found {
    /// Adds what was found elsewhere.
    pub fn append(&mut self, mut other: Self) {
        self.sources.append(&mut other.sources);
        self.records.append(&mut other.records);
        self.unreadable.append(&mut other.unreadable);
        self.older += other.older;
    }

    /// Puts logs and records in order; what was found twice is listed once.
    pub fn sort(&mut self) {
        self.sources.sort();
        self.sources.dedup();
        self.records.sort();
        self.records.dedup();
    }
}

/// The folders in which agents keep their logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFolders(Vec<(Agent, PathBuf)>);

impl LogFolders {
    /// The folders by the variables of an environment. Empty without a home folder and without any of the agents' own
    /// variables.
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let path = |name: &str| {
            variable(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let home = path("HOME").or_else(|| path("USERPROFILE"));
        let in_home = |rest: &str| home.as_ref().map(|home| home.join(rest));
        let mut folders = Vec::new();
        let mut add = |agent: Agent, folder: Option<PathBuf>| {
            folders.extend(folder.map(|folder| (agent, folder)));
        };

        let claude = variable("CLAUDE_CONFIG_DIR").filter(|value| !value.is_empty());
        match claude {
            Some(list) => {
                for folder in list.to_string_lossy().split(',') {
                    let folder = PathBuf::from(folder.trim());
                    add(Agent::ClaudeCode, Some(folder.join("projects")));
                }
            }
            None => {
                add(Agent::ClaudeCode, in_home(".claude/projects"));
                let config = path("XDG_CONFIG_HOME").or_else(|| in_home(".config"));
                add(
                    Agent::ClaudeCode,
                    config.map(|config| config.join("claude/projects")),
                );
            }
        }
        let codex = path("CODEX_HOME").or_else(|| in_home(".codex"));
        add(
            Agent::Codex,
            codex.as_ref().map(|codex| codex.join("sessions")),
        );
        add(
            Agent::Codex,
            codex.map(|codex| codex.join("archived_sessions")),
        );
        let data = path("XDG_DATA_HOME").or_else(|| in_home(".local/share"));
        let data = data.map(|data| data.join("opencode"));
        let database = path("OPENCODE_DB").map(|file| {
            data.as_ref()
                .map_or_else(|| file.clone(), |data| data.join(&file))
        });
        add(Agent::Opencode, data);
        // A database at its usual place is in the folder above.
        add(Agent::Opencode, database);
        let gemini = path("GEMINI_CLI_HOME").or_else(|| home.clone());
        add(
            Agent::GeminiCli,
            gemini.map(|gemini| gemini.join(".gemini/tmp")),
        );
        let pi = path("PI_CODING_AGENT_DIR").or_else(|| in_home(".pi/agent"));
        add(Agent::Pi, pi.map(|pi| pi.join("sessions")));
        Self(folders)
    }

    /// The agents and their folders.
    pub fn folders(&self) -> &[(Agent, PathBuf)] {
        &self.0
    }

    /// All logs that changed since then.
    pub fn find(&self, since_ms: Option<i64>) -> Found {
        let mut search = Search::new(since_ms);
        for (agent, folder) in &self.0 {
            if folder.is_file() {
                search.file(folder, 0, Some(*agent));
            } else if folder.is_dir() {
                search.folder(folder, 0, Some(*agent));
            }
        }
        search.finish()
    }
}

/// All logs and records of sessions in a folder, of any agent.
pub fn find_in(folder: &Path, since_ms: Option<i64>) -> Found {
    let mut search = Search::new(since_ms);
    search.folder(folder, 0, None);
    search.finish()
}

/// The logs that a file is; `None`: it is no agent's log.
pub fn find_file(file: &Path, since_ms: Option<i64>) -> Option<Found> {
    let agent =
        agent_of_file(file).or_else(|| is_opencode_session(file).then_some(Agent::Opencode))?;
    let mut search = Search::new(since_ms);
    search.add(file, agent);
    Some(search.finish())
}

struct Search {
    since_ms: Option<i64>,
    found: Found,
}

impl Search {
    fn new(since_ms: Option<i64>) -> Self {
        Self {
            since_ms,
            found: Found::default(),
        }
    }

    fn finish(mut self) -> Found {
        self.found.sort();
        self.found
    }

    /// Links are not followed: a folder may be its own descendant.
    fn folder(&mut self, folder: &Path, depth: usize, agent: Option<Agent>) {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.reject(folder, &error),
        };
        for entry in entries.flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => {
                    self.folder(&path, depth + 1, agent);
                }
                Ok(kind) if kind.is_file() => self.file(&path, depth, agent),
                _ => {}
            }
        }
    }

    fn file(&mut self, path: &Path, depth: usize, agent: Option<Agent>) {
        match agent {
            Some(agent) if is_log(agent, path, depth) => self.add(path, agent),
            Some(_) => {}
            None => self.unknown_file(path),
        }
    }

    fn unknown_file(&mut self, path: &Path) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ends = [".jsonl", ".json", ".db", ".jsonl.gz", ".json.gz"];
        if !ends.iter().any(|end| name.ends_with(end)) {
            return;
        }
        if self.is_old(path) {
            self.found.older += 1;
        } else if is_opencode_session(path) {
            self.add(path, Agent::Opencode);
        } else if let Some(agent) = agent_of_file(path) {
            self.add(path, agent);
        } else if holds_messages(path) {
            self.found.records.push(path.to_owned());
        }
    }

    fn is_old(&self, path: &Path) -> bool {
        let changed = std::fs::metadata(path).and_then(|facts| facts.modified());
        let millis = |at: std::time::SystemTime| {
            let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        };
        // A database is written to its log first; its rows have times of their own.
        let is_database = path.extension().is_some_and(|end| end == "db");
        match (self.since_ms, changed) {
            (Some(since), Ok(at)) => !is_database && millis(at) < since,
            _ => false,
        }
    }

    fn add(&mut self, path: &Path, agent: Agent) {
        if self.is_old(path) {
            self.found.older += 1;
            return;
        }
        let source = |row: Option<String>, bytes: u64| Source {
            agent,
            path: path.to_owned(),
            row,
            bytes,
        };
        let is_database = agent == Agent::Opencode && !is_opencode_session(path);
        if !is_database {
            let bytes = std::fs::metadata(path).map_or(0, |facts| facts.len());
            self.found.sources.push(source(None, bytes));
            return;
        }
        match opencode::sessions_since(path, self.since_ms) {
            Ok(ids) => {
                let rows = ids.into_iter().map(|id| source(Some(id), 0));
                self.found.sources.extend(rows);
            }
            Err(error) => self.reject(path, &error),
        }
    }

    fn reject(&mut self, path: &Path, error: &dyn std::error::Error) {
        self.found.unreadable.push(Unreadable {
            place: path.display().to_string(),
            reason: error.to_string(),
        });
    }
}

/// Whether a file in an agent's own folder is a log, by its name.
fn is_log(agent: Agent, path: &Path, depth: usize) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match agent {
        Agent::ClaudeCode | Agent::Pi => name.ends_with(".jsonl"),
        Agent::Codex => name.starts_with("rollout-") && name.ends_with(".jsonl"),
        Agent::Opencode => {
            let is_database = depth == 0 && name.ends_with(".db");
            is_database || is_opencode_session(path)
        }
        Agent::GeminiCli => {
            let is_chat = path
                .parent()
                .is_some_and(|folder| folder.ends_with("chats"));
            is_chat && (name.ends_with(".jsonl") || name.ends_with(".json"))
        }
    }
}

/// `…/storage/session/PROJECT/ID.json`.
fn is_opencode_session(path: &Path) -> bool {
    let folder = |up: usize| path.ancestors().nth(up).and_then(Path::file_name);
    path.extension().is_some_and(|end| end == "json")
        && folder(2).is_some_and(|name| name == "session")
        && folder(3).is_some_and(|name| name == "storage")
}

/// Whether a file begins like a record of a session.
fn holds_messages(path: &Path) -> bool {
    let head = head(path, 64 << 10);
    head.is_ok_and(|head| memchr::memmem::find(&head, b"\"messages\"").is_some())
}
