//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueHint};
use secateur_core::Dialect;
use secateur_core::Limits;

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
    /// Tell whether the provider would accept a request: every violation with its JSON path.
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
    /// Tell what works and what does not: configuration, upstreams, keys, ledger, disk, clock, agents, cache hits.
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
    /// Look into the audit ledger: rows, one row explained, exports, savings.
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

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Print a policy to start from.
    #[command(after_help = "\
Examples:
  secateur policy init --preset tessera > policy.toml
  secateur policy init --all > policy.toml")]
    Init {
        /// The preset to start from.
        #[arg(long, default_value = DEFAULT_PRESET)]
        preset: String,
        /// Every key of every strategy at its default, without a preset.
        #[arg(long, conflicts_with = "preset")]
        all: bool,
    },
    /// Check a policy file; errors name line, key and the nearest valid key.
    Check {
        /// The policy file.
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Tell in words what a policy does: every setting that is in force.
    #[command(
        after_help = "Example:\n  secateur policy explain --policy policy.toml --set m7.min_messages=20"
    )]
    Explain(PolicyArgs),
}

/// The preset that is used when none is named.
pub(crate) const DEFAULT_PRESET: &str = "steady";

#[derive(Debug, clap::Args)]
pub(crate) struct InputArgs {
    /// The request; `-` is standard input.
    #[arg(default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The wire format. Found by shape if not given.
    #[arg(long, short = 'd', value_parser = parse_dialect)]
    pub(crate) dialect: Option<Dialect>,
    /// The model, where the body does not name it (Gemini has it in the URL).
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Largest body that is read, in bytes.
    #[arg(long, default_value_t = Limits::default().max_bytes)]
    pub(crate) max_bytes: usize,
    /// Deepest nesting that is read, in levels (at most 1024).
    #[arg(long, default_value_t = Limits::default().max_depth)]
    pub(crate) max_depth: usize,
}

/// What the provider's cache is taken to hold, for receipts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CacheArg {
    /// The request before, if the body shows one.
    Warm,
    /// Nothing: the request before is longer ago than the provider keeps it.
    Cold,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PolicyArgs {
    /// A preset (see `secateur presets`). Without --preset and --policy: steady.
    #[arg(long, short = 'p')]
    pub(crate) preset: Option<String>,
    /// A policy file.
    #[arg(long, value_hint = ValueHint::FilePath)]
    pub(crate) policy: Option<PathBuf>,
    /// One setting, such as middle-turns.keep_last_turns=4. May be repeated; wins over the file.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PruneArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Write the request here instead of standard output (replaced only when complete).
    #[arg(long, short = 'o', value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Write the report with its receipt here, as JSON.
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
    /// What the receipt takes the provider's cache to hold.
    #[arg(long, value_enum, default_value_t = CacheArg::Warm)]
    pub(crate) cache: CacheArg,
    /// No summary on standard error (also saves counting tokens).
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// What the receipt takes the provider's cache to hold.
    #[arg(long, value_enum, default_value_t = CacheArg::Warm)]
    pub(crate) cache: CacheArg,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the pruned conversation as text instead: what the model sees.
    #[arg(long, conflicts_with = "json")]
    pub(crate) show: bool,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogArg {
    /// One JSON object a line.
    Json,
    /// For people.
    Pretty,
    /// None.
    Off,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// The configuration; without it `secateur.toml` here, else the user's own (`secateur config init --user`), else what is
    /// built in.
    #[arg(long, value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// How log lines look, over the configuration's. By default pretty on a terminal, else json.
    #[arg(long, value_enum)]
    pub(crate) log: Option<LogArg>,
    /// Address and port, over the configuration's.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<std::net::SocketAddr>,
    /// Let anybody use it although it is reachable from other machines.
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Stay up after the tables, for a look around.
    #[arg(long)]
    pub(crate) keep: bool,
    /// The preset to show. Without it each session has the one that suits it.
    #[arg(long, short = 'p')]
    pub(crate) preset: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct McpArgs {
    /// The proxy.
    #[arg(long, default_value = "http://127.0.0.1:8787", value_parser = parse_base_url, value_hint = ValueHint::Url)]
    pub(crate) url: http::Uri,
    /// The workload whose text is asked for.
    #[arg(long, default_value = "default")]
    pub(crate) workload: String,
    /// The environment variable that holds the client key, where the proxy wants one.
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) key_env: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Write a configuration to start from.
    Init {
        /// The file to write.
        #[arg(default_value = secateur_proxy::cli::CONFIG_NAME, value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Write the user's own file instead, which every command finds in any folder.
        #[arg(long, conflicts_with = "file")]
        user: bool,
        /// Replace a file that is there.
        #[arg(long)]
        force: bool,
    },
    /// Check a configuration; errors name the line.
    Check {
        /// The file to check.
        #[arg(default_value = secateur_proxy::cli::CONFIG_NAME, value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// Folders and files with logs of agents or recorded sessions. Without any: the logs of all agents on this machine.
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    /// Only requests since then: 7d, 24h, 2026-11-01 or all. Without it the last 30 days of the agents' own folders,
    /// and everything in folders and files that are named.
    #[arg(long, value_name = "WHEN", value_parser = crate::replay::since::parse_since)]
    pub(crate) since: Option<crate::replay::since::Since>,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Compare these presets instead of one policy; --set applies to each that has the key.
    #[arg(long, value_name = "PRESET,…", value_delimiter = ',')]
    pub(crate) compare: Vec<String>,
    /// Threads; 0 takes one for each core.
    #[arg(long, default_value_t = 0)]
    pub(crate) threads: usize,
    /// As JSON, with the predicted receipts in sum.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a page with the same tables, plots, and one session over time.
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
    /// The session that the page shows over time; without it the largest.
    #[arg(long, value_name = "ID", requires = "html")]
    pub(crate) session: Option<String>,
    /// The model that receipts are priced for, where the sessions do not name one.
    #[arg(long)]
    pub(crate) model: Option<String>,
}

/// What chunks are scored by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RankScorer {
    /// Words.
    Lexical,
    /// Words and likeness of meaning (the same as lexical in builds without the static table).
    Hybrid,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RankArgs {
    /// The context; `-` is standard input.
    #[arg(default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The question. Wins over the one in the file.
    #[arg(long, short)]
    pub(crate) question: Option<String>,
    /// What chunks are scored by.
    #[arg(long, value_enum, default_value_t = RankScorer::Hybrid)]
    pub(crate) scorer: RankScorer,
    /// Chunks under this score go, 0 to 1.
    #[arg(long)]
    pub(crate) min_score: Option<f32>,
    /// At least this many chunks stay.
    #[arg(long)]
    pub(crate) min_keep: Option<usize>,
    /// At least this share of the chunks stays, counted over at most 20 of them, 0 to 1.
    #[arg(long)]
    pub(crate) keep_share: Option<f32>,
    /// At most this many chunks stay.
    #[arg(long)]
    pub(crate) max_keep: Option<usize>,
    /// Chunks stay, best first, until they hold this share of the total (squared) score, 0 to 1.
    #[arg(long)]
    pub(crate) keep_mass: Option<f32>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_base_url(text: &str) -> Result<http::Uri, String> {
    let url: Option<http::Uri> = text.parse().ok();
    let is_whole = |url: &http::Uri| {
        matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some()
    };
    url.filter(is_whole)
        .ok_or_else(|| "write it like http://127.0.0.1:8787".to_owned())
}

fn parse_dialect(name: &str) -> Result<Dialect, String> {
    Dialect::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Dialect::ALL.iter().map(|id| id.name()).collect();
        format!("known dialects: {}", known.join(", "))
    })
}
