-- Rows that no mechanic looked at lie together where there are many: a bundle holds those of less than a second as JSON,
-- one array for each row (its number less the bundle's, the id's digits behind the time, series, kind, bytes, response_bytes,
-- added_us, upstream_head_us, total_us, input_tokens, output_tokens, actual_usd, actual_input_usd, cache_read_tokens,
-- cache_write_tokens). Bundles do not overlap. The view `audit` shows their rows with all others; `audit_single` has those that
-- lie by themselves.
CREATE TABLE audit_bundle (
    seq INTEGER PRIMARY KEY, -- the number of its first row
    last_seq INTEGER NOT NULL, -- of its last
    entries TEXT NOT NULL
);
CREATE TABLE audit_bundle_series (
    series INTEGER NOT NULL,
    bundle INTEGER NOT NULL,
    PRIMARY KEY (series, bundle)
) WITHOUT ROWID;
CREATE INDEX audit_bundle_series_bundle ON audit_bundle_series (bundle);
CREATE TRIGGER audit_bundle_gone AFTER DELETE ON audit_bundle BEGIN
    DELETE FROM audit_bundle_series WHERE bundle = old.seq;
END;
-- What was predicted to be read from the cache and written to it, beside what was; in the sums only where both are known.
ALTER TABLE audit_change ADD COLUMN predicted_cache_read_tokens INTEGER;
ALTER TABLE audit_change ADD COLUMN predicted_cache_write_tokens INTEGER;
ALTER TABLE daily ADD COLUMN predicted_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily ADD COLUMN predicted_cache_read_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily ADD COLUMN predicted_cache_write_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily ADD COLUMN billed_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily ADD COLUMN billed_cache_read_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE daily ADD COLUMN billed_cache_write_tokens INTEGER NOT NULL DEFAULT 0;
-- A request without an answer, and one whose change was rejected, are trouble too.
UPDATE audit_row SET trouble = 1
    WHERE trouble IS NULL AND kind IN (SELECT kind FROM audit_kind WHERE status = 0 OR struck_stack <> '');
-- What comparing answers cost.
CREATE TABLE shadow_call (
    id TEXT NOT NULL PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    workload TEXT NOT NULL,
    stack TEXT NOT NULL,
    usd REAL NOT NULL
);
CREATE INDEX shadow_call_at ON shadow_call (at_ms);
-- Sessions of the portal that were ended before their time.
CREATE TABLE ended_session (
    id TEXT NOT NULL PRIMARY KEY,
    until_ms INTEGER NOT NULL
);
-- What stands where the text was.
ALTER TABLE captured ADD COLUMN sealed_after BLOB;
DROP VIEW optimize_savings;
DROP VIEW audit;
CREATE VIEW audit_single AS SELECT
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
    c.predicted_cache_read_tokens AS predicted_cache_read_tokens,
    c.predicted_cache_write_tokens AS predicted_cache_write_tokens,
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
CREATE VIEW audit AS SELECT * FROM audit_single UNION ALL SELECT
    b.seq + (e.value ->> 0) AS seq,
    printf('%011x%016x', (b.seq + (e.value ->> 0)) >> 21, e.value ->> 1) AS id,
    (b.seq + (e.value ->> 0)) >> 21 AS at_ms,
    s.workload AS workload,
    k.key_name AS key_name,
    NULL AS session,
    k.provider AS provider,
    k.dialect AS dialect,
    s.model AS model,
    k.routed_to AS routed_to,
    s.stack AS stack,
    '[]' AS steps,
    k.failed_open AS failed_open,
    k.struck_stack AS struck_stack,
    k.bypassed AS bypassed,
    k.held_out AS held_out,
    e.value ->> 4 AS bytes_before,
    e.value ->> 4 AS bytes_after,
    NULL AS chars_before,
    NULL AS chars_after,
    NULL AS messages_before,
    NULL AS messages_after,
    0 AS turns_removed,
    0 AS rag_kept,
    0 AS rag_dropped,
    NULL AS compress_chars_before,
    NULL AS compress_chars_after,
    NULL AS first_edit_at,
    k.upstream_status AS upstream_status,
    k.status AS status,
    k.is_stream AS is_stream,
    e.value ->> 5 AS response_bytes,
    e.value ->> 6 AS added_us,
    e.value ->> 7 AS upstream_head_us,
    e.value ->> 8 AS total_us,
    e.value ->> 9 AS input_tokens,
    e.value ->> 13 AS cache_read_tokens,
    e.value ->> 14 AS cache_write_tokens,
    e.value ->> 10 AS output_tokens,
    NULL AS predicted_tokens_before,
    NULL AS predicted_tokens_after,
    NULL AS predicted_cache_read_tokens,
    NULL AS predicted_cache_write_tokens,
    k.tokens_are_exact AS tokens_are_exact,
    NULL AS predicted_usd_without,
    NULL AS predicted_usd_with,
    NULL AS break_even_turns,
    k.price_date AS price_date,
    e.value ->> 11 AS actual_usd,
    e.value ->> 12 AS actual_input_usd,
    NULL AS tokens_saved,
    NULL AS saved_usd,
    k.ended AS ended,
    0 AS trouble
FROM audit_bundle AS b
    JOIN json_each(b.entries) AS e
    JOIN audit_series AS s ON s.series = e.value ->> 2
    JOIN audit_kind AS k ON k.kind = e.value ->> 3;
-- No row of a bundle was changed.
CREATE VIEW optimize_savings AS SELECT
    id AS request_id, at_ms, workload, stack, model, tokens_saved, saved_usd,
    compress_chars_before, compress_chars_after
FROM audit_single WHERE stack <> '';
