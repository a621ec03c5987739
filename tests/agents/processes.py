"""Processes that end with the test, whatever happens."""

import ctypes
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Makes this process the parent of processes that its children leave behind, so that it can end them."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot become the parent of orphaned processes")


def children() -> list[int]:
    """The processes whose parent is this one."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid() and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def end_all(patience_s: float = 5) -> None:
    """Ends every process that is left, by its id."""
    until = time.monotonic() + patience_s
    while left := children():
        number = signal.SIGTERM if time.monotonic() < until else signal.SIGKILL
        for pid in left:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        time.sleep(0.1)


class Service:
    """A server of ours: says on one of its streams where it listens, and ends when it is told to."""

    def __init__(self, command: list[str], log: Path, said_on: str, patience_s: float = 30) -> None:
        self.name = Path(command[0]).name
        self.log = log
        with log.open("wb") as out:
            streams = {"stdout": out, "stderr": out} | {said_on: subprocess.PIPE}
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, **streams)
        self.url = None
        self.ready = threading.Event()
        self.reader = threading.Thread(target=self.read, args=(getattr(self.process, said_on),), daemon=True)
        self.reader.start()
        if not self.ready.wait(patience_s) or self.url is None:
            self.stop()
            raise RuntimeError(f"{self.name} did not start; see {log}:\n{log.read_text(errors='replace')[-2000:]}")

    def read(self, stream) -> None:
        with self.log.open("ab") as log:
            for line in stream:
                log.write(line)
                log.flush()
                if self.url is None:
                    try:
                        self.url = json.loads(line).get("url")
                    except ValueError:
                        continue
                    if self.url:
                        self.ready.set()
        self.ready.set()

    def stop(self) -> int:
        """Its exit status; a server that does not end in time is killed."""
        self.process.stdin.close()
        self.process.terminate()
        try:
            return self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def run(command: list[str], cwd: Path, env: dict[str, str], log: Path, timeout_s: float) -> int | str:
    """Runs a command in a group of its own and ends the whole group afterwards. Its exit status, or what happened."""
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            return process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            return f"no end within {timeout_s:.0f} s"
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
