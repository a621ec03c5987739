//! The command line.

use clap::{Parser, Subcommand};

use crate::args::{
    CheckArgs, ConfigCommand, DemoArgs, McpArgs, PlanArgs, PolicyCommand, PruneArgs, RankArgs,
    ReplayArgs, ServeArgs,
};

/// Prunes and compresses LLM requests on their way to the model, and never breaks one.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  secateur run claude
  secateur prune request.json > pruned.json
  cat request.json | secateur prune --preset tessera --set middle-turns.keep_last_turns=4 | curl …
  secateur plan request.json
  secateur check request.json --dialect anthropic-messages
  secateur strategies middle-turns";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Prune a request: bytes to standard output, a one-line summary to standard error.
    #[command(after_help = "\
On bad input the original bytes still go to standard output (or FILE), the error to standard error,
and the exit code is 1: a pipe never loses a request.

Examples:
  secateur prune request.json -o pruned.json --report report.json
  secateur prune - --dialect openai-chat --policy my-policy.toml < request.json")]
    Prune(PruneArgs),
    /// Show what would be cut, by which strategy and why, and what was left alone and why.
    #[command(after_help = "\
Examples:
  secateur plan request.json
  secateur plan request.json --preset tessera --set middle-turns.drop_tool_turns=true
  secateur plan request.json --show | less
  secateur plan request.json --json | jq '.cuts[] | {message, strategy, why}'")]
    Plan(PlanArgs),
    /// Check whether the provider would accept a request: every violation with its JSON path.
    #[command(after_help = "\
Examples:
  secateur check request.json
  secateur check - --dialect gemini-generate-content --json < request.json")]
    Check(CheckArgs),
    /// Replay your agents' logs: what they cost, and what they would have cost with pruning.
    #[command(after_help = "\
Finds the logs of Claude Code, codex, opencode, Gemini CLI and pi, in their usual folders or where their
own variables point to (CLAUDE_CONFIG_DIR, CODEX_HOME, XDG_DATA_HOME, GEMINI_CLI_HOME, PI_CODING_AGENT_DIR).
Reads sessions in Anthropic and OpenAI form too (.json, .jsonl, also .gz).
Every request of every session is pruned as it would have been and priced by the rules of the provider's
cache. Files and --compare also check what is kept of what the model's next message needed.
Nothing leaves the machine.

Examples:
  secateur replay
  secateur replay --since 7d --html report.html
  secateur replay --since all --preset steady-lossless
  secateur replay ~/.codex/sessions --since 2026-11-01
  secateur replay sessions.jsonl.gz
  secateur replay ~/.claude/projects/*/*.jsonl --compare steady,tessera,openclaw-adaptive
  secateur replay sessions.jsonl --compare steady,opencode --html report.html
  secateur replay sessions.jsonl --preset steady --set rounds.horizon=8 --json")]
    Replay(ReplayArgs),
    /// Run a coding agent through the proxy: claude, codex, opencode, gemini, pi, or any program.
    #[command(after_help = "\
Starts a proxy for this run, or takes the one that `secateur serve` runs; sets what the agent needs by variables,
arguments and temporary files (the user's own files stay as they are); hands the terminal over; ends with the agent's exit
code, and says what the run cost and would have cost.

Examples:
  secateur run claude
  secateur run codex exec 'fix the tests'
  secateur run --print opencode
  secateur run --env OPENAI_BASE_URL python3 app.py")]
    Run(crate::run::RunArgs),
    /// Run the proxy: change one base URL, get pruning per workload.
    #[command(after_help = "\
Without a configuration there is one workload, `agent`, with preset `steady`. `secateur config init` writes the same as a
file to change. Requests to the bare base URL, or to a workload that does not exist, pass untouched and are reported.

Examples:
  secateur serve
  secateur serve --config secateur.toml --log json
  ANTHROPIC_BASE_URL=http://127.0.0.1:8787/w/agent claude")]
    Serve(ServeArgs),
    /// Show the proxy at work, without a key or a network: generated sessions, with and without pruning.
    Demo(DemoArgs),
    /// Give a model back what was cut: an MCP server on standard input and output.
    #[command(after_help = "\
Its one tool, secateur_recall, asks a running proxy for the text behind [recall:ID]. The workload must
keep what it cuts: [workload.NAME.capture] in the configuration.

Examples:
  secateur mcp --workload agent
  claude mcp add secateur -- secateur mcp --url http://127.0.0.1:8787 --workload agent
  SECATEUR_KEY=… secateur mcp --url https://proxy.example.com --workload agent --key-env SECATEUR_KEY")]
    Mcp(McpArgs),
    /// Check what works and what does not: configuration, upstreams, keys, ledger, disk, clock, agents, cache hits.
    #[command(after_help = "\
Asks no model and spends no token. Ends with 1 if there is an error.

Examples:
  secateur doctor
  secateur doctor --offline --json")]
    Doctor(crate::doctor::DoctorArgs),
    /// Show on one screen what was saved and paid: today, 7 days, 30 days, by workload and model.
    #[command(after_help = "\
Examples:
  secateur savings
  secateur savings --watch")]
    Savings(crate::savings::SavingsArgs),
    /// Write and check the proxy's configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Make client keys.
    #[command(subcommand)]
    Keys(crate::keys::KeysCommand),
    /// Read the audit ledger: rows, one row explained, exports, savings.
    #[command(subcommand)]
    Audit(crate::audit::args::AuditCommand),
    /// See what the canary switched off, and switch it on again.
    #[command(subcommand)]
    Canary(crate::canary::CanaryCommand),
    /// Rank the chunks of a RAG context against a question: the scores behind `low-rank-chunks`.
    #[command(after_help = "\
Reads JSON {\"question\": …, \"chunks\": [text, {\"title\": …, \"text\": …}, …]}, or a prompt with chunks in
it: <document> elements and their kin, [1] or Source 1: runs, blocks between --- lines. A score is the
evidence relative to the best chunk, 0 to 1.

Examples:
  secateur rank context.json
  secateur rank prompt.txt --question 'Who wrote the report?'
  secateur rank context.json --keep-mass 0.7 --max-keep 8 --json | jq '.chunks[] | select(.kept)'")]
    Rank(RankArgs),
    /// List the wire formats.
    Dialects {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the strategies, or show one with its options and defaults.
    Strategies {
        /// The strategy to show.
        id: Option<String>,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the presets, or show one as a policy file.
    Presets {
        /// The preset to show.
        name: Option<String>,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write, check and explain policy files.
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Print a completion script for a shell.
    #[command(
        after_help = "Example:\n  secateur completions bash > /etc/bash_completion.d/secateur"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}
