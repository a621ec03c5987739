"""Load that is held, faults that are survived, and the slope of memory over a soak."""

import asyncio
import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

from .client import CHAT, ask, chat, connect, healthy, read, request
from .proxy import Proxy
from .upstream_attacks import free_port

# Idle connections stay open for as long as they are held.
PATIENT = "max_connections = 20000\nmax_connections_per_address = 20000"


async def idle_connections(upstream, count):
    async with Proxy(upstream, top=PATIENT) as proxy:
        proxy.config.write_text(proxy.text.replace("request_idle_s = 2", "request_idle_s = 120"))
        await proxy.wait_for("config_reloaded")
        held, gate = [], asyncio.Semaphore(64)

        async def hold(number):
            # Several addresses of loopback: each has some twenty-eight thousand ports.
            async with gate:
                reader, writer = await connect(proxy.port, f"127.0.0.{2 + number % 8}")
                writer.write(request("/healthz", method="GET"))
                answer = await asyncio.wait_for(read(reader), 30)
                held.append((answer.status, writer))

        await asyncio.gather(*(hold(number) for number in range(count)), return_exceptions=True)
        answer = await ask(proxy.port, CHAT, chat())
        each = (proxy.memory("VmRSS") - proxy.base_kb) / max(len(held), 1)
        is_held = len(held) == count and answer is not None and answer.status == 200
        for _, writer in held:
            writer.transport.abort()
        return is_held, f"{len(held)} of {count} held, {each:.1f} KB each; a request beside them got {answer.status}", proxy


async def streaming(upstream, count, seconds=10):
    async with Proxy(upstream, top=PATIENT) as proxy:
        gate = asyncio.Semaphore(256)

        async def one(number):
            async with gate:
                reader, writer = await connect(proxy.port, f"127.0.0.{2 + number % 8}")
                writer.write(request(CHAT, chat(), [("x-hostile", f"stream={seconds}")]))
            try:
                answer = await asyncio.wait_for(read(reader), 120)
                return answer.is_whole and answer.body.endswith(b"[DONE]\n\n")
            finally:
                writer.close()

        tasks = [asyncio.create_task(one(number)) for number in range(count)]
        most = 0
        while not all(task.done() for task in tasks):
            most = max(most, upstream.open_calls)
            await asyncio.sleep(0.1)
        results = await asyncio.gather(*tasks, return_exceptions=True)
        whole = sum(result is True for result in results)
        return whole == count, f"{whole} of {count} complete, {most} at once", proxy


async def kill_nine(upstream):
    async with Proxy(upstream) as proxy:
        for _ in range(500):
            await ask(proxy.port, CHAT, chat())
        # What was recorded a second before is promised.
        await asyncio.sleep(1.5)
        await proxy.stop(signal.SIGKILL)
        await proxy.start()
        rows = await proxy.recorded(500)
        sound = proxy.rows("PRAGMA integrity_check")[0][0]
        return rows == 500 and sound == "ok", f"{rows} of 500 rows after the restart; the file is {sound}", proxy


async def sigterm(upstream):
    async with Proxy(upstream) as proxy:
        streams = [
            asyncio.create_task(ask(proxy.port, CHAT, chat(), [("x-hostile", "stream=60")], seconds=70)) for _ in range(20)
        ]
        while upstream.open_calls < 20:
            await asyncio.sleep(0.05)
        await proxy.stop()
        await asyncio.gather(*streams)
        cut = proxy.rows("SELECT COUNT(*) FROM audit WHERE ended = 'cut-off'")[0][0]
        return cut == 20, f"{cut} of 20 streams that were cut off are in the ledger", proxy


async def start_on_full_disk(upstream):
    async with Proxy(upstream, full_disk=True) as proxy:
        answer = await ask(proxy.port, CHAT, chat())
        ready = await ask(proxy.port, "/readyz", method="GET")
        said = "nothing is recorded" in ready.body.decode()
        return answer.status == 200 and said, f"it serves ({answer.status}), and /readyz says that nothing is recorded: {said}", proxy


async def disk_full_for_a_while(upstream):
    async with Proxy(upstream) as proxy:
        sent, said = 0, False
        for is_full in [False, True, False]:
            proxy.fill_disk(is_full)
            for _ in range(100):
                answer = await ask(proxy.port, CHAT, chat())
                sent += answer is not None and answer.status == 200
            if is_full:
                await proxy.wait_for("ledger_spool_unavailable")
                said = "nothing is recorded" in (await ask(proxy.port, "/readyz", method="GET")).body.decode()
        rows = await proxy.recorded(300)
        is_held = sent == 300 and rows == 300 and said
        return is_held, f"{sent} of 300 requests answered, {rows} rows; /readyz said that nothing is recorded: {said}", proxy


