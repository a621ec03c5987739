"""One session of one agent: directly, or through the proxy."""

import json
import os
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import project
from agents import AGENTS
from processes import Service, run

# Both ways have names of one length, so that paths in requests have one length too.
DIRECT, PRUNED = "direct", "pruned"

CONFIG = """listen = "127.0.0.1:0"

[upstream]
openai = "{url}"
anthropic = "{url}"
gemini = "{url}"

[workload.agent]
preset = "{preset}"
# The test runs a debug build on a busy machine.
budget_ms = 10000

[ledger]
url = "sqlite:secateur-ledger.db"
spool_dir = "secateur-spool"
"""


@dataclass
class Setting:
    """What all sessions of a run share."""

    secateur: Path
    provider: Path
    script_file: Path
    script: dict
    preset: str
    work: Path
    timeout_s: float


@dataclass
class Session:
    """What became of one session."""

    agent: str
    way: str
    folder: Path
    problems: list[str] = field(default_factory=list)
    requests: list[dict] = field(default_factory=list)
    rows: list[dict] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    seconds: float = 0

    def billed(self) -> list[dict]:
        """The requests that a model answered."""
        return [request for request in self.requests if request["usage"]]

    def cost(self) -> float:
        """The input of all requests, in tokens at the price of plain input."""
        return sum(request["usage"]["input_cost"] for request in self.billed())

    def body(self, request: dict) -> dict:
        return json.loads((self.folder / "requests" / request["body"]).read_bytes())


def play(setting: Setting, agent: str, way: str) -> Session:
    """Plays the script to its end."""
    folder = setting.work / agent / way
    root, home = folder / "project", folder / "home"
    for path in (root, home, folder / "tmp"):
        path.mkdir(parents=True)
    session = Session(agent, way, folder)
    started = time.monotonic()
    project.make(root)
    services = []
    try:
        provider = Service([str(setting.provider), "--script", str(setting.script_file), "--root", str(root),
                            "--record", str(folder / "requests")], folder / "provider.log", "stdout")
        services.append(provider)
        url = provider.url
        if way == PRUNED:
            config = folder / "secateur.toml"
            config.write_text(CONFIG.format(url=url, preset=setting.preset))
            proxy = Service([str(setting.secateur), "serve", "--config", str(config)], folder / "secateur.log", "stderr")
            services.append(proxy)
            url = f"{proxy.url}/w/agent"
        session.problems += play_turns(setting, agent, url, folder, root, home)
    finally:
        for service in reversed(services):
            status = service.stop()
            if service.name == setting.secateur.name and status != 0:
                session.problems.append(f"the proxy ended with status {status}")
    session.requests = [json.loads(line) for line in (folder / "requests" / "log.jsonl").read_text().splitlines()]
    session.files = project.files(root)
    if way == PRUNED:
        session.rows = audit_rows(setting, folder)
    session.seconds = time.monotonic() - started
    return session


def play_turns(setting: Setting, agent: str, url: str, folder: Path, root: Path, home: Path) -> list[str]:
    """The agent once for each turn; what went wrong."""
    setup = AGENTS[agent](url)
    for name, text in setup.files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    env = {
        "PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(folder / "tmp"), "LANG": "C.UTF-8", "TERM": "dumb",
        "CI": "1", "NO_COLOR": "1", "DO_NOT_TRACK": "1", "npm_config_offline": "true", **setup.env,
    }
    for turn, prompt in enumerate(said["prompt"] for said in setting.script["turns"]):
        log = folder / f"turn{turn + 1}.log"
        status = run(setup.command(turn, prompt), root, env, log, setting.timeout_s)
        if status != 0:
            return [f"turn {turn + 1} ended with {status}:\n{last_lines(log)}"]
    return []


def last_lines(log: Path, count: int = 6) -> str:
    lines = log.read_text(errors="replace").splitlines()[-count:]
    return "\n".join(f"    {line[:300]}" for line in lines)


def audit_rows(setting: Setting, folder: Path) -> list[dict]:
    """What the proxy's ledger says of the session's requests."""
    rows = folder / "rows.jsonl"
    subprocess.run([str(setting.secateur), "audit", "export", "--config", str(folder / "secateur.toml"),
                    "--format", "jsonl", "--plans", "-o", str(rows)], cwd=folder, check=True, capture_output=True)
    return [json.loads(line) for line in rows.read_text().splitlines()]
