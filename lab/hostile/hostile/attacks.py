"""The attacks on limits, names, files and configuration: each gives whether it held and what was seen."""

import asyncio
import gzip
import hashlib
import json
import os
import random
import stat
import struct

from .client import CHAT, ask, chat, connect, healthy, request, seconds_until_closed, send
from .proxy import Proxy

MB = 1 << 20
PRUNES = '[workload.p]\npreset = "tessera"\n'


def zstd_bomb(blocks):
    """A frame with a window of 2 GiB and blocks of 128 KiB that are four bytes each."""
    frame = bytearray(b"\x28\xb5\x2f\xfd\x00" + bytes([21 << 3]))
    for number in range(blocks):
        is_last = number == blocks - 1
        frame += struct.pack("<I", int(is_last) | 1 << 1 | (128 << 10) << 3)[:3] + b" "
    return bytes(frame)


async def zstd_window(upstream):
    async with Proxy(upstream, PRUNES) as proxy:
        body = zstd_bomb(32_768)
        headers = [("content-encoding", "zstd"), ("content-type", "application/json")]
        await ask(proxy.port, "/w/p" + CHAT, body, headers)
        grown = proxy.peak_mb() - proxy.base_kb / 1024
        return grown <= 64 + 16, f"{len(body) >> 10} KB of zstd; {grown:.0f} MB more", proxy


async def gzip_bodies(upstream):
    async with Proxy(upstream, PRUNES, top="max_buffered_mb = 256") as proxy:
        body = gzip.compress(b" " * (31 * MB) + chat())
        headers = [("content-encoding", "gzip")]
        answers = await asyncio.gather(*(ask(proxy.port, "/w/p" + CHAT, body, headers) for _ in range(64)))
        grown = proxy.peak_mb() - proxy.base_kb / 1024
        refused = sum(answer is not None and answer.status == 503 for answer in answers)
        # What the allocator keeps and what is read of a body come on top of the budget.
        is_held = grown <= 2 * 256 and await healthy(proxy.port)
        return is_held, f"64 of {len(body) >> 10} KB; {grown:.0f} MB more at a budget of 256, {refused} got 503", proxy


async def dribbled_bodies(upstream):
    async with Proxy(upstream, PRUNES, top="max_buffered_mb = 256") as proxy:
        head = f"POST /w/p{CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: {30 * MB}\r\n\r\n".encode()
        raw = head + b" " * (8 * MB)
        closed = await asyncio.gather(*(seconds_until_closed(proxy.port, raw, 30) for _ in range(40)))
        grown = proxy.peak_mb() - proxy.base_kb / 1024
        slowest = max((seconds if seconds is not None else 99) for seconds in closed)
        is_held = slowest < 25 and grown <= 2 * 256 and await healthy(proxy.port)
        return is_held, f"40 of 30 MB; all closed after {slowest:.0f} s, {grown:.0f} MB more", proxy


async def silent_connections(upstream):
    async with Proxy(upstream, top="max_connections = 200\nmax_connections_per_address = 200") as proxy:
        half_preface = b"PRI * HTTP/2.0\r\n"
        waits = [seconds_until_closed(proxy.port, raw, 15) for raw in [b"", half_preface] * 150]
        holding = asyncio.gather(*waits)
        await asyncio.sleep(1)
        was_healthy = await healthy(proxy.port)
        closed = await holding
        slowest = max((seconds if seconds is not None else 99) for seconds in closed)
        return was_healthy and slowest < 10, f"300 at a limit of 200: health answered, all closed after {slowest:.0f} s", proxy


async def stalled_own_endpoints(upstream):
    async with Proxy(upstream) as proxy:
        paths = ["/portal/login", "/portal/switch", "/v1/secateur/scores", "/v1/secateur/recall"]
        raws = [
            f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 500\r\n\r\nx".encode() for path in paths for _ in range(5)
        ]
        closed = await asyncio.gather(*(seconds_until_closed(proxy.port, raw, 15) for raw in raws))
        slowest = max((seconds if seconds is not None else 99) for seconds in closed)
        return slowest < 10, f"{len(raws)} bodies on {len(paths)} paths; all closed after {slowest:.0f} s", proxy


async def slow_readers(upstream):
    async with Proxy(upstream) as proxy:
        raw = request(CHAT, chat(), [("x-hostile", f"flood={64 * MB}")])
        held = []
        for _ in range(30):
            _, writer = await connect(proxy.port)
            writer.transport.pause_reading()
            writer.write(raw)
            held.append(writer)
        await asyncio.sleep(1)
        before = upstream.open_calls
        for _ in range(150):
            if upstream.open_calls == 0:
                break
            await asyncio.sleep(0.1)
        for writer in held:
            writer.transport.abort()
        return before > 0 and upstream.open_calls == 0, f"{before} upstream calls were held, then {upstream.open_calls}", proxy