class Postgres:
    """A server of its own in a folder, as the user `postgres` where this is root."""

    def __init__(self):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        self.bin = found[-1] if found else None
        self.folder = tempfile.mkdtemp(prefix="secateur-hostile-pg-")
        self.as_user = []
        if os.getuid() == 0 and self.bin:
            self.as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        self.port = free_port()

    def run(self, program, *arguments):
        command = [*self.as_user, f"{self.bin}/{program}", *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder)

    def start(self):
        options = f"-h 127.0.0.1 -p {self.port} -k {self.folder}"
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-l", f"{self.folder}/log", "-o", options, "start")

    def stop(self):
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")

    def count(self):
        command = [*self.as_user, f"{self.bin}/psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-Atc"]
        shown = subprocess.run([*command, "SELECT COUNT(*) FROM audit"], capture_output=True, text=True, cwd=self.folder)
        return int(shown.stdout.strip() or 0)


async def postgres_away(upstream):
    server = Postgres()
    if not server.bin:
        return None, "NOT RUN: no PostgreSQL on this machine", None
    try:
        server.run("initdb", "-D", f"{server.folder}/data", "-U", "postgres", "-A", "trust")
        server.start()
        url = f'url = "postgres://postgres@127.0.0.1:{server.port}/postgres"'
        async with Proxy(upstream, ledger=url) as proxy:
            sent = 0
            for step in [None, server.stop, server.start]:
                if step:
                    await asyncio.to_thread(step)
                for _ in range(100):
                    answer = await ask(proxy.port, CHAT, chat())
                    sent += answer is not None and answer.status == 200
            rows = 0
            for _ in range(200):
                rows = await asyncio.to_thread(server.count)
                if rows >= sent:
                    break
                await asyncio.sleep(0.1)
            return sent == 300 and rows == 300, f"{sent} of 300 requests answered, {rows} rows", proxy
    finally:
        try:
            server.stop()
        except subprocess.CalledProcessError:
            pass
        shutil.rmtree(server.folder, ignore_errors=True)


def slope(samples):
    """Of the least squares through (seconds, MB), in MB a minute."""
    count = len(samples)
    mean_x = sum(x for x, _ in samples) / count
    mean_y = sum(y for _, y in samples) / count
    spread = sum((x - mean_x) ** 2 for x, _ in samples)
    together = sum((x - mean_x) * (y - mean_y) for x, y in samples)
    return 60 * together / spread if spread else 0.0


async def soak(upstream, seconds):
    more = '[workload.p]\npreset = "steady"\n[workload.t]\npreset = "tessera"\n'
    async with Proxy(upstream, more) as proxy:
        loop = asyncio.get_running_loop()
        start, done = loop.time(), asyncio.Event()
        counts = {"answered": 0, "failed": 0}

        async def client(number):
            turn = number
            while not done.is_set():
                turn += 1
                workload, conduct = ["/w/p", "/w/t", "", "/w/t"][turn % 4], ["", "stream=0.2", "status=429", "reset=1"][turn % 4]
                body = chat(f"model-{turn % 50}", turns=3 + turn % 60, text=f"words {turn} " * (turn % 200))
                answer = await ask(proxy.port, workload + CHAT, body, [("x-hostile", conduct)])
                is_answered = answer is not None and answer.status in (200, 429, 502)
                counts["answered" if is_answered else "failed"] += 1

        clients = [asyncio.create_task(client(number)) for number in range(16)]
        samples = []
        while loop.time() - start < seconds:
            await asyncio.sleep(min(1, seconds / 20))
            samples.append((loop.time() - start, proxy.memory("VmRSS") / 1024))
        done.set()
        await asyncio.gather(*clients)
        # Caches fill at first.
        settled = samples[len(samples) // 3 :]
        grows = slope(settled)
        is_held = counts["failed"] == 0 and await healthy(proxy.port)
        if seconds >= 300:
            is_held = is_held and grows < 2
        words = f"{seconds:.0f} s, {counts['answered']} requests, {counts['failed']} failed; {settled[-1][1]:.0f} MB at the end, {grows:+.2f} MB a minute"
        return is_held, words, proxy
