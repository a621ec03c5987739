//! The file that `secateur config init` writes.

/// What a proxy does without a configuration file.
pub const BUILT_IN: &str = "[workload.agent]\npreset = \"steady\"\n";

/// A valid configuration that explains every key. As it stands it does what [`BUILT_IN`] does.
pub const TEMPLATE: &str = r#"# Secateur proxy. Every key is optional; what is commented out shows its default.
# Check with `secateur config check`; a running proxy takes a changed file over by itself, unless it takes all
# keys, the portal's token, all workloads or an upstream away: that needs a restart.

# Where the proxy listens. Anything but loopback needs client keys (below) or `--open`.
# listen = "127.0.0.1:8787"

# Log lines on standard error: "json", "pretty" or "off". By default "pretty" on a terminal, else "json".
# log = "json"

# Larger request bodies are answered with 413.
# max_body_mb = 32
# Bodies that are buffered or decoded, of all requests together; beyond it requests are answered with 503.
# max_buffered_mb = 1024
# max_connections = 10000
# max_connections_per_address = 7500 # by default three quarters of max_connections

# Where requests go. Any server that speaks the provider's API will do.
[upstream]
# openai = "https://api.openai.com"
# anthropic = "https://api.anthropic.com"
# gemini = "https://generativelanguage.googleapis.com"
# Clouds have no default: without one their paths are answered with 404.
# bedrock = "https://bedrock-runtime.us-east-1.amazonaws.com"
# vertex = "https://us-east5-aiplatform.googleapis.com"
# code_assist = "https://cloudcode-pa.googleapis.com"
# azure = "https://RESOURCE.openai.azure.com"
# ca_file = "ca.pem" # certificates to trust besides the system's, read at the start
# http2_hosts = ["api.openai.com"] # upstreams to speak HTTP/2 with; all others get HTTP/1.1. Read at the start

[timeouts]
# connect_s = 10
# response_head_s = 600
# response_idle_s = 300
# request_head_s = 10    # from a new connection to the end of its first request's head
# request_idle_s = 60    # a pause in a request's body, or before the next request
# response_write_s = 60  # a client that takes nothing of its response
# min_bytes_per_s = 4096 # for bodies in both directions, once these times are used up by waiting
# shutdown_s = 120

# A workload is chosen by the base URL (http://127.0.0.1:8787/w/agent) or by the header
# `x-secateur-workload: agent`. Requests that name none, or one that is not here, belong to `default`: nothing is on there,
# and they are reported in the log, on the portal's first page and in the response header `x-secateur-untouched`.
[workload.agent]
preset = "steady"             # "steady-rag" for retrieved documents; see `secateur presets`
# policy_file = "agent.toml"  # a policy of your own, or tables right here:
# budget_ms = 500             # the original goes out when decoding and the mechanics run longer than this
# budget_ms_per_mb = 100      # plus this for each MiB of the body; waiting for a slot may take as long again
# retry_original = true       # the original goes out when the provider rejects the pruned body
# provider = "anthropic"      # whose all its paths are, but for those of clouds
# upstream.openai = "http://127.0.0.1:11434"

# holdout_pct = 0             # this share of the sessions goes unchanged, to compare the bill with

# Whether answers get worse: a sample of the changed requests is also sent unchanged, in the background,
# and the two answers are compared. A stack whose mean score falls under the floor is switched off.
# [workload.agent.canary]
# sample_pct = 5
# floor = 0.95
# min_samples = 30
# window = 200                # the newest scores that count, none older than window_hours
# window_hours = 168
# confidence = 0.99           # how sure it must be; 0: the mean alone decides
# scorer = "deterministic"    # or { command = ["./judge"] }, or { url = "http://127.0.0.1:9000/judge" }
# scorer_timeout_s = 30
# control_pct = 0             # this share of the sampled originals is sent twice, to measure noise
# max_concurrent = 4
# max_calls_per_hour = 120
# max_tokens_per_day = 5000000
# max_usd_per_day = 10        # by the model's prices and the provider's counts; days are UTC
# max_body_mb = 4
# min_strikes = 10            # bodies that the provider rejected
# max_strike_pct = 5

# [workload.agent.policy.m7]
# enabled = true
# strategies = ["middle-turns"]

# Keeps the text that was cut, encrypted in the ledger, so that the portal shows before and after and a
# model can ask for it (`secateur mcp`). Needs [ledger] capture_key_env.
# [workload.agent.capture]
# max_mb = 256                # the oldest texts go first
# max_age_hours = 168         # counted from the last request that cut the text
# recall = true               # placeholders carry ids: [recall:…]

# What `summarized-turns` with `summary = "model"` may spend. A request waits for its summary at most
# wait_ms; a call may take timeout_ms and goes on when nobody waits. See docs/policies.md.
# [workload.agent.summary]
# wait_ms = 10000
# timeout_ms = 30000
# calls_per_minute = 30
# max_tokens = 1024

# M1: small requests without tools or images go to a cheaper model.
# [workload.agent.route]
# max_body_chars = 8000
# models = { "gpt-5" = "gpt-5-mini" }

# M8: answers follow this JSON schema unless the request asks for a format itself.
# [workload.agent.expected_schema]
# name = "answer"
# schema_file = "answer.schema.json"

# Where summaries that a model made are kept: in memory, and in a folder so that they outlive the
# proxy. They tell of prompts; the files are for the proxy's own user.
[summaries]
# folder = "summaries"
# max_mb = 64

# The audit ledger: one row per request, no prompt text. PostgreSQL where several proxies share one.
[ledger]
# enabled = true
# url = "sqlite:secateur-ledger.db"       # beside this file; by default in the data folder (~/.local/share/secateur); or "postgres://user@host/database?sslmode=verify-full"
# url_env = "DATABASE_URL"                # instead of url, where it holds a password
# spool_dir = "secateur-spool"            # beside this file; by default in the data folder; rows wait here while the database is gone
# keep_days = 90                          # 0 keeps rows for ever; daily sums always stay
# pass_through = "rows"                   # "sums": requests that no mechanic touched count in the sums and leave no row
# capture_key_env = "SECATEUR_CAPTURE_KEY" # 64 hexadecimal digits: openssl rand -hex 32

# Pages at /portal. Open on loopback; anywhere else they need a token.
[portal]
# enabled = true
# token_env = "SECATEUR_PORTAL_TOKEN"
# hosts = ["secateur.example.com"]
# trusted_proxies = ["10.0.0.2"]
# session_hours = 12

# Virtual client keys. The proxy knows only their SHA-256 and sends the credential from the
# environment variable in their place. They call endpoints of models: to generate, to count, to list models.
# [[key]]
# name = "team-a"
# sha256 = "…64 hex digits…"
# workload = "agent"
# credential_env = { anthropic = "ANTHROPIC_API_KEY", openai = "OPENAI_API_KEY" }
# requests_per_minute = 600
# models = ["claude-*", "gpt-5"] # all by default; * stands for anything
# paths = ["/v1/embeddings"]     # besides the endpoints of models

# Traces by OTLP over HTTP.
# [otlp]
# endpoint = "http://127.0.0.1:4318"
# header_env = { authorization = "OTLP_AUTHORIZATION" }
"#;
