//! Arguments of the commands.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};
use secateur_core::Dialect;
use secateur_core::Limits;

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
    /// Explain what a policy does: every setting that is in force.
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
    /// Keep running after the tables, to try the portal and the proxy.
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
        #[arg(default_value = secateur_proxy::config::CONFIG_NAME, value_hint = ValueHint::FilePath)]
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
        #[arg(default_value = secateur_proxy::config::CONFIG_NAME, value_hint = ValueHint::FilePath)]
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
    #[arg(long, value_name = "WHEN", value_parser = crate::since::parse_since)]
    pub(crate) since: Option<crate::since::Since>,
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
