-- Cost per session for the comparison with held-out sessions, and a short way to the rows with trouble.
CREATE TABLE session_cost (
    workload TEXT NOT NULL,
    session TEXT NOT NULL,
    held_out INTEGER NOT NULL,
    first_at_ms INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    input_usd REAL NOT NULL,
    PRIMARY KEY (workload, session, held_out)
) WITHOUT ROWID;
CREATE INDEX session_cost_first ON session_cost (workload, first_at_ms);
INSERT INTO session_cost (workload, session, held_out, first_at_ms, requests, input_usd)
    SELECT workload, session, held_out, MIN(at_ms), COUNT(*), SUM(actual_input_usd)
    FROM audit WHERE session IS NOT NULL AND actual_input_usd IS NOT NULL
    GROUP BY workload, session, held_out;
CREATE INDEX audit_trouble ON audit (workload, stack, model, at_ms, id) WHERE trouble;
CREATE INDEX audit_trouble_at ON audit (at_ms, id) WHERE trouble;
