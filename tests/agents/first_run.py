"""`secateur run AGENT` as a new user runs it: no configuration, one command. See README.md."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import processes
import project
from agents import AGENTS, program
from processes import Service
from session import last_lines

HERE = Path(__file__).parent
LAST_LINE = re.compile(r"secateur: (\d+) requests, (\d+) changed.* saved")


def first_run(secateur: Path, provider: Path, agent: str, work: Path) -> tuple[str, list[str]]:
    """Plays the first turn with an agent. What to print, and what went wrong."""
    root, home, tmp = (work / agent / name for name in ("project", "home", "tmp"))
    for folder in (root, home, tmp):
        folder.mkdir(parents=True)
    project.make(root)
    script = json.loads((HERE / "script.json").read_text())
    service = Service([str(provider), "--script", str(HERE / "script.json"), "--root", str(root),
                       "--record", str(work / agent / "requests")], work / agent / "provider.log", "stdout")
    try:
        setup = AGENTS[agent](service.url)
        for name, text in setup.files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(tmp), "LANG": "C.UTF-8", "TERM": "dumb",
               "CI": "1", "NO_COLOR": "1", "DO_NOT_TRACK": "1", "npm_config_offline": "true", **setup.env}
        log, started = work / agent / "run.log", time.time()
        command = [str(secateur), "run", *setup.command(0, script["turns"][0]["prompt"])]
        status = processes.run(command, root, env, log, 240)
        problems = []
        if status != 0:
            problems.append(f"ended with {status}:\n{last_lines(log)}")
        said = LAST_LINE.search(log.read_text(errors="replace"))
        if not said or int(said[2]) == 0:
            problems.append(f"the last lines do not say what was saved:\n{last_lines(log)}")
        problems += [f"{name} was changed" for name, text in setup.files.items() if (home / name).read_text() != text]
        if list(tmp.glob("secateur-run-*")):
            problems.append("temporary files were left behind")
        if not (home / ".local/share/secateur/secateur-ledger.db").exists():
            problems.append("the ledger is not in the data folder")
        rows = exported(secateur, env, root)
        pruned = [row["at"] for row in rows if row["stack"] == "m7"]
        if not pruned:
            return agent, [*problems, "no request was pruned"]
        return f"{agent}: {said[0] if said else ''}; first pruned request after {min(pruned) / 1000 - started:.1f} s", problems
    finally:
        service.stop()


def exported(secateur: Path, env: dict[str, str], cwd: Path) -> list[dict]:
    """The rows of the ledger that the command finds without being told."""
    done = subprocess.run([str(secateur), "audit", "export", "--format", "jsonl", "-o", "-"], cwd=cwd, env=env,
                          check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--secateur", type=Path, required=True)
    parser.add_argument("--provider", type=Path, required=True)
    parser.add_argument("agents", nargs="*", default=["claude", "codex"])
    given = parser.parse_args()
    processes.adopt_orphans()
    failed = False
    with tempfile.TemporaryDirectory(prefix="secateur-first-run-") as work, ThreadPoolExecutor(2) as pool:
        def one(agent: str) -> tuple[str, list[str]]:
            return first_run(given.secateur, given.provider, agent, Path(work))
        for agent, (line, problems) in zip(given.agents, pool.map(one, given.agents)):
            print(line, flush=True)
            for problem in problems:
                failed = True
                print(f"  {agent}: {problem}", flush=True)
        # A login that cannot work is refused before the start.
        env = {"PATH": os.environ["PATH"], "HOME": work, "CLAUDE_CODE_USE_BEDROCK": "1"}
        refused = subprocess.run([str(given.secateur), "run", program("claude"), "--version"], env=env, capture_output=True, text=True)
        if refused.returncode != 2 or "Amazon Bedrock" not in refused.stderr:
            failed = True
            print(f"  a cloud's own API was not refused: {refused}")
        processes.end_all()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
