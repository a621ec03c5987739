"""Whether sessions went well, and the figures of the table."""

import re
from collections import Counter

import project
from session import PRUNED, Session

# What agents print before a line of a file: numbers, with or without a mark.
NUMBERED = re.compile(r"^\s*L?\d+(?:[:|→\t]\s?|-(?=\s))")


def rejections(session: Session) -> Counter:
    """Requests that the provider rejected, by path and reason."""
    return Counter(f"{request['path']}: {request['rejection']}" for request in session.requests if request["rejection"])


def problems(session: Session, script: dict, expected: dict[str, str]) -> list[str]:
    """What went wrong in a session, apart from its price and from rejections."""
    if session.problems:
        return session.problems
    found = []
    total = 0
    for turn, said in enumerate(script["turns"]):
        total += sum(len(step) for step in said["steps"])
        reached = [at["progress"]["calls"] for at in session.requests if at["progress"] and at["progress"]["turn"] == turn]
        if max(reached, default=0) != total:
            found.append(f"turn {turn + 1} reached call {max(reached, default=0)} of {total}")
    for name in sorted(expected.keys() | session.files.keys()):
        if expected.get(name) != session.files.get(name):
            found.append(f"{name} is not as the script leaves it")
    for row in session.rows:
        if row["failed_open"]:
            found.append(f"the proxy sent a request unpruned: {row['failed_open']}")
    if session.way == PRUNED and len(billed_rows(session)) != len(session.billed()):
        found.append(f"the ledger has {len(billed_rows(session))} of {len(session.billed())} billed requests")
    return found


def own_misses(direct: Session) -> list[tuple[int, int]]:
    """Turn and calls of the requests where the agent itself changed what it had sent before: less is read than before."""
    missed, before = [], 0
    for request in session_requests(direct):
        read = request["usage"]["cache_read"]
        if read < before:
            missed.append(place(request))
        before = read
    return missed


def session_requests(session: Session) -> list[dict]:
    """The requests of the scripted conversation, without titles and the like."""
    return [request for request in session.billed() if request["progress"]]


def place(request: dict) -> tuple[int, int]:
    return request["progress"]["turn"], request["progress"]["calls"]


def billed_rows(session: Session) -> list[dict]:
    """The ledger's rows of requests that a model answered, in order."""
    return [row for row in sorted(session.rows, key=lambda row: row["at"]) if row["usage"]["input"] is not None]


def cache_reads(direct: Session, pruned: Session) -> tuple[int, int]:
    """Tokens that the proxy expected to be read from the cache, and those that were.

    Requests where the agent itself lost the cache are left out: no request body tells of it.
    """
    left_out = own_misses(direct)
    predicted = billed = 0
    for row, request in zip(billed_rows(pruned), pruned.billed()):
        expected = row["receipt"]["predicted_cache_read"]
        if expected is not None and not (request["progress"] and place(request) in left_out):
            predicted += expected
            billed += request["usage"]["cache_read"]
    return predicted, billed


def first_read_share(direct: Session, pruned: Session, script: dict, before: dict[str, str]) -> float | None:
    """Of the lines of files that are read for the first time, those that reach the model with the result.

    Only lines that reach it directly count: agents have limits of their own.
    """
    sent = kept = 0
    seen = set()
    for at, operation in enumerate(project.operations(script)):
        path = operation.get("read")
        if path in before and path not in seen and "first" not in operation:
            wanted = {line.strip() for line in before[path].splitlines() if len(line.strip()) >= 12}
            there = wanted & lines_after(direct, at + 1)
            sent += len(there)
            kept += len(there & lines_after(pruned, at + 1))
        seen |= {path, *(name for name in before if name in operation.get("shell", ""))}
    return kept / sent if sent else None


def lines_after(session: Session, calls: int) -> set[str]:
    """The lines of the first request that has the results of so many calls."""
    for request in session.requests:
        if request["progress"] and request["progress"]["calls"] >= calls:
            lines = (line for text in texts(session.body(request)) for line in text.splitlines())
            return {NUMBERED.sub("", line).strip() for line in lines}
    return set()


def texts(value) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [text for one in value for text in texts(one)] if isinstance(value, list) else []
