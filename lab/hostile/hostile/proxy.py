"""The proxy as a process of its own, with its log, its ledger and its memory."""

import asyncio
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import tempfile

BIN = os.environ["SECATEUR_BIN"]
# Small, so that deadlines can be waited for.
TIMEOUTS = """[timeouts]
request_head_s = 2
request_idle_s = 2
response_write_s = 2
shutdown_s = 2
"""


class Proxy:
    """Starts with `listen`, these lines and one upstream for all providers; ends with the block."""

    def __init__(self, upstream, more="", top="", log="json", full_disk=False, env=None, ledger=""):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="secateur-hostile-"))
        self.full_disk, self.env = full_disk, env or {}
        url = upstream.url
        self.config = self.folder / "secateur.toml"
        self.text = (
            f'listen = "127.0.0.1:0"\nlog = "{log}"\n{top}\n{TIMEOUTS}\n'
            f'[upstream]\nopenai = "{url}"\nanthropic = "{url}"\ngemini = "{url}"\n'
            f'[ledger]\n{ledger or chr(10)}\n{more}\n'
        )
        self.config.write_text(self.text)
        self.peak_kb = 0

    async def __aenter__(self):
        await self.start()
        return self

    async def start(self):
        command = [BIN, "serve", "--config", str(self.config)]
        # Files that may not grow: writing fails as it does on a full disk, for root too.
        limit = "ulimit -S -f 0; " if self.full_disk else ""
        command = ["sh", "-c", f"trap '' XFSZ; {limit}exec \"$@\"", "sh", *command]
        # A pipe, because a full disk would swallow a file.
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, **self.env}, cwd=self.folder
        )
        self.lines = []
        self.reading = asyncio.create_task(asyncio.to_thread(self.read))
        line = await self.wait_for("listening")
        start = line.index("http://127.0.0.1:") + len("http://127.0.0.1:")
        self.port = int("".join(c for c in line[start : start + 6] if c.isdigit()))
        self.base_kb = self.memory("VmRSS")

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line.decode("utf-8", "replace"))

    async def wait_for(self, words, seconds=20):
        for _ in range(int(seconds * 50)):
            for line in self.lines:
                if words in line:
                    return line
            if self.process.poll() is not None:
                raise RuntimeError(f"the proxy ended: {self.lines[-3:]}")
            await asyncio.sleep(0.02)
        raise RuntimeError(f"no {words!r} in the log: {self.lines[-3:]}")

    def memory(self, field):
        try:
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        except FileNotFoundError:
            return 0
        return next((int(line.split()[1]) for line in status.splitlines() if line.startswith(field)), 0)

    def fill_disk(self, is_full):
        """Sets or lifts the limit while it runs."""
        limit = "0" if is_full else "unlimited"
        subprocess.run(["prlimit", "--pid", str(self.process.pid), f"--fsize={limit}:"], check=True)

    def peak_mb(self):
        self.peak_kb = max(self.peak_kb, self.memory("VmHWM"))
        return self.peak_kb / 1024

    async def stop(self, with_signal=signal.SIGTERM):
        self.peak_mb()
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
        await asyncio.to_thread(self.process.wait, 30)
        await self.reading

    async def __aexit__(self, *_):
        try:
            await self.stop()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def rows(self, sql):
        """Asks the ledger's file. The proxy may be writing."""
        database = sqlite3.connect(f"file:{self.folder / 'secateur-ledger.db'}?mode=ro", uri=True, timeout=10)
        try:
            return database.execute(sql).fetchall()
        finally:
            database.close()

    async def recorded(self, count, seconds=20):
        """Waits until the ledger has so many requests; how many it has."""
        found = 0
        for _ in range(int(seconds * 10)):
            try:
                found = self.rows("SELECT COALESCE(SUM(requests), 0) FROM daily")[0][0]
            except sqlite3.Error:
                found = 0
            if found >= count:
                break
            await asyncio.sleep(0.1)
        return found

    def ask_cli(self, *arguments):
        command = [BIN, *arguments, "--ledger", f"sqlite:{self.folder / 'secateur-ledger.db'}"]
        return subprocess.run(command, capture_output=True, text=True, timeout=30).stdout

    def log(self):
        found = []
        for line in self.lines:
            try:
                found.append(json.loads(line))
            except ValueError:
                pass
        return found
