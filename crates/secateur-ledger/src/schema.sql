-- The one schema, for SQLite and PostgreSQL. `schema.rs` puts the columns of `audit` and `daily` in their places, and for
-- PostgreSQL it gives texts the collation "C" and renames the few types and options that only SQLite knows.
CREATE TABLE audit (
{audit},
    PRIMARY KEY (id)
) WITHOUT ROWID;
CREATE INDEX audit_series ON audit (workload, stack, model, id);
CREATE INDEX audit_session ON audit (session, id) WHERE session IS NOT NULL;
CREATE INDEX audit_trouble ON audit (workload, stack, model, id) WHERE trouble;
CREATE TABLE audit_plan (
    id TEXT NOT NULL PRIMARY KEY,
    plan TEXT NOT NULL
);
CREATE VIEW optimize_savings AS SELECT
    id AS request_id, at_ms, workload, key_name, stack, model, tokens_saved, saved_usd,
    compress_chars_before, compress_chars_after
FROM audit WHERE stack <> '';
CREATE TABLE daily (
    day TEXT NOT NULL,
    workload TEXT NOT NULL,
    stack TEXT NOT NULL,
    model TEXT NOT NULL,
    key_name TEXT NOT NULL,
{daily},
    PRIMARY KEY (day, workload, stack, model, key_name)
) WITHOUT ROWID;
CREATE TABLE added_sums (
    id TEXT NOT NULL PRIMARY KEY,
    at_ms BIGINT NOT NULL
) WITHOUT ROWID;
CREATE TABLE session_cost (
    workload TEXT NOT NULL,
    session TEXT NOT NULL,
    held_out BOOLEAN NOT NULL,
    first_at_ms BIGINT NOT NULL,
    requests BIGINT NOT NULL,
    input_usd DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (workload, session, held_out)
) WITHOUT ROWID;
CREATE INDEX session_cost_first ON session_cost (workload, first_at_ms);
CREATE TABLE score (
    id TEXT NOT NULL PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    request_id TEXT,
    workload TEXT NOT NULL,
    stack TEXT NOT NULL,
    scorer TEXT NOT NULL,
    score DOUBLE PRECISION NOT NULL
);
CREATE INDEX score_series ON score (workload, stack, at_ms);
CREATE INDEX score_at ON score (at_ms);
CREATE TABLE spending (
    id TEXT NOT NULL PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    purpose TEXT NOT NULL,
    request_id TEXT NOT NULL,
    workload TEXT NOT NULL,
    stack TEXT NOT NULL,
    model TEXT NOT NULL,
    key_name TEXT NOT NULL,
    usd DOUBLE PRECISION
);
CREATE INDEX spending_at ON spending (at_ms);
CREATE TABLE stack_event (
    seq INTEGER PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    workload TEXT NOT NULL,
    stack TEXT NOT NULL,
    kind TEXT NOT NULL,
    reason TEXT NOT NULL,
    mean DOUBLE PRECISION,
    samples BIGINT,
    by_whom TEXT
);
CREATE INDEX stack_event_at ON stack_event (at_ms);
CREATE TABLE retired (
    workload TEXT NOT NULL,
    stack TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (workload, stack)
) WITHOUT ROWID;
CREATE TABLE switch (
    workload TEXT NOT NULL,
    mechanic TEXT NOT NULL,
    is_on BOOLEAN NOT NULL,
    at_ms BIGINT NOT NULL,
    by_whom TEXT NOT NULL,
    PRIMARY KEY (workload, mechanic)
) WITHOUT ROWID;
CREATE TABLE ended_session (
    id TEXT NOT NULL PRIMARY KEY,
    until_ms BIGINT NOT NULL
) WITHOUT ROWID;
CREATE TABLE captured (
    workload TEXT NOT NULL,
    id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    session TEXT,
    at_ms BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    sealed BLOB,
    sealed_after BLOB,
    expired_at_ms BIGINT,
    PRIMARY KEY (workload, id)
);
CREATE INDEX captured_request ON captured (request_id);
CREATE INDEX captured_live ON captured (workload, at_ms) WHERE expired_at_ms IS NULL;
CREATE TABLE captured_size (
    workload TEXT NOT NULL PRIMARY KEY,
    bytes BIGINT NOT NULL
) WITHOUT ROWID;