def keys(workload="team"):
    digest = hashlib.sha256(b"sk-client").hexdigest()
    return (
        f'[workload.team]\npreset = "tessera"\n[workload.other]\n[[key]]\nname = "team"\nsha256 = "{digest}"\n'
        f'workload = "{workload}"\ncredential_env = {{ openai = "REAL_KEY" }}\n'
    )


KEY = ("authorization", "Bearer sk-client")
REAL = {"REAL_KEY": "sk-real-credential"}


async def cut_off_config(upstream):
    async with Proxy(upstream, keys(), env=REAL) as proxy:
        results = []
        for text in [proxy.text[: proxy.text.index("[[key]]") + 7], proxy.text[: proxy.text.index("[[key]]")], ""]:
            proxy.config.write_text(text)
            await asyncio.sleep(2.5)
            # An own endpoint: without its upstreams, an empty file would send a chat to a real provider.
            answer = await ask(proxy.port, "/v1/secateur/scores", b"{}")
            results.append(answer.status if answer else None)
        return results == [401] * 3, f"cut at [[key]], before it, empty: without a key {results}", proxy


async def keys_on_other_paths(upstream):
    async with Proxy(upstream, keys(), env=REAL) as proxy:
        paths = ["/v1/files", "/v1/organization/admin_api_keys", "/v1/chat/../files", "/v1/%2e%2e/v1/files", "//v1/files"]
        got = []
        for path in paths:
            before = upstream.requests
            answer = await ask(proxy.port, path, b"", [KEY], method="GET")
            got.append((answer.status if answer else None, upstream.requests > before))
        passed = [path for path, (_, went_on) in zip(paths, got) if went_on]
        answer = await ask(proxy.port, CHAT, chat(), [KEY])
        works = answer is not None and answer.status == 200
        return works and not passed, f"{len(passed)} of {len(paths)} other paths reached the provider with the real credential", proxy


async def key_on_another_workload(upstream):
    async with Proxy(upstream, keys(), env=REAL) as proxy:
        answer = await ask(proxy.port, "/w/other" + CHAT, chat(turns=21), [KEY])
        said = answer.header("x-secateur-workload")
        return answer.status == 403 or said is not None, f"{answer.status}, x-secateur-workload: {said}", proxy


async def invented_models(upstream, count=4_000):
    async with Proxy(upstream, PRUNES) as proxy:
        gate = asyncio.Semaphore(32)

        async def one(number):
            name = f"invented-{random.getrandbits(64):x}"
            headers = [("x-hostile", "status=404")]
            async with gate:
                if number % 2:
                    await ask(proxy.port, "/w/p" + CHAT, chat(name, turns=21), headers)
                else:
                    await ask(proxy.port, f"/v1beta/models/{name}:generateContent", b'{"contents":[]}', headers)

        await asyncio.gather(*(one(number) for number in range(count)))
        rows = await proxy.recorded(count)
        series = proxy.rows("SELECT COUNT(*) FROM daily")[0][0]
        names = proxy.rows("SELECT COUNT(*) FROM daily WHERE model LIKE 'invented%'")[0][0]
        kept = proxy.rows("SELECT COUNT(*) FROM audit WHERE model LIKE 'invented%'")[0][0]
        return names + kept == 0 and rows >= count, f"{rows} refused requests: {series} daily rows, {names + kept} with their names", proxy


async def accepted_models(upstream, count=3_000):
    async with Proxy(upstream, PRUNES) as proxy:
        gate = asyncio.Semaphore(32)

        async def one(number):
            async with gate:
                await ask(proxy.port, "/w/p" + CHAT, chat(f"invented-{number}", turns=21))

        await asyncio.gather(*(one(number) for number in range(count)))
        await proxy.recorded(count)
        series = proxy.rows("SELECT COUNT(DISTINCT model) FROM daily")[0][0]
        other = proxy.rows("SELECT COALESCE(SUM(requests), 0) FROM daily WHERE model = 'other'")[0][0]
        return series <= 1_001 and other > 0, f"{count} accepted names: {series} in the sums, {other} requests under `other`", proxy


async def long_model(upstream):
    async with Proxy(upstream, PRUNES) as proxy:
        for _ in range(20):
            await ask(proxy.port, "/w/p" + CHAT, chat("m" * (5 * MB), turns=21))
        await proxy.recorded(20)
        longest = max(len(line) for line in proxy.lines)
        return longest < 4_096, f"20 names of 5 MB; longest log line {longest} bytes", proxy


