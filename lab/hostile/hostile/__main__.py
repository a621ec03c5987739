"""Runs every attack in turn, each against a proxy of its own, and prints a table."""

import argparse
import asyncio
import datetime
import os
import pathlib
import platform
import subprocess
import sys
import time

from . import attacks, load, upstream_attacks
from .upstream import Upstream

RESULTS = pathlib.Path(__file__).resolve().parent.parent / "results"


def plan(options):
    of = [
        ("zstd with a huge window", attacks.zstd_window),
        ("gzip bodies together", attacks.gzip_bodies),
        ("dribbled bodies", attacks.dribbled_bodies),
        ("connections that send nothing", attacks.silent_connections),
        ("bodies that stall on own endpoints", attacks.stalled_own_endpoints),
        ("slow readers", attacks.slow_readers),
        ("configuration cut off or empty", attacks.cut_off_config),
        ("a key on other paths of the provider", attacks.keys_on_other_paths),
        ("a key on another workload", attacks.key_on_another_workload),
        ("invented models, refused", attacks.invented_models),
        ("invented models, accepted", attacks.accepted_models),
        ("model names of 5 MB", attacks.long_model),
        ("absurd usage", attacks.absurd_usage),
        ("two lengths in a response", upstream_attacks.two_lengths),
        ("101, forged headers and cookies", upstream_attacks.forged_headers),
        ("SIGTERM with open streams", load.sigterm),
        ("start on a full disk", load.start_on_full_disk),
        ("one tenant's heavy bodies", upstream_attacks.crowding_tenant),
        ("files of ledger and spool", attacks.private_files),
        ("imitated placeholders", attacks.imitated_note),
        ("hidden letters in names", attacks.hidden_letters),
        ("host headers and WebSockets", attacks.bad_hosts),
        ("unknown provider paths", attacks.unknown_paths),
        ("upstream refused, no name, no TLS", upstream_attacks.failing_upstreams),
        ("load: idle connections", lambda upstream: load.idle_connections(upstream, options.idle)),
        ("load: streams at once", lambda upstream: load.streaming(upstream, options.streams)),
        ("fault: kill -9", load.kill_nine),
        ("fault: PostgreSQL away", load.postgres_away),
        ("fault: disk full for a while", load.disk_full_for_a_while),
        ("fault: upstreams that reset", upstream_attacks.broken_streams),
        ("soak", lambda upstream: load.soak(upstream, options.soak)),
    ]
    return [(name, attack) for name, attack in of if options.only in name]


async def run(name, attack, longest):
    upstream = await Upstream().start()
    started = time.monotonic()
    try:
        held, seen, proxy = await asyncio.wait_for(attack(upstream), longest)
    except Exception as error:  # An attack that does not run did not hold.
        held, seen, proxy = False, f"{type(error).__name__}: {error}", None
    upstream.server.close()
    verdict = {True: "held", False: "BROKE", None: "not run"}[held]
    peak = f"{proxy.peak_mb():.0f} MB" if proxy else "–"
    return [name, verdict, peak, f"{time.monotonic() - started:.1f} s", seen]


def table(rows):
    heads = ["attack", "", "peak", "time", "seen"]
    widths = [max(len(row[at]) for row in [heads, *rows]) for at in range(4)]
    line = lambda row: "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[4]]).rstrip()
    return [line(heads), "-" * len(line(heads)), *map(line, rows)]


def about(options):
    revision = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    flags = f"--soak {options.soak:g} --idle {options.idle} --streams {options.streams}"
    return [
        f"lab/hostile/run {flags}, {datetime.date.today()}, {revision}",
        f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, load before the run {os.getloadavg()[0]:.2f}",
        "Attacks, upstream and proxy share the machine. Peak: resident memory of the proxy.",
        "",
    ]


def main():
    arguments = argparse.ArgumentParser(prog="lab/hostile/run", description=__doc__)
    arguments.add_argument("--soak", type=float, default=20, help="seconds; the full one is 600")
    arguments.add_argument("--idle", type=int, default=5_000)
    arguments.add_argument("--streams", type=int, default=2_000)
    arguments.add_argument("--only", default="", help="attacks with these words in their name")
    arguments.add_argument("--write", help="keeps the table as results/NAME.txt")
    options = arguments.parse_args()
    head, rows = about(options), []
    print("\n".join(head))
    for name, attack in plan(options):
        row = asyncio.run(run(name, attack, 600 + options.soak))
        print(f"{row[1]:8} {row[0]}: {row[4]} ({row[2]}, {row[3]})", flush=True)
        rows.append(row)
    lines = [*head, *table(rows)]
    broke = sum(row[1] == "BROKE" for row in rows)
    lines += ["", f"{sum(row[1] == 'held' for row in rows)} held, {broke} broke, {sum(row[1] == 'not run' for row in rows)} not run"]
    print("\n" + "\n".join(lines[len(head):]))
    if options.write:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{options.write}.txt").write_text("\n".join(lines) + "\n")
    sys.exit(1 if broke else 0)


main()
