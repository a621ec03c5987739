"""A provider that answers every request, and misbehaves where the header `x-hostile` asks for it."""

import asyncio
import json

USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
OWN_HEADERS = (
    "x-secateur-stack: forged\r\nx-tessera-context-pruned: forged\r\nset-cookie: secateur-portal=forged; Path=/\r\n"
)


def completion(usage):
    message = {"role": "assistant", "content": "yes"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "c1", "object": "chat.completion", "model": "gpt-5", "choices": [choice], "usage": usage}
    return json.dumps(body).encode()


def head(status, length, more=""):
    return (
        f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{more}\r\n"
    ).encode()


class Upstream:
    """Counts what reaches it and keeps the heads and bodies of the last requests."""

    def __init__(self):
        self.requests = 0
        self.open_calls = 0
        self.seen = []

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=4096)
        self.port = self.server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    async def serve(self, reader, writer):
        try:
            while True:
                raw = await reader.readuntil(b"\r\n\r\n")
                lines = raw.decode("latin-1").split("\r\n")
                fields = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
                body = await self.body(reader, fields)
                self.requests += 1
                self.seen = [*self.seen[-63:], (lines[0], fields, body)]
                self.open_calls += 1
                try:
                    await self.answer(writer, fields.get("x-hostile", ""))
                finally:
                    self.open_calls -= 1
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def body(self, reader, fields):
        if "content-length" in fields:
            return await reader.readexactly(int(fields["content-length"]))
        body = b""
        if "chunked" in fields.get("transfer-encoding", ""):
            while size := int(await reader.readline(), 16):
                body += await reader.readexactly(size)
                await reader.readline()
            await reader.readline()
        return body

    async def answer(self, writer, conduct):
        kind, _, value = conduct.partition("=")
        if kind == "raw":
            writer.write(bytes.fromhex(value))
            await writer.drain()
            raise ConnectionResetError
        if kind == "status":
            body = b'{"error":{"message":"no such model","type":"invalid_request_error"}}'
            writer.write(head(f"{value} Refused", len(body)) + body)
        elif kind == "usage":
            body = completion(json.loads(value))
            writer.write(head("200 OK", len(body)) + body)
        elif kind == "headers":
            body = completion(USAGE)
            writer.write(head("200 OK", len(body), OWN_HEADERS) + body)
        elif kind == "flood":
            await self.flood(writer, int(value))
        elif kind == "stream":
            await self.stream(writer, float(value))
        elif kind == "reset":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            writer.write(b"5\r\ndata:\r\n")
            await writer.drain()
            writer.transport.abort()
            raise ConnectionResetError
        else:
            body = completion(USAGE)
            writer.write(head("200 OK", len(body)) + body)
        await writer.drain()

    async def flood(self, writer, size):
        writer.write(head("200 OK", size))
        while size > 0:
            piece = min(size, 1 << 16)
            writer.write(b"x" * piece)
            await writer.drain()
            size -= piece

    async def stream(self, writer, seconds):
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        event = b'data: {"choices":[{"index":0,"delta":{"content":"so "}}]}\n\n'
        piece = b"%x\r\n%b\r\n" % (len(event), event)
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.5)
        last = b"data: [DONE]\n\n"
        writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(last), last))
