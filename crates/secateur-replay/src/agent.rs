//! The coding agents whose logs are read.

/// A coding agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    /// Anthropic's Claude Code.
    ClaudeCode,
    /// OpenAI's codex.
    Codex,
    /// opencode.
    Opencode,
    /// Google's Gemini CLI.
    GeminiCli,
    /// pi.
    Pi,
}

impl Agent {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Opencode,
        Self::GeminiCli,
        Self::Pi,
    ];

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::GeminiCli => "Gemini CLI",
            Self::Pi => "pi",
        }
    }
}
