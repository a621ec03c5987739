-- Rows, savings, daily sums, scores, decisions.
CREATE TABLE audit (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    workload TEXT COLLATE "C" NOT NULL,
    key_name TEXT COLLATE "C",
    session TEXT COLLATE "C",
    provider TEXT COLLATE "C" NOT NULL,
    dialect TEXT COLLATE "C",
    model TEXT COLLATE "C" NOT NULL,
    routed_to TEXT COLLATE "C",
    stack TEXT COLLATE "C" NOT NULL,
    steps TEXT COLLATE "C" NOT NULL,
    failed_open TEXT COLLATE "C",
    struck_stack TEXT COLLATE "C" NOT NULL,
    bypassed BOOLEAN NOT NULL,
    held_out BOOLEAN NOT NULL,
    bytes_before BIGINT NOT NULL,
    bytes_after BIGINT NOT NULL,
    chars_before BIGINT,
    chars_after BIGINT,
    messages_before BIGINT,
    messages_after BIGINT,
    turns_removed BIGINT NOT NULL,
    rag_kept BIGINT NOT NULL,
    rag_dropped BIGINT NOT NULL,
    compress_chars_before BIGINT,
    compress_chars_after BIGINT,
    first_edit_at BIGINT,
    upstream_status BIGINT,
    status BIGINT NOT NULL,
    is_stream BOOLEAN NOT NULL,
    response_bytes BIGINT NOT NULL,
    added_us BIGINT NOT NULL,
    upstream_head_us BIGINT,
    total_us BIGINT NOT NULL,
    input_tokens BIGINT,
    cache_read_tokens BIGINT,
    cache_write_tokens BIGINT,
    output_tokens BIGINT,
    predicted_tokens_before BIGINT,
    predicted_tokens_after BIGINT,
    tokens_are_exact BOOLEAN NOT NULL,
    predicted_usd_without DOUBLE PRECISION,
    predicted_usd_with DOUBLE PRECISION,
    break_even_turns DOUBLE PRECISION,
    price_date TEXT COLLATE "C",
    actual_usd DOUBLE PRECISION,
    actual_input_usd DOUBLE PRECISION,
    tokens_saved BIGINT,
    saved_usd DOUBLE PRECISION,
    ended TEXT COLLATE "C" NOT NULL,
    trouble BOOLEAN NOT NULL
);
CREATE INDEX audit_at ON audit (at_ms, id);
CREATE INDEX audit_series ON audit (workload, stack, model, at_ms, id);
CREATE INDEX audit_session ON audit (session, at_ms, id) WHERE session IS NOT NULL;
CREATE TABLE audit_plan (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    plan BYTEA NOT NULL
);
CREATE INDEX audit_plan_at ON audit_plan (at_ms);
CREATE TABLE optimize_savings (
    request_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    workload TEXT COLLATE "C" NOT NULL,
    stack TEXT COLLATE "C" NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    tokens_saved BIGINT,
    saved_usd DOUBLE PRECISION,
    compress_chars_before BIGINT,
    compress_chars_after BIGINT
);
CREATE INDEX optimize_savings_at ON optimize_savings (at_ms);
CREATE TABLE daily (
    day TEXT COLLATE "C" NOT NULL,
    workload TEXT COLLATE "C" NOT NULL,
    stack TEXT COLLATE "C" NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    requests BIGINT NOT NULL,
    changed BIGINT NOT NULL,
    failed_open BIGINT NOT NULL,
    struck BIGINT NOT NULL,
    errors BIGINT NOT NULL,
    chars_before BIGINT NOT NULL,
    chars_after BIGINT NOT NULL,
    compress_chars_before BIGINT NOT NULL,
    compress_chars_after BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    cache_read_tokens BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    tokens_saved BIGINT NOT NULL,
    saved_usd DOUBLE PRECISION NOT NULL,
    predicted_usd_without DOUBLE PRECISION NOT NULL,
    predicted_usd_with DOUBLE PRECISION NOT NULL,
    reconciled_usd DOUBLE PRECISION NOT NULL,
    actual_usd DOUBLE PRECISION NOT NULL,
    net_negative BIGINT NOT NULL,
    added_us BIGINT NOT NULL,
    PRIMARY KEY (day, workload, stack, model)
);
CREATE TABLE score (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    request_id TEXT COLLATE "C",
    workload TEXT COLLATE "C" NOT NULL,
    stack TEXT COLLATE "C" NOT NULL,
    scorer TEXT COLLATE "C" NOT NULL,
    score DOUBLE PRECISION NOT NULL
);
CREATE INDEX score_series ON score (workload, stack, at_ms);
CREATE TABLE stack_event (
    seq BIGSERIAL PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    workload TEXT COLLATE "C" NOT NULL,
    stack TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    mean DOUBLE PRECISION,
    samples BIGINT,
    by_whom TEXT COLLATE "C"
);
CREATE INDEX stack_event_at ON stack_event (at_ms);
CREATE TABLE retired (
    workload TEXT COLLATE "C" NOT NULL,
    stack TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workload, stack)
);
CREATE TABLE switch (
    workload TEXT COLLATE "C" NOT NULL,
    mechanic TEXT COLLATE "C" NOT NULL,
    is_on BOOLEAN NOT NULL,
    at_ms BIGINT NOT NULL,
    by_whom TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workload, mechanic)
);
CREATE TABLE captured (
    workload TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    request_id TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C",
    at_ms BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    sealed BYTEA,
    expired_at_ms BIGINT,
    PRIMARY KEY (workload, id)
);
CREATE INDEX captured_request ON captured (request_id);
CREATE INDEX captured_live ON captured (workload, at_ms) WHERE expired_at_ms IS NULL;
CREATE TABLE captured_size (
    workload TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    bytes BIGINT NOT NULL
);
