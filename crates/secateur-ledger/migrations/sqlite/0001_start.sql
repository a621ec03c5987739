-- Rows, savings, daily sums, scores, decisions.
CREATE TABLE audit (
    id TEXT NOT NULL PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    workload TEXT NOT NULL,
    key_name TEXT,
    session TEXT,
    provider TEXT NOT NULL,
    dialect TEXT,
    model TEXT NOT NULL,
    routed_to TEXT,
    stack TEXT NOT NULL,
    steps TEXT NOT NULL,
    failed_open TEXT,
    struck_stack TEXT NOT NULL,
    bypassed INTEGER NOT NULL,
    held_out INTEGER NOT NULL,
    bytes_before INTEGER NOT NULL,
    bytes_after INTEGER NOT NULL,
    chars_before INTEGER,
    chars_after INTEGER,
    messages_before INTEGER,
    messages_after INTEGER,
    turns_removed INTEGER NOT NULL,
    rag_kept INTEGER NOT NULL,
    rag_dropped INTEGER NOT NULL,
    compress_chars_before INTEGER,
    compress_chars_after INTEGER,
    first_edit_at INTEGER,
    upstream_status INTEGER,
    status INTEGER NOT NULL,
    is_stream INTEGER NOT NULL,
    response_bytes INTEGER NOT NULL,
    added_us INTEGER NOT NULL,
    upstream_head_us INTEGER,
    total_us INTEGER NOT NULL,
    input_tokens INTEGER,
    cache_read_tokens INTEGER,
    cache_write_tokens INTEGER,
    output_tokens INTEGER,
    predicted_tokens_before INTEGER,
    predicted_tokens_after INTEGER,
    tokens_are_exact INTEGER NOT NULL,
    predicted_usd_without REAL,
    predicted_usd_with REAL,
    break_even_turns REAL,
    price_date TEXT,
    actual_usd REAL,
    actual_input_usd REAL,
    tokens_saved INTEGER,
    saved_usd REAL,
    ended TEXT NOT NULL,
    trouble INTEGER NOT NULL
);
CREATE INDEX audit_at ON audit (at_ms, id);
CREATE INDEX audit_series ON audit (workload, stack, model, at_ms, id);
CREATE INDEX audit_session ON audit (session, at_ms, id) WHERE session IS NOT NULL;
CREATE TABLE audit_plan (
    id TEXT NOT NULL PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    plan BLOB NOT NULL
);
CREATE INDEX audit_plan_at ON audit_plan (at_ms);
CREATE TABLE optimize_savings (
    request_id TEXT NOT NULL PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    workload TEXT NOT NULL,
    stack TEXT NOT NULL,
    model TEXT NOT NULL,
    tokens_saved INTEGER,
    saved_usd REAL,
    compress_chars_before INTEGER,
    compress_chars_after INTEGER
);
CREATE INDEX optimize_savings_at ON optimize_savings (at_ms);
CREATE TABLE daily (
    day TEXT NOT NULL,
    workload TEXT NOT NULL,
    stack TEXT NOT NULL,
    model TEXT NOT NULL,
    requests INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    failed_open INTEGER NOT NULL,
    struck INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    chars_before INTEGER NOT NULL,
    chars_after INTEGER NOT NULL,
    compress_chars_before INTEGER NOT NULL,
    compress_chars_after INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    tokens_saved INTEGER NOT NULL,
    saved_usd REAL NOT NULL,
    predicted_usd_without REAL NOT NULL,
    predicted_usd_with REAL NOT NULL,
    reconciled_usd REAL NOT NULL,
    actual_usd REAL NOT NULL,
    net_negative INTEGER NOT NULL,
    added_us INTEGER NOT NULL,
    PRIMARY KEY (day, workload, stack, model)
) WITHOUT ROWID;
CREATE TABLE score (
    id TEXT NOT NULL PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    request_id TEXT,
    workload TEXT NOT NULL,
    stack TEXT NOT NULL,
    scorer TEXT NOT NULL,
    score REAL NOT NULL
);
CREATE INDEX score_series ON score (workload, stack, at_ms);
CREATE TABLE stack_event (
    seq INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    workload TEXT NOT NULL,
    stack TEXT NOT NULL,
    kind TEXT NOT NULL,
    reason TEXT NOT NULL,
    mean REAL,
    samples INTEGER,
    by_whom TEXT
);
CREATE INDEX stack_event_at ON stack_event (at_ms);
CREATE TABLE retired (
    workload TEXT NOT NULL,
    stack TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (workload, stack)
) WITHOUT ROWID;
CREATE TABLE switch (
    workload TEXT NOT NULL,
    mechanic TEXT NOT NULL,
    is_on INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    by_whom TEXT NOT NULL,
    PRIMARY KEY (workload, mechanic)
) WITHOUT ROWID;
CREATE TABLE captured (
    workload TEXT NOT NULL,
    id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    session TEXT,
    at_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    sealed BLOB,
    expired_at_ms INTEGER,
    PRIMARY KEY (workload, id)
);
CREATE INDEX captured_request ON captured (request_id);
CREATE INDEX captured_live ON captured (workload, at_ms) WHERE expired_at_ms IS NULL;
CREATE TABLE captured_size (
    workload TEXT NOT NULL PRIMARY KEY,
    bytes INTEGER NOT NULL
) WITHOUT ROWID;