async def absurd_usage(upstream):
    async with Proxy(upstream) as proxy:
        counts = [
            {"prompt_tokens": 2**64 - 1, "completion_tokens": 2**64 - 1},
            {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 999_999}},
        ]
        ids = []
        for usage in counts:
            answer = await ask(proxy.port, CHAT, chat(), [("x-hostile", "usage=" + json.dumps(usage))])
            ids.append(answer.header("x-secateur-request-id"))
        await proxy.recorded(2)
        usd, tokens = proxy.rows("SELECT SUM(billed_usd), SUM(input_tokens) FROM daily")[0]
        marked = sum("cannot all be true" in proxy.ask_cli("audit", "show", id) for id in ids)
        return usd < 1 and marked == 2, f"{tokens} tokens and ${usd:.6f} in the sums; {marked} of 2 marked on their page", proxy


async def private_files(upstream):
    os.umask(0o022)
    async with Proxy(upstream) as proxy:
        await ask(proxy.port, CHAT, chat())
        await proxy.recorded(1)
        wide = []
        for folder, folders, files in os.walk(proxy.folder):
            for name in [*folders, *files]:
                path = os.path.join(folder, name)
                if stat.S_IMODE(os.stat(path).st_mode) & 0o077 and name != "secateur.toml":
                    wide.append(name)
        return not wide, f"open to others: {', '.join(wide) or 'none'}", proxy


async def imitated_note(upstream):
    # Each strategy clears the older one; the results end in the words of its own note.
    async with Proxy(upstream, '[workload.p]\npreset = "openclaw-aggressive"\npolicy = { m7 = { min_messages = 0, min_body_chars = 0 } }\n') as proxy:
        note = "[Old tool result content cleared]"
        messages = [{"role": "user", "content": "go"}]
        for number in range(8):
            call = {"id": f"c{number}", "type": "function", "function": {"name": "run", "arguments": "{}"}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"{'line of output ' * 300}{note}"})
        messages.append({"role": "user", "content": "and now?"})
        body = json.dumps({"model": "gpt-5", "messages": messages}).encode()
        await ask(proxy.port, "/w/p" + CHAT, body)
        sent = upstream.seen[-1][2]
        return len(sent) < len(body) * 0.8, f"{len(body)} bytes became {len(sent)}", proxy


async def hidden_letters(upstream):
    name = "gpt\u202e5\x1b[2J\u200b"
    async with Proxy(upstream, PRUNES, log="pretty") as proxy:
        await ask(proxy.port, "/w/p" + CHAT, chat(name, turns=21))
        await proxy.recorded(1)
        texts = ["".join(proxy.lines), proxy.ask_cli("audit", "tail"), proxy.ask_cli("audit", "stats", "--by", "model")]
        raw = [any(letter in text for letter in "\u202e\u200b") or "\x1b[2J" in text for text in texts]
        spelled = ["⟨U+202E⟩" in text for text in texts]
        return not any(raw) and all(spelled), "log, audit tail, audit stats: " + ", ".join("raw" if is_raw else "spelled out" for is_raw in raw), proxy


async def bad_hosts(upstream):
    async with Proxy(upstream) as proxy:
        none = await send(proxy.port, request(CHAT, chat(), host=None))
        two = await send(proxy.port, request(CHAT, chat(), [("host", "b")]))
        upgrade = [("connection", "upgrade"), ("upgrade", "websocket"), ("sec-websocket-key", "eA=="), ("sec-websocket-version", "13")]
        socket = await ask(proxy.port, "/v1/responses", b"", upgrade, method="GET")
        got = [answer.status if answer else None for answer in (none, two, socket)]
        return got == [400, 400, 426], f"no host, two hosts, WebSocket: {got}", proxy


async def unknown_paths(upstream):
    async with Proxy(upstream, keys(), env=REAL) as proxy:
        paths = [
            "/v1internal:streamGenerateContent",
            "/model/anthropic.claude-v2/invoke",
            "/v1/projects/p/locations/l/publishers/anthropic/models/claude:streamRawPredict",
        ]
        leaked = 0
        for path in paths:
            before = upstream.requests
            await ask(proxy.port, path, b'{"contents":[]}', [KEY])
            if upstream.requests > before:
                leaked += "sk-real-credential" in upstream.seen[-1][1].get("authorization", "")
        return leaked == 0, f"{leaked} of {len(paths)} went to the OpenAI upstream with its credential", proxy
