-- What was predicted to be read from the cache and written to it, beside what was; in the sums only where both are known.
ALTER TABLE audit ADD COLUMN predicted_cache_read_tokens BIGINT, ADD COLUMN predicted_cache_write_tokens BIGINT;
ALTER TABLE daily
    ADD COLUMN predicted_tokens BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN predicted_cache_read_tokens BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN predicted_cache_write_tokens BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN billed_tokens BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN billed_cache_read_tokens BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN billed_cache_write_tokens BIGINT NOT NULL DEFAULT 0;
-- A request without an answer, and one whose change was rejected, are trouble too.
UPDATE audit SET trouble = TRUE WHERE NOT trouble AND (status = 0 OR struck_stack <> '');
-- What comparing answers cost.
CREATE TABLE shadow_call (
    id TEXT NOT NULL PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    workload TEXT NOT NULL,
    stack TEXT NOT NULL,
    usd DOUBLE PRECISION NOT NULL
);
CREATE INDEX shadow_call_at ON shadow_call (at_ms);
-- Sessions of the portal that were ended before their time.
CREATE TABLE ended_session (
    id TEXT NOT NULL PRIMARY KEY,
    until_ms BIGINT NOT NULL
);
-- What stands where the text was.
ALTER TABLE captured ADD COLUMN sealed_after BYTEA;
