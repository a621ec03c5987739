"""Requests over plain sockets, so that anything can be sent."""

import asyncio
import json

CHAT = "/v1/chat/completions"


def chat(model="gpt-5", turns=3, text="a question"):
    roles = ["user", "assistant"]
    messages = [{"role": roles[at % 2], "content": f"{text} {at}"} for at in range(turns)]
    return json.dumps({"model": model, "messages": messages}).encode()


class Answer:
    def __init__(self, status, head, body, is_whole):
        self.status, self.head, self.body, self.is_whole = status, head, body, is_whole

    def header(self, name):
        for line in self.head.split("\r\n"):
            if line.lower().startswith(name + ":"):
                return line.split(":", 1)[1].strip()
        return None


def request(path, body=b"", headers=(), method="POST", host="127.0.0.1"):
    lines = [f"{method} {path} HTTP/1.1", *([f"host: {host}"] if host else [])]
    lines += [f"{name}: {value}" for name, value in headers]
    if body or method == "POST":
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def connect(port, source=None):
    local = (source, 0) if source else None
    return await asyncio.open_connection("127.0.0.1", port, local_addr=local, limit=1 << 20)


async def send(port, raw, seconds=30, source=None):
    """Sends bytes on a connection of their own; the first answer, or `None`."""
    try:
        reader, writer = await asyncio.wait_for(connect(port, source), seconds)
    except (OSError, asyncio.TimeoutError):
        return None
    try:
        async with asyncio.timeout(seconds):
            writer.write(raw)
            try:
                await writer.drain()
            except ConnectionError:
                pass
            return await read(reader)
    except (TimeoutError, ConnectionError, asyncio.IncompleteReadError):
        return None
    finally:
        writer.close()


async def read(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status = int(head.split(" ", 2)[1])
    fields = head.lower()
    body, is_whole = b"", True
    try:
        if "transfer-encoding: chunked" in fields:
            while size := int(await reader.readline(), 16):
                body += await reader.readexactly(size)
                await reader.readline()
        elif "content-length:" in fields:
            length = int(fields.split("content-length:")[1].split("\r\n")[0])
            body = await reader.readexactly(length)
        else:
            body = await reader.read()
    except (asyncio.IncompleteReadError, ConnectionError, ValueError):
        is_whole = False
    return Answer(status, head, body, is_whole)


async def ask(port, path, body=b"", headers=(), method="POST", seconds=30, **more):
    return await send(port, request(path, body, headers, method, **more), seconds)


async def healthy(port):
    answer = await send(port, request("/healthz", method="GET"), 5)
    return answer is not None and answer.status == 200


async def seconds_until_closed(port, raw, limit):
    """How long the proxy keeps a connection that sent these bytes and then nothing; `None`: longer than the limit."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    try:
        reader, writer = await connect(port)
    except OSError:
        return 0.0
    try:
        writer.write(raw)
        async with asyncio.timeout(limit):
            while await reader.read(1 << 16):
                pass
        return loop.time() - started
    except ConnectionError:
        return loop.time() - started
    except TimeoutError:
        return None
    finally:
        writer.close()
