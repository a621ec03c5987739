-- Rows that are small and lie in the order of time. A row's number is its time in milliseconds times 2^21, plus its
-- turn within the millisecond; indexes end in it. What many rows have in common is kept once (audit_series,
-- audit_kind), what only the mechanics know is apart (audit_change), and the view `audit` shows all of it as before.
-- Columns of audit_row have no type: what comes in has its own, and SQLite need not look.
ALTER TABLE audit RENAME TO old_audit;
ALTER TABLE audit_plan RENAME TO old_audit_plan;
DROP INDEX audit_series;
DROP INDEX audit_session;
DROP INDEX audit_trouble;
DROP INDEX audit_trouble_at;
DROP TABLE optimize_savings;
CREATE TABLE audit_series (
    series INTEGER PRIMARY KEY,
    workload TEXT NOT NULL,
    stack TEXT NOT NULL,
    model TEXT NOT NULL,
    UNIQUE (workload, stack, model)
);
CREATE TABLE audit_kind (
    kind INTEGER PRIMARY KEY,
    status INTEGER NOT NULL,
    provider TEXT NOT NULL,
    key_name TEXT,
    dialect TEXT,
    routed_to TEXT,
    failed_open TEXT,
    struck_stack TEXT NOT NULL,
    bypassed INTEGER NOT NULL,
    held_out INTEGER NOT NULL,
    upstream_status INTEGER,
    is_stream INTEGER NOT NULL,
    tokens_are_exact INTEGER NOT NULL,
    price_date TEXT,
    ended TEXT NOT NULL
);
CREATE INDEX audit_kind_key ON audit_kind (key_name, provider, dialect, status);
CREATE TABLE audit_row (
    seq INTEGER PRIMARY KEY,
    series,
    kind,
    bytes_before,
    bytes_after, -- NULL: as before
    response_bytes,
    added_us,
    upstream_head_us,
    total_us,
    input_tokens,
    output_tokens,
    actual_usd,
    actual_input_usd,
    fresh, -- the id's digits behind the time, as a number
    name, -- the id, if it does not begin with the row's time
    trouble, -- 1, or NULL
    session,
    cache_read_tokens,
    cache_write_tokens
);
CREATE INDEX audit_row_series ON audit_row (series);
CREATE INDEX audit_row_session ON audit_row (session) WHERE session IS NOT NULL;
CREATE INDEX audit_row_trouble ON audit_row (series) WHERE trouble IS NOT NULL;
CREATE UNIQUE INDEX audit_row_name ON audit_row (name) WHERE name IS NOT NULL;
CREATE TABLE audit_change (
    seq INTEGER PRIMARY KEY,
    steps TEXT NOT NULL,
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
    predicted_tokens_before INTEGER,
    predicted_tokens_after INTEGER,
    predicted_usd_without REAL,
    predicted_usd_with REAL,
    break_even_turns REAL,
    tokens_saved INTEGER,
    saved_usd REAL
);
CREATE TABLE audit_plan (
    seq INTEGER PRIMARY KEY,
    plan BLOB NOT NULL
);
CREATE VIEW audit AS SELECT
    r.seq AS seq,
    COALESCE(r.name, printf('%011x%016x', r.seq >> 21, r.fresh)) AS id,
    r.seq >> 21 AS at_ms,
    s.workload AS workload,
    k.key_name AS key_name,
    r.session AS session,
    k.provider AS provider,
    k.dialect AS dialect,
    s.model AS model,
    k.routed_to AS routed_to,
    s.stack AS stack,
    COALESCE(c.steps, '[]') AS steps,
    k.failed_open AS failed_open,
    k.struck_stack AS struck_stack,
    k.bypassed AS bypassed,
    k.held_out AS held_out,
    r.bytes_before AS bytes_before,
    COALESCE(r.bytes_after, r.bytes_before) AS bytes_after,
    c.chars_before AS chars_before,
    c.chars_after AS chars_after,
    c.messages_before AS messages_before,
    c.messages_after AS messages_after,
    COALESCE(c.turns_removed, 0) AS turns_removed,
    COALESCE(c.rag_kept, 0) AS rag_kept,
    COALESCE(c.rag_dropped, 0) AS rag_dropped,
    c.compress_chars_before AS compress_chars_before,
    c.compress_chars_after AS compress_chars_after,
    c.first_edit_at AS first_edit_at,
    k.upstream_status AS upstream_status,
    k.status AS status,
    k.is_stream AS is_stream,
    r.response_bytes AS response_bytes,
    r.added_us AS added_us,
    r.upstream_head_us AS upstream_head_us,
    r.total_us AS total_us,
    r.input_tokens AS input_tokens,
    r.cache_read_tokens AS cache_read_tokens,
    r.cache_write_tokens AS cache_write_tokens,
    r.output_tokens AS output_tokens,
    c.predicted_tokens_before AS predicted_tokens_before,
    c.predicted_tokens_after AS predicted_tokens_after,
    k.tokens_are_exact AS tokens_are_exact,
    c.predicted_usd_without AS predicted_usd_without,
    c.predicted_usd_with AS predicted_usd_with,
    c.break_even_turns AS break_even_turns,
    k.price_date AS price_date,
    r.actual_usd AS actual_usd,
    r.actual_input_usd AS actual_input_usd,
    c.tokens_saved AS tokens_saved,
    c.saved_usd AS saved_usd,
    k.ended AS ended,
    r.trouble IS NOT NULL AS trouble
