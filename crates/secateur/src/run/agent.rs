//! The agents that we know, and what each needs.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::place::Machine;
use super::setup::Setup;
use super::{claude, codex, gemini, opencode, pi};
use crate::Failure;

/// A coding agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    Claude,
    Codex,
    Opencode,
    Gemini,
    Pi,
    /// Any other program.
    Other,
}

impl Agent {
    /// Those that we know.
    pub(crate) const KNOWN: [Self; 5] = [
        Self::Claude,
        Self::Codex,
        Self::Opencode,
        Self::Gemini,
        Self::Pi,
    ];

    /// The agent that a program is, by its name.
    pub(crate) fn of(program: &OsStr) -> Self {
        let stem = Path::new(program).file_stem();
        let is = |agent: &&Self| stem == Some(OsStr::new(agent.program()));
        let mut known = Self::KNOWN.iter();
        known.find(is).copied().unwrap_or(Self::Other)
    }

    /// The name of its program.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
            Self::Pi => "pi",
            Self::Other => "",
        }
    }

    /// All names, for messages.
    pub(crate) fn names() -> String {
        Self::KNOWN.map(Self::program).join(", ")
    }

    /// How it is installed.
    pub(crate) fn how_to_install(self) -> Option<String> {
        let package = match self {
            Self::Claude => "@anthropic-ai/claude-code",
            Self::Codex => "@openai/codex",
            Self::Opencode => "opencode-ai",
            Self::Gemini => "@google/gemini-cli",
            Self::Pi => "@mariozechner/pi-coding-agent",
            Self::Other => return None,
        };
        Some(format!("npm install -g {package}"))
    }

    /// What it is given.
    ///
    /// # Errors
    /// Its requests cannot go through the proxy, as the user has set it up.
    pub(crate) fn setup(self, machine: &Machine, given: &[OsString]) -> Result<Setup, Failure> {
        match self {
            Self::Claude => claude::setup(machine, given),
            Self::Codex => codex::setup(machine),
            Self::Opencode => opencode::setup(machine),
            Self::Gemini => gemini::setup(machine),
            Self::Pi => pi::setup(machine, given),
            Self::Other => Ok(Setup::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_known_by_the_name_of_its_program() {
        assert_eq!(Agent::of(OsStr::new("/usr/bin/claude")), Agent::Claude);
        assert_eq!(Agent::of(OsStr::new("pi")), Agent::Pi);
        assert_eq!(Agent::of(OsStr::new("python3")), Agent::Other);
    }
}