FROM audit_row AS r
    JOIN audit_series AS s ON s.series = r.series
    JOIN audit_kind AS k ON k.kind = r.kind
    LEFT JOIN audit_change AS c ON c.seq = r.seq;
CREATE VIEW optimize_savings AS SELECT
    id AS request_id, at_ms, workload, stack, model, tokens_saved, saved_usd,
    compress_chars_before, compress_chars_after
FROM audit WHERE stack <> '';
-- What was there, in its order, so that nothing has to be sorted. Times that a number cannot hold are cut to those that it
-- can; rows that then fall together cannot be real ones.
INSERT INTO audit_series (workload, stack, model)
    SELECT DISTINCT workload, stack, model FROM old_audit;
INSERT INTO audit_kind (status, provider, key_name, dialect, routed_to, failed_open, struck_stack, bypassed,
        held_out, upstream_status, is_stream, tokens_are_exact, price_date, ended)
    SELECT DISTINCT status, provider, key_name, dialect, routed_to, failed_open, struck_stack, bypassed,
        held_out, upstream_status, is_stream, tokens_are_exact, price_date, ended FROM old_audit;
INSERT OR IGNORE INTO audit_row (seq, series, kind, bytes_before, bytes_after, response_bytes, added_us,
        upstream_head_us, total_us, input_tokens, output_tokens, actual_usd, actual_input_usd, name, trouble, session,
        cache_read_tokens, cache_write_tokens)
    SELECT (MAX(0, MIN(o.at_ms, (1 << 42) - 1)) << 21)
            + ROW_NUMBER() OVER (PARTITION BY o.at_ms ORDER BY o.id) - 1,
        s.series, k.kind, o.bytes_before, NULLIF(o.bytes_after, o.bytes_before), o.response_bytes, o.added_us,
        o.upstream_head_us, o.total_us, o.input_tokens, o.output_tokens, o.actual_usd, o.actual_input_usd,
        o.id, NULLIF(o.trouble, 0), o.session, o.cache_read_tokens, o.cache_write_tokens
    FROM old_audit AS o
        CROSS JOIN audit_series AS s ON s.workload = o.workload AND s.stack = o.stack AND s.model = o.model
        CROSS JOIN audit_kind AS k ON k.key_name IS o.key_name AND k.provider = o.provider AND k.dialect IS o.dialect
            AND k.status = o.status AND k.routed_to IS o.routed_to AND k.failed_open IS o.failed_open
            AND k.struck_stack = o.struck_stack AND k.bypassed = o.bypassed AND k.held_out = o.held_out
            AND k.upstream_status IS o.upstream_status AND k.is_stream = o.is_stream
            AND k.tokens_are_exact = o.tokens_are_exact AND k.price_date IS o.price_date AND k.ended = o.ended;
INSERT INTO audit_change
    SELECT r.seq, o.steps, o.chars_before, o.chars_after, o.messages_before, o.messages_after, o.turns_removed,
        o.rag_kept, o.rag_dropped, o.compress_chars_before, o.compress_chars_after, o.first_edit_at,
        o.predicted_tokens_before, o.predicted_tokens_after, o.predicted_usd_without, o.predicted_usd_with,
        o.break_even_turns, o.tokens_saved, o.saved_usd
    FROM audit_row AS r CROSS JOIN old_audit AS o ON o.id = r.name
    WHERE o.steps <> '[]' OR o.turns_removed <> 0 OR o.rag_kept <> 0 OR o.rag_dropped <> 0
        OR COALESCE(o.chars_before, o.chars_after, o.messages_before, o.messages_after, o.compress_chars_before,
            o.compress_chars_after, o.first_edit_at, o.predicted_tokens_before, o.predicted_tokens_after,
            o.predicted_usd_without, o.predicted_usd_with, o.break_even_turns, o.tokens_saved, o.saved_usd) IS NOT NULL
    ORDER BY r.seq;
INSERT INTO audit_plan
    SELECT r.seq, o.plan FROM audit_row AS r CROSS JOIN old_audit_plan AS o ON o.id = r.name ORDER BY r.seq;
DROP TABLE old_audit_plan;
DROP TABLE old_audit;
